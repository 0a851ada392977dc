"""Creates gates: a candidate against a baseline, each with a config and a server of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.errors import ExpectedError
from benchmarks.models import BinaryLog, Config
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ANY_VERSION, ServerTraits, traits_of
from tuning.configs.candidates import (
    MAX_NAME,
    PlannedCandidate,
    applied_of,
    plan_file,
    plan_knobs,
    share_applied,
)
from tuning.configs.check import check_knobs
from tuning.configs.line import Action, Note
from tuning.configs.price import durability_of, too_unsafe
from tuning.configs.values import config_hash, fixed_default
from tuning.creation.configs import check_redo
from tuning.creation.create import server_row, store, store_plan
from tuning.creation.plan import Plan, plan_of
from tuning.creation.preview import check_minutes
from tuning.errors import BadRequest, InvalidConfig, Problem
from tuning.models import Recommendation, Study
from tuning.requests.gate import GateRequest, GateSide
from tuning.requests.load import LoadRequest
from tuning.statistics.looks import FIRST_LOOK
from tuning.strategy.compose import PAIR
from tuning.studies.budget import expected_run_s
from tuning.studies.rows import candidate_row

#: The word in place of a template's name in a gate's row.
GATE = "gate"
#: The word that names the server's own defaults.
DEFAULTS = "default"
_HASH = re.compile(r"[0-9a-f]{8,64}")
_STUDY = re.compile(r"study:([0-9]{1,18})")
_MAX_NAME = 40
#: Values for both sides of a gate with binary logs, unless a config says otherwise. By default
#: MariaDB neither syncs its log nor writes rows to it.
_ALIKE = {"sync_binlog": "1", "binlog_format": "ROW"}


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
    with _fields_of_a_gate():
        plan = plan_of(request.study_request(), other_server=request.candidate.server)
    ours = replace(plan, binary_log=BinaryLog(request.binary_log))
    theirs = replace(ours, server=ours.other_server or ours.server)
    least_s = FIRST_LOOK * PAIR * expected_run_s(ours.sizes)
    check_minutes(request.budget_minutes, least_s, f"{FIRST_LOOK} pairs, the least that decide")
    sides = _both_sides(request, ours, theirs)
    check_redo(ours, sides[:1])
    check_redo(theirs, sides[1:])
    return store(lambda: _store_gate(request, ours, theirs, sides, user), wake=wake, also=also)


@contextmanager
def _fields_of_a_gate() -> Iterator[None]:
    """Name the fields of refusals as a gate's request has them."""
    try:
        yield
    except ExpectedError as error:
        is_server = error.field == "server"
        error.field = (
            "baseline.server" if is_server else error.field.replace("devices[0]", "device")
        )
        raise


def _store_gate(
    request: GateRequest,
    ours: Plan,
    theirs: Plan,
    sides: tuple[PlannedCandidate, PlannedCandidate],
    user: Any,
) -> Study:
    # The request that asks for the same gate, with its configs as they are measured.
    of_plan = {"host", *LoadRequest.model_fields} - {"budget_minutes", "durability", "seed"}
    completed = request.model_copy(
        update={name: getattr(ours.request, name) for name in of_plan}
        | {
            "baseline": _completed_side(request.baseline, sides[0], ours),
            "candidate": _completed_side(request.candidate, sides[1], theirs),
            "connections": ours.sizes.connections[0],
        }
    )
    study = store_plan(
        ours,
        sides[:1],
        completed,
        user,
        name=request.name,
        template=GATE,
        gate=request.plan.as_json(),
        applied=applied_of(sides),
        races=False,
        confirms=False,
    )
    other = server_row(ours.host, ours.other_server) if ours.other_server else None
    candidate_row(study, 1, sides[1], server=other)
    return study


def _completed_side(asked: GateSide, side: PlannedCandidate, plan: Plan) -> GateSide:
    """Return the side that asks for the same config; a file is asked for again as a whole."""
    if side.text:
        return asked.model_copy(update={"server": plan.server.path})
    stored = config_hash(side.knobs)[:12] if side.knobs else DEFAULTS
    return GateSide(stored=stored, server=plan.server.path)


def _both_sides(
    request: GateRequest, ours: Plan, theirs: Plan
) -> tuple[PlannedCandidate, PlannedCandidate]:
    """Return the baseline and the candidate, translated where they come from another server.

    `ours` is where the baseline is measured, `theirs` where the candidate is. Raises BadRequest
    for a stored config that is not there, InvalidConfig with the side in each problem.
    """
    host, device = ours.host.name, request.device.path
    first = _named(request.baseline, "baseline", host, device)
    changed, also_changed = request.baseline.knobs, request.candidate.knobs
    if request.candidate.names_config:
        second = _named(request.candidate, "candidate", host, device)
    else:
        second = replace(first, origin=first.origin or ours.situation.target)
        also_changed = {**changed, **also_changed}
    baseline = _planned(first, "baseline", ours, request, changed)
    candidate = _planned(second, "candidate", theirs, request, also_changed)
    allowed = max(request.durability, durability_of(baseline.knobs, ours.situation.target))
    if unsafe := too_unsafe(candidate.knobs, allowed, theirs.situation.target):
        source = f"candidate: {candidate.name}"
        raise InvalidConfig(Problem(source, None, name, reason) for name, reason in unsafe)
    if candidate.name == baseline.name:
        candidate = replace(candidate, name=f"{candidate.name[:48]}-candidate")
    baseline, candidate = share_applied([replace(baseline, is_baseline=True), candidate])
    return baseline, candidate


