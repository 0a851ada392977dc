"""The configs of a gate's two sides, each planned for the server that it is measured on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.models import Config
from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ANY_VERSION, ServerTraits, traits_of
from tuning.configs.candidates import (
    MAX_NAME,
    PlannedCandidate,
    plan_file,
    plan_knobs,
    share_applied,
)
from tuning.configs.check import check_knobs
from tuning.configs.line import Action, Note
from tuning.configs.price import durability_of, too_unsafe
from tuning.configs.values import fixed_default
from tuning.creation.plan import Plan
from tuning.errors import BadRequest, InvalidConfig, Problem
from tuning.models import Recommendation
from tuning.requests.gate import GateRequest, GateSide

#: The word that names the server's own defaults.
DEFAULTS = "default"
_HASH = re.compile(r"[0-9a-f]{8,64}")
_STUDY = re.compile(r"study:([0-9]{1,18})")
_MAX_NAME = 40
#: Values for both sides of a gate with binary logs, unless a config says otherwise. By default
#: MariaDB neither syncs its log nor writes rows to it.
_ALIKE = {"sync_binlog": "1", "binlog_format": "ROW"}


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


def both_sides(
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


def _planned(
    config: _NamedConfig,
    label: str,
    side: Plan,
    durability: Durability,
    changes: Mapping[str, str],
) -> PlannedCandidate:
    """Return the config on its side's server with the changes, which its name then tells."""
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
                durability=durability,
                host=host,
                translate_from=origin,
            )
        if not changes:
            return planned
        what = ", ".join(f"{name} = {value}" for name, value in changes.items())
        name = f"{planned.name} with {what if what.isprintable() else 'other knobs'}"[:MAX_NAME]
        named = replace(planned, name=name)
        return _changed(named, changes, side, durability, "changed for the gate")
    except InvalidConfig as refused:
        problems = (replace(one, source=f"{label}: {one.source}") for one in refused.problems)
        raise InvalidConfig(problems) from refused


def _changed(
    planned: PlannedCandidate,
    changes: Mapping[str, str],
    side: Plan,
    durability: Durability,
    why: str,
) -> PlannedCandidate:
    """Return the config with other values; it may stay as unsafe as it is."""
    target = side.situation.target
    report = check_knobs(
        {**planned.knobs, **changes},
        target,
        source=planned.name,
        durability=max(durability, durability_of(planned.knobs, target)),
        host=side.situation.host,
    ).accepted()
    notes = (
        Note(name, Action.ADJUSTED, f"{report.knobs[name]}: {why}")
        for name in changes
        if name in report.knobs
    )
    return replace(planned, knobs=report.knobs, notes=(*planned.notes, *notes))


def _logs_alike(planned: PlannedCandidate, side: Plan) -> PlannedCandidate:
    """Return the config with the lines that make this server log as others do by default."""
    target, known = side.situation.target, load_catalogue().knobs
    added = {
        name: value
        for name, value in _ALIKE.items()
        if name not in planned.knobs and fixed_default(known[name], target) != value
    }
    why = "both sides are to write their binary log alike"
    return _changed(planned, added, side, Durability.D0, why) if added else planned


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
    number = _STUDY.fullmatch(stored)
    which = {"study": int(number[1])} if number else {"study__name": stored}
    newest = Recommendation.objects.filter(**which).order_by("-study").values("study")[:1]
    rows = list(
        Recommendation.objects.filter(study__in=newest)
        .select_related("candidate__config", "study__server", "study__host", "device")
        .order_by("durability", "pk")
    )
    here = [
        row
        for row in rows
        if row.study.host.name == host and device in (None, Path(row.device.data_dir))
    ]
    rows = here or rows
    if not rows:
        raise BadRequest(
            f"there is no config {stored!r}: name 'default', the hash of a config, 'study:ID' or "
            "the name of a study that has a recommendation",
            field=about,
        )
    row, hashes = rows[0], sorted({row.candidate.config.hash[:12] for row in rows})
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
