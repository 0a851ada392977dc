"""Creates gates: a candidate against a baseline, each with a config and a server of its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from django.db import transaction

from benchmarks.errors import about
from benchmarks.inventory.devices import DeviceRequest, device_row
from benchmarks.inventory.stored import inventory_of
from benchmarks.models import BinaryLog
from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import MAX_NAME, PlannedCandidate, plan_file, plan_knobs
from tuning.configs.gate.check import check_knobs
from tuning.configs.effective.durability import durability_of
from tuning.configs.notes import Action, Note
from tuning.configs.values import fixed_default
from tuning.errors import InvalidConfig, Problem
from tuning.models import Study
from tuning.statistics.gate import GatePlan
from tuning.statistics.looks import FIRST_LOOK
from tuning.strategy.gate import PAIR
from tuning.studies.arrangement import Arrangement, arrange
from tuning.studies.forecast import ASSUMED_OVERHEAD_S
from tuning.studies.hosts import host_for
from tuning.studies.lifecycle import check_redo
from tuning.studies.named_configs import NamedConfig, named_config
from tuning.studies.request import MAX_SETTINGS, BadRequest, StudyRequest, sizes_of
from tuning.studies.retired import check_not_retired
from tuning.studies.room import check_second_dataset
from tuning.studies.rows import candidate_row, server_row, workload_row
from tuning.studies.scheduler import advance_host
from tuning.studies.situation import situation_on
from tuning.study_templates.loader import load_template

#: What stands in place of a template's name in a gate's row.
GATE = "gate"
MAX_GATE_NAME = 100
#: Of servers that are to write alike binary logs, where their defaults differ and no config says
#: otherwise: MariaDB neither syncs its log nor writes rows to it by default.
_ALIKE = {"sync_binlog": "1", "binlog_format": "ROW"}


@dataclass(frozen=True)
class GateSide:
    """One side of a gate. Of `file` (name, content) and `stored` one at most is set.

    stored: as in `named_config`. Without either a baseline has the server's defaults and a
    candidate the baseline's config. knobs: what is changed of that, by name. server: path of the
    program; None for the baseline's, and of that the host's first.
    """

    file: tuple[str, bytes] | None = None
    stored: str = ""
    server: Path | None = None
    knobs: Mapping[str, str] = field(default_factory=dict)

    @property
    def names_config(self) -> bool:
        return self.file is not None or bool(self.stored)


@dataclass(frozen=True)
class GateRequest:
    """A request for a gate; sizes that are None are those of the usual template.

    `name` is what its history goes by. `durability` is the least safe class of either config.
    `binary_log` holds for both sides; by default each server does what it does by itself.
    """

    name: str
    candidate: GateSide
    baseline: GateSide = GateSide()
    plan: GatePlan = field(default_factory=GatePlan)
    host: str = ""
    device: DeviceRequest = field(default_factory=DeviceRequest)
    driver: str = "auto"
    load_hosts: tuple[str, ...] = ()
    warehouses: int | None = None
    connections: int | None = None
    warmup_s: int | None = None
    measure_s: int | None = None
    budget_minutes: int | None = None
    durability: Durability = Durability.D0
    binary_log: BinaryLog = BinaryLog.DEFAULT
    seed: int | None = None

    def study_request(self) -> StudyRequest:
        """What it has in common with any study."""
        return StudyRequest(
            name=self.name,
            host=self.host,
            devices=[self.device],
            server=self.baseline.server,
            driver=self.driver,
            load_hosts=self.load_hosts,
            warehouses=self.warehouses,
            connections=None if self.connections is None else [self.connections],
            warmup_s=self.warmup_s,
            measure_s=self.measure_s,
            blocks=self.plan.max_pairs,
            budget_minutes=self.budget_minutes,
            durability=self.durability,
        )


def create_gate(
    request: GateRequest,
    user: Any = None,
    *,
    wake: bool = True,
    also: Callable[[Study], None] = lambda _: None,
) -> Study:
    """Check the request against what its host has, store the gate and wake the host's worker.

    `wake` and `also` as in `create_study`. Raises TuningError (such as InvalidConfig) or
    BenchmarkError; then nothing is stored.
    """
    store = _plan_gate(request, user)
    with transaction.atomic():
        study = store()
        also(study)
        if wake:
            transaction.on_commit(lambda: advance_host(study.host_id))
    return study


def _plan_gate(request: GateRequest, user: Any) -> Callable[[], Study]:
    _check_request(request)
    asked = request.study_request()
    template = load_template(asked.template)
    host = host_for(asked.host, asked.devices)
    check_not_retired(host)
    inventory = inventory_of(host)
    sizes = sizes_of(asked, template, inventory.logical_cpus)
    sizes = replace(sizes, connections=sizes.connections[:1])
    _check_minutes(request, sizes.warmup_s + sizes.measure_s + ASSUMED_OVERHEAD_S)
    with about("baseline"):
        ours = arrange(asked, template, host, inventory, sizes)
    binary = ours.binary
    if request.candidate.server is not None:
        with about("candidate.server"):
            binary = inventory.server(request.candidate.server)
    is_other = binary.digest != ours.binary.digest or binary.path != ours.binary.path
    theirs = ours
    if is_other:
        check_second_dataset(inventory, binary, ours.devices, sizes.warehouses, ours.room)
        here = situation_on(
            inventory, asked, template, sizes, binary, ours.devices, ours.room, None
        )
        theirs = replace(ours, binary=binary, situation=here)
    ours, theirs = (_logging(one, request.binary_log) for one in (ours, theirs))
    baseline, candidate = _sides(request, host.name, ours, theirs)
    for side, planned in ((ours, baseline), (theirs, candidate)):
        check_redo([planned], side.situation.target, side.situation.host, free=ours.room)

    def store() -> Study:
        study = Study.objects.create(
            name=request.name,
            template=GATE,
            host=host,
            server=server_row(host, ours.binary),
            blocks=request.plan.max_pairs,
            seed=secrets.randbelow(2**31) if request.seed is None else request.seed,
            durability=request.durability,
            binary_log=request.binary_log,
            budget_minutes=request.budget_minutes,
            gate=request.plan.as_json(),
            races=False,
            confirms=False,
            # The same config against itself is a question as well.
            keeps_duplicates=True,
            memory_bytes=inventory.memory_budget_bytes,
            created_by=user,
        )
        study.devices.add(*(device_row(host, device) for device in ours.devices))
        connections = sizes.connections[0]
        study.workloads.add(workload_row(ours.driver.name, sizes, connections, ours.load_hosts))
        other = server_row(host, binary) if is_other else None
        candidate_row(study, 0, baseline)
        candidate_row(study, 1, candidate, server=other)
        return study

    return store


def _check_request(request: GateRequest) -> None:
    """Raises BadRequest for what no host could do."""
    name = request.name
    if not name.strip() or not name.isprintable() or len(name) > MAX_GATE_NAME:
        reason = f"a gate needs a name of 1 to {MAX_GATE_NAME} printable characters"
        raise BadRequest(reason, field="name")
    for label, side in (("candidate", request.candidate), ("baseline", request.baseline)):
        if side.file is not None and side.stored:
            raise BadRequest("name a file or a stored config, not both", field=f"{label}.stored")
        if len(side.knobs) > MAX_SETTINGS:
            reason = f"at most {MAX_SETTINGS} knobs can be changed; write a my.cnf"
            raise BadRequest(reason, field=f"{label}.knobs")
    ours = request.candidate
    if not (ours.names_config or ours.knobs or ours.server is not None):
        raise BadRequest("a candidate has a config, knobs or a server of its own", field="candidate")


def _check_minutes(request: GateRequest, run_s: float) -> None:
    """Raises BadRequest for a budget in which nothing can be decided."""
    least = FIRST_LOOK * PAIR * run_s / 60
    if request.budget_minutes is not None and request.budget_minutes < least:
        raise BadRequest(
            f"budget_minutes {request.budget_minutes} is too little for {FIRST_LOOK} pairs, the "
            f"least that decide: they take about {least:.0f} minutes",
            field="budget_minutes",
        )


def _logging(side: Arrangement, binary_log: BinaryLog) -> Arrangement:
    """The side with what the rules across knobs have to know of its binary log."""
    here = side.situation
    facts = replace(here.host, binary_log=binary_log.is_on)
    return replace(side, situation=replace(here, host=facts))


def _sides(
    request: GateRequest, host: str, ours: Arrangement, theirs: Arrangement
) -> tuple[PlannedCandidate, PlannedCandidate]:
    """The baseline and the candidate, each translated where it comes from another server."""
    device = request.device.path
    first = _named(request.baseline, "baseline", host, device)
    changed, also_changed = request.baseline.knobs, request.candidate.knobs
    if request.candidate.names_config:
        second = _named(request.candidate, "candidate", host, device)
    else:
        origin = ServerTraits.of(ours.binary) if first.origin is None else first.origin
        second = replace(first, origin=origin)
        also_changed = {**changed, **also_changed}
    baseline = _planned(first, "baseline", ours, request.durability, changed)
    candidate = _planned(second, "candidate", theirs, request.durability, also_changed)
    if candidate.name == baseline.name:
        candidate = replace(candidate, name=f"{candidate.name[:48]}-candidate")
    if request.binary_log is BinaryLog.ON:
        baseline, candidate = _logs_alike(baseline, ours), _logs_alike(candidate, theirs)
    return replace(baseline, is_baseline=True), candidate


def _with_knobs(
    planned: PlannedCandidate,
    changed: Mapping[str, str],
    side: Arrangement,
    durability: Durability,
) -> PlannedCandidate:
    """The config with other values, under a name that says which. Raises InvalidConfig."""
    what = ", ".join(f"{name} = {value}" for name, value in changed.items())
    name = f"{planned.name} with {what}"[:MAX_NAME]
    target, host = side.situation.target, side.situation.host
    report = check_knobs(
        {**planned.knobs, **changed}, target, source=name, durability=durability, host=host
    )
    notes = (
        Note(one, Action.ADJUSTED, f"{report.knobs[one]}: changed for the gate")
        for one in changed
        if one in report.knobs
    )
    return replace(planned, name=name, knobs=report.knobs, notes=(*planned.notes, *notes))


def _logs_alike(planned: PlannedCandidate, side: Arrangement) -> PlannedCandidate:
    """The config with the lines by which another server's binary log is written as this one's."""
    target, known = side.situation.target, load_catalogue().knobs
    added = {
        name: value
        for name, value in _ALIKE.items()
        if name not in planned.knobs and fixed_default(known[name], target) != value
    }
    if not added:
        return planned
    knobs = {**planned.knobs, **added}
    given = durability_of(knobs, target)
    report = check_knobs(
        knobs, target, source=planned.name, durability=given, host=side.situation.host
    )
    notes = (
        Note(name, Action.ADJUSTED, f"{value}: both sides are to write their binary log alike")
        for name, value in added.items()
    )
    return replace(planned, knobs=report.knobs, notes=(*planned.notes, *notes))


def _named(side: GateSide, label: str, host: str, device: Path | None) -> NamedConfig:
    if side.file is not None:
        name, data = side.file
        return NamedConfig(name, data)
    return named_config(side.stored, host, device, about=f"{label}.stored")


def _planned(
    config: NamedConfig,
    label: str,
    side: Arrangement,
    durability: Durability,
    changed: Mapping[str, str],
) -> PlannedCandidate:
    """The config on its side's server, with what is changed of it."""
    target, host = side.situation.target, side.situation.host
    origin = config.origin if config.origin != target else None
    try:
        if config.file is not None:
            planned = plan_file(
                config.name,
                config.file,
                target,
                durability=durability,
                host=host,
                translate_from=origin,
            )
        else:
            planned = plan_knobs(
                config.name,
                config.knobs,
                target,
                source=config.source,
                durability=durability,
                host=host,
                translate_from=origin,
            )
        return _with_knobs(planned, changed, side, durability) if changed else planned
    except InvalidConfig as refused:
        problems = (
            Problem(f"{label}: {one.source}", one.line, one.name, one.reason)
            for one in refused.problems
        )
        raise InvalidConfig(problems) from refused
