"""The candidates of a study: a template's presets, fitted to the server, and the user's files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from tuning.catalogue.knob import Durability
from tuning.catalogue.target import ANY_VERSION, Origin, ServerTraits
from tuning.configs.check import ConfigReport, StageResult, check_knobs, import_cnf
from tuning.configs.expected import UNKNOWN, Expected, HostFacts
from tuning.configs.judge import translate_knobs
from tuning.configs.line import Action, Fate, LineResult, Note
from tuning.configs.parse import decode_cnf
from tuning.configs.presets import Preset, load_preset, scale, variant_preset
from tuning.configs.price import leaves_out_fsync
from tuning.configs.rules import adjusted
from tuning.configs.situation import Situation
from tuning.configs.variables import FLUSH_METHOD
from tuning.errors import InvalidConfig, Problem
from tuning.study_templates.loader import StudyTemplate, TemplateVariant

MAX_NAME = 60


@dataclass(frozen=True)
class PlannedCandidate:
    """One candidate: normalised knobs that passed the gate, their source and their changes.

    `notes` has every knob that was not simply kept; `source` is text for people; `lines` describes
    a file line by line; `checks` are the stages of the gate that it has passed. `left_out` is the
    reason why a template's candidate is not possible on this server: then it has no knobs and is
    not measured. `logs_with_data` is part of its identity: the same knobs with the redo log on
    another device are another candidate. `applied` are the harmless options of a file, and `text`
    in `encoding` is the file itself.
    """

    name: str
    knobs: Mapping[str, str]
    source: str
    is_baseline: bool = False
    notes: tuple[Note, ...] = ()
    lines: tuple[LineResult, ...] = ()
    checks: tuple[StageResult, ...] = ()
    left_out: str = ""
    logs_with_data: bool = False
    applied: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    encoding: str = ""


@dataclass(frozen=True)
class FileFit:
    """Files that were written for another machine: its facts, and their knobs for this one."""

    written_for: HostFacts
    resize: Callable[[Mapping[str, str]], tuple[dict[str, str], tuple[Note, ...]]]


def plan_candidates(
    template: StudyTemplate,
    files: Sequence[tuple[str, bytes]],
    situation: Situation,
    *,
    translate_from: Origin = ANY_VERSION,
    proposals: Mapping[str, PlannedCandidate] = MappingProxyType({}),
    fit: FileFit | None = None,
) -> list[PlannedCandidate]:
    """Plan the baseline, then the template's other candidates, then the files (name, content).

    Presets and variants may have the template's durability class or that of the situation; files
    keep their own. `proposals` are the template's, by name and ready to use. `translate_from` and
    `fit` are for files, see `plan_file`. A preset that is not possible here is in the list with
    its `left_out`: the others are still worth comparing. Raises InvalidConfig with the problems
    of all files together, or if the baseline is not possible.
    """
    widest = max(situation.durability, template.durability)
    for_presets = replace(situation, durability=widest)
    planned = [
        proposals[name]
        if name in template.proposals
        else _of_template(name, template.variants.get(name), for_presets)
        for name in template.candidates
    ]
    baseline = planned[0] = replace(planned[0], is_baseline=True)
    if baseline.left_out:
        raise InvalidConfig([Problem(baseline.name, None, "", baseline.left_out)])
    for number in range(2, template.copies_of_baseline + 2):
        name = f"{baseline.name}-{number}"
        source = f"a copy of {baseline.name}, to show the noise"
        planned.append(replace(baseline, name=name, is_baseline=False, source=source))
    problems: list[Problem] = []
    target, host = situation.target, situation.host
    for name, data in files:
        if name in (candidate.name for candidate in planned):
            problems.append(Problem(name, None, "", "another candidate has this name"))
            continue
        try:
            one = plan_file(name, data, target, host=host, translate_from=translate_from, fit=fit)
            planned.append(one)
        except InvalidConfig as refused:
            problems.extend(refused.problems)
    if problems:
        raise InvalidConfig(problems)
    return share_applied(planned)


def plan_preset(name: str, situation: Situation) -> PlannedCandidate:
    """Plan a preset, translated for the server and sized for the resources of the situation.

    Values that do not fit the host or the workload are left at the default or raised, with a note.
    Raises TuningError for an unknown preset, and InvalidConfig if it cannot run here at all.
    """
    return _fitted(load_preset(name), situation)


def _of_template(
    name: str, variant: TemplateVariant | None, situation: Situation
) -> PlannedCandidate:
    """Plan a preset or a variant; without knobs and with `left_out` where it is not possible."""
    preset = variant_preset(variant, situation.resources) if variant else load_preset(name)
    own = variant.knobs if variant else {}
    with_data = variant is not None and variant.logs_with_data
    try:
        planned = replace(_fitted(preset, situation), logs_with_data=with_data)
    except InvalidConfig as refused:
        planned = PlannedCandidate(preset.name, {}, preset.words, logs_with_data=with_data)
        lost = [f"{problem}" for problem in refused.problems]
    else:
        # Without its own knob a variant would be its base under a misleading name.
        lost = [
            f"{note.name}: {note.detail}"
            for note in planned.notes
            if note.name in own and note.action in (Action.DROPPED, Action.HELD)
        ]
    if not lost:
        return planned
    why = f"not possible on {situation.target} ({'; '.join(lost)})"
    return replace(planned, knobs={}, checks=(), left_out=why)


def _fitted(preset: Preset, situation: Situation) -> PlannedCandidate:
    """Return the preset after translation, sizing and the config check; raises InvalidConfig."""
    target, host, durability = situation.target, situation.host, situation.durability
    origin = preset.written_for or ANY_VERSION
    translated, notes = translate_knobs(preset.knobs, origin, target, durability=durability)
    knobs, sizes = scale(translated, preset, target, situation.resources, host.pool_chunk_bytes)
    notes += sizes
    if FLUSH_METHOD in knobs and (method := Expected(knobs, target, host).unsupported_flush()):
        del knobs[FLUSH_METHOD]
        why = f"the device's file system does not support {method}"
        note = Note(FLUSH_METHOD, Action.HELD, f"at the server's default: {why}")
        if durability < Durability.D2 and leaves_out_fsync(knobs, target):
            # By default the server would leave out the fsync as well.
            knobs[FLUSH_METHOD] = "fsync"
            note = Note(FLUSH_METHOD, Action.ADJUSTED, f"fsync: {why}")
        notes += (note,)
    report = check_knobs(knobs, target, source=preset.name, durability=durability, host=host)
    return _of_report(preset.name, preset.words, report.accepted(), notes)


def plan_file(
    name: str,
    data: bytes,
    target: ServerTraits,
    *,
    host: HostFacts = UNKNOWN,
    translate_from: Origin = ANY_VERSION,
    fit: FileFit | None = None,
) -> PlannedCandidate:
    """The user's my.cnf, translated for the target; raises InvalidConfig.

    With `fit` it is checked for the machine that it was written for, then resized and checked for
    `host`.
    """
    if not name.strip() or not name.isprintable() or len(name) > MAX_NAME:
        reason = f"a config needs a name of 1 to {MAX_NAME} printable characters"
        raise InvalidConfig([Problem(repr(name[:MAX_NAME]), None, "", reason)])
    report = import_cnf(
        data,
        name,
        target,
        translate_from=translate_from,
        host=host if fit is None else fit.written_for,
    ).accepted()
    text, encoding = decode_cnf(data)
    knobs, notes = report.knobs, report.notes
    if fit is not None:
        resized, changes = fit.resize(knobs)
        fitted = check_knobs(
            resized, target, source=name, durability=Durability.D2, host=host
        ).accepted()
        knobs, notes = fitted.knobs, (*notes, *changes, *fitted.notes)
    return PlannedCandidate(
        name=name,
        knobs=knobs,
        source="given by the user",
        notes=notes,
        lines=report.lines,
        checks=report.stages,
        applied=report.applied,
        text=text,
        encoding=encoding,
    )


def applied_of(planned: Sequence[PlannedCandidate]) -> dict[str, str]:
    """The options that every run of these candidates sets, once they share them."""
    return next((dict(one.applied) for one in planned if one.text), {})


def share_applied(planned: Sequence[PlannedCandidate]) -> list[PlannedCandidate]:
    """The candidates with the harmless options that every run of their study sets.

    All files agree on them. The others are part of what is compared, so they are measured.
    """
    files = [one.applied for one in planned if one.text]
    common = {
        name: value
        for name, value in (files[0] if files else {}).items()
        if all(one.get(name) == value for one in files)
    }
    return [_with_own(one, common) if one.text else one for one in planned]


def _with_own(planned: PlannedCandidate, common: Mapping[str, str]) -> PlannedCandidate:
    own = {name: value for name, value in planned.applied.items() if name not in common}
    lines = tuple(
        replace(line, fate=Fate.MEASURED, reason="differs between the files")
        if line.fate is Fate.APPLIED and any(name in own for name, _ in line.became)
        else line
        for line in planned.lines
    )
    return replace(planned, knobs={**planned.knobs, **own}, lines=lines, applied=common)


def plan_knobs(
    name: str,
    knobs: Mapping[str, str],
    target: ServerTraits,
    *,
    source: str,
    durability: Durability = Durability.D0,
    host: HostFacts = UNKNOWN,
    translate_from: Origin | None = None,
) -> PlannedCandidate:
    """A stored config; none of its knobs is the server's defaults. Raises InvalidConfig.

    It is used unchanged, or translated from the server that it was measured on.
    """
    notes: tuple[Note, ...] = ()
    if translate_from is not None:
        knobs, notes = translate_knobs(knobs, translate_from, target, durability=durability)
        # Without the host: a buffer pool that does not fit there is refused, not shrunk.
        for changed, value, why in adjusted(Expected(knobs, target)):
            knobs = {**knobs, changed: value}
            notes += (Note(changed, Action.ADJUSTED, f"{value}: {why}"),)
    report = check_knobs(knobs, target, source=name, durability=durability, host=host).accepted()
    return _of_report(name, source, report, notes)


def plan_proposed(
    name: str,
    knobs: Mapping[str, str],
    target: ServerTraits,
    *,
    source: str,
    durability: Durability = Durability.D0,
    host: HostFacts = UNKNOWN,
) -> PlannedCandidate:
    """Return a config that the advisor made itself; with `left_out` where it is refused.

    Limits that are too low for the workload are raised, as with presets. Never raises: a search
    learns from what is refused; such a candidate keeps the requested knobs.
    """
    try:
        return plan_knobs(name, knobs, target, source=source, durability=durability, host=host)
    except InvalidConfig as refused:
        problems = refused.problems
    whys = [f"{one.name}: {one.reason}" if one.name else one.reason for one in problems]
    return PlannedCandidate(name, dict(knobs), source, left_out="; ".join(whys))


def _of_report(
    name: str, source: str, report: ConfigReport, notes: Sequence[Note] = ()
) -> PlannedCandidate:
    return PlannedCandidate(
        name=name,
        knobs=report.knobs,
        source=source,
        notes=(*notes, *report.notes),
        checks=report.stages,
    )