@dataclass(frozen=True)
class _NamedConfig:
    """A config under the name that it gets in a study.

    Either `file`, the text of a my.cnf, or `knobs`, which is empty for the server's defaults.
    origin: the server that it was measured on; None where it is used as it is. source: where it
    comes from, for people.
    """

    name: str
    file: bytes | None = None
    knobs: Mapping[str, str] = field(default_factory=dict)
    origin: ServerTraits | None = None
    source: str = "the server's defaults"


def _planned(
    config: _NamedConfig,
    label: str,
    side: Plan,
    request: GateRequest,
    changes: Mapping[str, str],
) -> PlannedCandidate:
    """Return the config on its side's server with the changes, which its name then tells.

    It may stay as unsafe as it is. Raises InvalidConfig with the side in each problem.
    """
    target, host = side.situation.target, side.situation.host
    origin = config.origin if config.origin != target else None
    try:
        if config.file is not None:
            planned = plan_file(
                config.name, config.file, target, host=host, translate_from=origin or ANY_VERSION
            )
        else:
            planned = plan_knobs(
                config.name,
                config.knobs,
                target,
                source=config.source,
                durability=request.durability,
                host=host,
                translate_from=origin,
            )
        whys = dict.fromkeys(changes, "changed for the gate")
        values = dict(changes)
        if request.binary_log == "on":
            for name in _logs_alike({**planned.knobs, **changes}, target):
                values[name] = _ALIKE[name]
                whys[name] = "both sides are to write their binary log alike"
        if not values:
            return planned
        report = check_knobs(
            {**planned.knobs, **values},
            target,
            source=planned.name,
            durability=max(request.durability, durability_of(planned.knobs, target)),
            host=host,
        ).accepted()
    except InvalidConfig as refused:
        problems = (replace(one, source=f"{label}: {one.source}") for one in refused.problems)
        raise InvalidConfig(problems) from refused
    notes = (
        Note(name, Action.ADJUSTED, f"{report.knobs[name]}: {why}")
        for name, why in whys.items()
        if name in report.knobs
    )
    name = planned.name
    if changes:
        what = ", ".join(f"{one} = {value}" for one, value in changes.items())
        name = f"{name} with {what if what.isprintable() else 'other knobs'}"[:MAX_NAME]
    return replace(planned, name=name, knobs=report.knobs, notes=(*planned.notes, *notes))


def _logs_alike(knobs: Mapping[str, str], target: ServerTraits) -> list[str]:
    """Return the variables that a server needs to write its binary log as others do by default."""
    known = load_catalogue().knobs
    return [
        name
        for name, value in _ALIKE.items()
        if name not in knobs and fixed_default(known[name], target) != value
    ]


def _named(side: GateSide, label: str, host: str, device: Path | None) -> _NamedConfig:
    """Return the config that a side names.

    A file; else by `stored` "default" or "": the server's defaults; 8 characters or more of a
    hash: that config; `study:ID` or a study's name: its recommended config, of studies with one
    name the newest. `host` and `device` choose among the recommendations of several devices.
    Raises BadRequest about the field for what is not there or not clear.
    """
    stored, about = side.stored, f"{label}.stored"
    if side.config is not None:
        return _NamedConfig(side.config.name, side.config.data)
    if stored in ("", DEFAULTS):
        return _NamedConfig("server-default")
    if _HASH.fullmatch(stored):
        configs = list(Config.objects.filter(hash__startswith=stored)[:2])
        if len(configs) > 1:
            raise BadRequest(f"{stored} begins the hash of several configs", field=about)
        if configs:
            name, source = f"config {configs[0].hash[:12]}", "a stored config"
            return _NamedConfig(name, knobs=configs[0].knobs, source=source)
    rows = _recommended(stored, host, device)
    hashes = sorted({row.candidate.config.hash[:12] for row in rows})
    if not rows:
        raise BadRequest(
            f"there is no config {stored!r}: name 'default', the hash of a config, 'study:ID' or "
            "the name of a study that has a recommendation",
            field=about,
        )
    row = rows[0]
    if len(hashes) > 1:
        raise BadRequest(
            f"study {row.study_id} recommends several configs, name one by its hash: "
            f"{', '.join(hashes)}",
            field=about,
        )
    return _NamedConfig(
        f"{row.candidate.name[:_MAX_NAME]} of study {row.study_id}",
        knobs=row.candidate.config.knobs,
        origin=traits_of(row.study.server),
        source=f"recommended by study {row.study_id}",
    )


def _recommended(stored: str, host: str, device: Path | None) -> list[Recommendation]:
    """Return the recommendations of a study, those for the host and device if there are any."""
    number = _STUDY.fullmatch(stored)
    which = {"study": int(number[1])} if number else {"study__name": stored}
    newest = Recommendation.objects.filter(**which).order_by("-study").values("study")[:1]
    rows = (
        Recommendation.objects.filter(study__in=newest)
        .select_related("candidate__config", "study__server", "device")
        .order_by("durability", "pk")
    )
    here = rows.filter(study__host__name=host)
    if device is not None:
        here = here.filter(device__data_dir=str(device))
    return list(here) or list(rows)
