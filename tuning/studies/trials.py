"""The last stages of the gate: every candidate is tried on the server before a study's first run.

A candidate that the server refuses is found within seconds and costs no run; of those with the
same effective values one is measured for all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from math import inf

from django.db import transaction

from benchmarks.datasets.golden import initialized_data_dir
from benchmarks.emulation.device import emulated_device
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.errors import RunFailed
from benchmarks.inventory.stored import inventory_of
from benchmarks.models import BinaryLog, Device
from benchmarks.outcomes import Outcome
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.trial import Trial, try_config
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import ServerTraits
from tuning.configs.check import Stage, StageResult, refused_stages, started_stages
from tuning.configs.expected import Expected, HostFacts
from tuning.configs.readback import effective_losses, signature
from tuning.errors import TuningError
from tuning.models import Candidate, DurabilityClass, Study
from tuning.studies.revision import bump

logger = logging.getLogger(__name__)

# A device without room for a redo log of this size is full, whatever the config.
USUAL_REDO_BYTES = 1024**3


class NothingToCompare(TuningError):
    """The gate left nothing to compare; `log_tail` is the end of the server's log."""

    def __init__(self, code: str, message: str, log_tail: str = "") -> None:
        super().__init__(code, message)
        self.log_tail = log_tail


def try_candidates(
    study: Study,
    binaries: Mapping[int, ServerBinary],
    *,
    report: Callable[[str], None],
    should_stop: Callable[[], bool],
) -> None:
    """Start the server once with every candidate not tried yet and keep what it made of it.

    `binaries`: those of the study, by primary key of the server; a gate may have two.
    No run is queued before; refused candidates and duplicates get none. Safe to repeat.
    Raises NothingToCompare, with the baseline's log where the server refuses that one, and
    RunFailed or another BenchmarkError for what is not a config's fault.
    """
    # The device that leaves a server the least memory.
    device = min(study.devices.order_by("pk"), key=lambda one: one.memory_limit_bytes or inf)
    gates = {pk: _Gate(study, binary, device) for pk, binary in binaries.items()}
    report("preparing trial starts")
    for gate in gates.values():
        gate.prepare(should_stop)
    waiting = study.candidates.filter(refusal="", merged_into=None).select_related("config")
    tried = [candidate for candidate in waiting if candidate.signature]
    first_with = {_identity(one): one for one in reversed(tried)}
    untried = (candidate for candidate in waiting if not candidate.signature)
    candidates = sorted(untried, key=lambda candidate: not candidate.is_baseline)
    # A gate may compare a config with itself.
    keeps_duplicates = study.gate is not None or study.request.get("keeps_duplicates", False)
    bad_pins: NothingToCompare | None = None
    if candidates and candidates[0].is_baseline and (pins := _pins(study, candidates[0])):
        report("trying what every config of the search sets")
        bad_pins = gates[study.server_id].try_pins(candidates[0], pins, should_stop)
        candidates = candidates[:1] if bad_pins else candidates
    for number, candidate in enumerate(candidates, start=1):
        report(f"trying {candidate.name} on the server ({number} of {len(candidates)})")
        gate = gates[candidate.server_id or study.server_id]
        trial = gate.try_one(candidate, should_stop)
        if trial is None:
            continue
        candidate.signature = signature(trial.variables, gate.target, candidate.config.knobs)
        duplicate = first_with.setdefault(_identity(candidate), candidate)
        if duplicate is not candidate and not keeps_duplicates:
            candidate.merged_into = duplicate
        # At once, because after a crash a candidate with a signature counts as tried.
        _store(candidate, "signature", "merged_into")
    _check_what_is_left(study)
    if bad_pins:
        raise bad_pins


def _pins(study: Study, baseline: Candidate) -> dict[str, str]:
    """Return the options that all configs of a search set and its baseline does not."""
    pinned = (study.search or {}).get("space", {}).get("pinned", {})
    there = baseline.config.knobs
    return {name: text for name, text in pinned.items() if there.get(name) != text}


def _identity(candidate: Candidate) -> tuple[str, bool, int | None]:
    """Candidates that agree in this are measured as one."""
    return candidate.signature, candidate.logs_with_data, candidate.server_id


def _only_memory(profile: EmulationProfile | None) -> EmulationProfile | None:
    """The limit that decides whether a server starts at all, without those that only slow it."""
    if profile is None or profile.memory_bytes is None:
        return None
    return EmulationProfile(
        profile.name, profile.kind, memory_bytes=profile.memory_bytes, scale=profile.scale
    )


