"""The configs of a gate's two sides, each planned for the server that it is measured on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import (
    MAX_NAME,
    PlannedCandidate,
    plan_file,
    plan_knobs,
    share_applied,
)
from tuning.configs.config_check.check import check_knobs
from tuning.configs.effective.durability import durability_of, too_unsafe
from tuning.configs.notes import Action, Note
from tuning.configs.translation.origin import ANY_VERSION
from tuning.configs.values import fixed_default
from tuning.creation.named_configs import NamedConfig, named_config
from tuning.creation.plan import Plan
from tuning.errors import InvalidConfig, Problem
from tuning.requests.gate import GateRequest, GateSide

#: Values for both sides of a gate with binary logs, unless a config says otherwise. By default
#: MariaDB neither syncs its log nor writes rows to it.
_ALIKE = {"sync_binlog": "1", "binlog_format": "ROW"}


def both_sides(
    request: GateRequest, ours: Plan, theirs: Plan
) -> tuple[PlannedCandidate, PlannedCandidate]:
    """The baseline and the candidate, each translated where it comes from another server.

    `ours` is where the baseline is measured, `theirs` where the candidate is. Raises BadRequest
    for a stored config that is not there, InvalidConfig with the side in each problem.
    """
    host, device = ours.host.name, request.device.path
    first = _named(request.baseline, "baseline", host, device)
    changed, also_changed = request.baseline.knobs, request.candidate.knobs
    if request.candidate.names_config:
        second = _named(request.candidate, "candidate", host, device)
    else:
        origin = ServerTraits.of(ours.server) if first.origin is None else first.origin
        second = replace(first, origin=origin)
        also_changed = {**changed, **also_changed}
    baseline = _planned(first, "baseline", ours, request.durability, changed)
    candidate = _planned(second, "candidate", theirs, request.durability, also_changed)
    allowed = max(request.durability, durability_of(baseline.knobs, ours.situation.target))
    if unsafe := too_unsafe(candidate.knobs, allowed, theirs.situation.target):
        source = f"candidate: {candidate.name}"
        raise InvalidConfig(Problem(source, None, name, reason) for name, reason in unsafe)
    if candidate.name == baseline.name:
        candidate = replace(candidate, name=f"{candidate.name[:48]}-candidate")
    if request.binary_log == "on":
        baseline, candidate = _logs_alike(baseline, ours), _logs_alike(candidate, theirs)
    baseline, candidate = share_applied([replace(baseline, is_baseline=True), candidate])
    return baseline, candidate


def _with_knobs(
    planned: PlannedCandidate,
    changed: Mapping[str, str],
    side: Plan,
    durability: Durability,
) -> PlannedCandidate:
    """The config with other values, under a name that says which. Raises InvalidConfig."""
    what = ", ".join(f"{name} = {value}" for name, value in changed.items())
    name = f"{planned.name} with {what if what.isprintable() else 'other knobs'}"[:MAX_NAME]
    target, host = side.situation.target, side.situation.host
    durability = max(durability, durability_of(planned.knobs, target))
    report = check_knobs(
        {**planned.knobs, **changed}, target, source=name, durability=durability, host=host
    ).accepted()
    notes = (
        Note(one, Action.ADJUSTED, f"{report.knobs[one]}: changed for the gate")
        for one in changed
        if one in report.knobs
    )
    return replace(planned, name=name, knobs=report.knobs, notes=(*planned.notes, *notes))


def _logs_alike(planned: PlannedCandidate, side: Plan) -> PlannedCandidate:
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
    ).accepted()
    notes = (
        Note(name, Action.ADJUSTED, f"{value}: both sides are to write their binary log alike")
        for name, value in added.items()
    )
    return replace(planned, knobs=report.knobs, notes=(*planned.notes, *notes))


def _named(side: GateSide, label: str, host: str, device: Path | None) -> NamedConfig:
    if side.config is not None:
        return NamedConfig(side.config.name, side.config.data)
    return named_config(side.stored, host, device, about=f"{label}.stored")


def _planned(
    config: NamedConfig,
    label: str,
    side: Plan,
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
                host=host,
                translate_from=origin or ANY_VERSION,
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
