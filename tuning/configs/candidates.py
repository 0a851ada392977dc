"""The candidates of a study: the presets of a template, made to fit, and the files of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuning.configs.cnf import parse_cnf
from tuning.configs.gate import check, check_knobs
from tuning.configs.notes import Action, Note
from tuning.configs.presets import load_preset
from tuning.configs.scale import scale
from tuning.configs.target import ServerTraits
from tuning.configs.translate import translate
from tuning.errors import InvalidConfig, Problem
from tuning.study_templates import StudyTemplate

LONGEST_NAME = 60


@dataclass(frozen=True)
class PlannedCandidate:
    """One candidate: normalised knobs, where they come from, and what was done to them."""

    name: str
    knobs: Mapping[str, str]
    is_baseline: bool
    source: str
    notes: tuple[Note, ...]


def plan_candidates(
    template: StudyTemplate,
    files: Sequence[tuple[str, bytes]],
    target: ServerTraits,
    *,
    data_bytes: int,
) -> list[PlannedCandidate]:
    """The baseline first, then the template's other presets, then the files (name, content).

    `data_bytes` is the size of tables and indexes. Raises InvalidConfig with the problems of all
    files together.
    """
    presets = sorted(template.presets, key=lambda name: name != template.baseline)
    planned = [_of_preset(name, template, target, data_bytes) for name in presets]
    problems: list[Problem] = []
    for name, data in files:
        taken = {candidate.name for candidate in planned}
        try:
            planned.append(_of_file(name, data, target, taken))
        except InvalidConfig as refused:
            problems.extend(refused.problems)
    if problems:
        raise InvalidConfig(problems)
    return planned


def _of_preset(
    name: str, template: StudyTemplate, target: ServerTraits, data_bytes: int
) -> PlannedCandidate:
    preset = load_preset(name)
    translation = translate(preset, target)
    scaled = scale(translation.knobs, preset, target, data_bytes)
    checked = check_knobs(scaled.knobs, target, source=name)
    return PlannedCandidate(
        name=name,
        knobs=checked.knobs,
        is_baseline=name == template.baseline,
        source=f"{preset.title}. {preset.source}",
        notes=(*translation.notes, *scaled.notes, *checked.notes),
    )


def _of_file(name: str, data: bytes, target: ServerTraits, taken: set[str]) -> PlannedCandidate:
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        reason = f"a config needs a name of 1 to {LONGEST_NAME} printable characters"
        raise InvalidConfig([Problem(repr(name[:LONGEST_NAME]), None, "", reason)])
    if name in taken:
        raise InvalidConfig([Problem(name, None, "", "another candidate has this name")])
    file = parse_cnf(data, name, target)
    checked = check(file.settings, target, source=name)
    others = [
        Note(f"[{group}]", Action.DROPPED, "a group that this server does not read")
        for group in file.other_groups
    ]
    return PlannedCandidate(
        name, checked.knobs, False, "given by the user", (*others, *checked.notes)
    )