class _Gate:
    """The server, device and limits that all trials of a study share."""

    def __init__(self, study: Study, binary: ServerBinary, device: Device) -> None:
        self.target = ServerTraits.of(binary)
        self._study = study
        self._cpus = HostFacts(logical_cpus=inventory_of(study.host).logical_cpus)
        self._binary = binary
        self._layout = device.layout
        self._memory = _only_memory(device.profile)
        self._pristine = self._layout.root

    def prepare(self, should_stop: Callable[[], bool]) -> None:
        self._pristine = initialized_data_dir(
            self._binary, self._layout.root, should_stop=should_stop
        )

    def try_one(self, candidate: Candidate, should_stop: Callable[[], bool]) -> Trial | None:
        """Start the candidate and store what came of it; None when the server refuses it."""
        knobs = candidate.config.knobs
        try:
            trial = self._start(f"trial-{candidate.pk}", knobs, should_stop)
        except RunFailed as failure:
            if self._is_no_fault_of(knobs, failure):
                raise
            stages = refused_stages(candidate.name, knobs, failure, _line_of(candidate))
            _refuse(candidate, failure, stages)
            return None
        stages = started_stages(
            knobs, trial.variables, self.target, log_tail=trial.log_tail, seconds=trial.seconds
        )
        lost = effective_losses(trial.variables, self.target)
        given = max((found for found, _ in lost.values()), default=Durability.D0)
        is_users = candidate.is_baseline or bool(candidate.text)
        if given > Durability(self._study.durability) and not is_users:
            unsafe = _too_unsafe(candidate, lost, trial, Durability(self._study.durability))
            _refuse(candidate, unsafe, stages)
            return None
        candidate.durability = DurabilityClass(given)
        _keep(candidate, stages, "durability")
        return trial

    def try_pins(
        self, baseline: Candidate, pins: Mapping[str, str], should_stop: Callable[[], bool]
    ) -> NothingToCompare | None:
        """Why the server does not start with the pins of a search; None if it does.

        Values and rules were asked before, but some answers only the server has. It would refuse
        config after config.
        """
        knobs = {**baseline.config.knobs, **pins}
        try:
            self._start(f"trial-pins-{self._study.pk}", knobs, should_stop)
        except RunFailed as failure:
            if self._is_no_fault_of(knobs, failure):
                raise
            texts = ", ".join(f"{name} = {text}" for name, text in pins.items())
            reason = f"the server does not start with what is pinned ({texts}): {failure}"
            return NothingToCompare("bad_pin", reason, failure.log_tail)
        return None

    def _start(
        self, name: str, knobs: Mapping[str, str], should_stop: Callable[[], bool]
    ) -> Trial:
        """Start the server with these knobs and stop it; raises RunFailed."""
        with emulated_device(self._memory, [self._layout.root], run=name) as limits:
            return try_config(
                self._binary,
                {
                    **self._study.applied,
                    **knobs,
                    **BinaryLog(self._study.binary_log).options,
                },
                pristine=self._pristine,
                work_dir=self._layout.trials_dir,
                redo_bytes=self._redo_bytes(knobs),
                should_stop=should_stop,
                resource_limits=limits,
            )

    def _is_no_fault_of(self, knobs: Mapping[str, str], failure: RunFailed) -> bool:
        """Whether a failed start says nothing about these knobs."""
        is_full = failure.outcome is Outcome.DISK_FULL
        if is_full and self._redo_bytes(knobs) <= USUAL_REDO_BYTES:
            return True
        return failure.outcome in (Outcome.CANCELLED, Outcome.LOST)

    def _redo_bytes(self, knobs: Mapping[str, str]) -> int:
        return Expected(knobs, self.target, self._cpus).redo() or 0


def _line_of(candidate: Candidate) -> dict[str, int]:
    """Return by variable the line of the file that set it."""
    return {
        name: line["number"]
        for line in candidate.lines
        for name in (line["name"], *(name for name, _ in line["became"]))
    }


def _too_unsafe(
    candidate: Candidate,
    lost: Mapping[str, tuple[Durability, str]],
    trial: Trial,
    allowed: Durability,
) -> RunFailed:
    """The server itself chose an unsafe value that was not requested."""
    reasons = [
        f"it runs with {name} = {trial.variables.get(name)}, which may lose {what} (class {given})"
        for name, (given, what) in lost.items()
        if given > allowed
    ]
    return RunFailed(
        Outcome.INVALID_CONFIG,
        f"on this server {candidate.name} is less durable than a {allowed} study may be: "
        f"{'; '.join(reasons)}",
    )


def _refuse(candidate: Candidate, failure: RunFailed, stages: list[StageResult]) -> None:
    """Store that the server refuses the candidate, which is then never measured."""
    logger.info("candidate %s is refused: %s", candidate, failure)
    candidate.refusal = str(failure)
    _keep(candidate, stages, "refusal")


def _keep(candidate: Candidate, stages: list[StageResult], column: str) -> None:
    """Append the server's stages to those passed at the study's creation; store `column` too."""
    passed = [check for check in candidate.checks if check["stage"] in (Stage.VALUES, Stage.RULES)]
    candidate.checks = passed + [stage.document() for stage in stages]
    _store(candidate, "checks", column)


def _store(candidate: Candidate, *columns: str) -> None:
    with transaction.atomic():
        bump([candidate.study_id])
        candidate.save(update_fields=columns)


def _check_what_is_left(study: Study) -> None:
    candidates = list(study.candidates.select_related("merged_into"))
    baseline = next(candidate for candidate in candidates if candidate.is_baseline)
    if baseline.refusal:
        raise NothingToCompare(
            "baseline_refused",
            f"the server does not start with the baseline, {baseline.name}: {baseline.refusal}",
            "\n".join(check["log_tail"] for check in baseline.checks if check["log_tail"]),
        )
    if study.search is not None or study.gate is not None:
        return  # a search will propose others, and a gate has its answer
    others = [candidate for candidate in candidates if not candidate.is_baseline]
    if any(not (other.refusal or other.merged_into) for other in others):
        return
    reasons = [
        f"{other.name} has the same effective values as {other.merged_into}"
        if other.merged_into
        else f"the server does not take {other.name} ({other.refusal})"
        for other in others
    ]
    raise NothingToCompare("nothing_to_compare", f"nothing to compare: {'; '.join(reasons)}")
