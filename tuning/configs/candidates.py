"""The candidates of a study: a template's presets, fitted to the server, and the user's files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tuning.catalogue.knob import Durability
from tuning.configs.cnf import parse_cnf
from tuning.configs.gate import check, check_knobs
from tuning.configs.notes import Action, Note
from tuning.configs.presets import load_preset
from tuning.configs.resources import HostResources
from tuning.configs.scale import scale
from tuning.configs.target import ServerTraits
from tuning.configs.translate import translate
from tuning.errors import InvalidConfig, Problem
from tuning.study_templates import StudyTemplate

LONGEST_NAME = 60


@dataclass(frozen=True)
class PlannedCandidate:
    """One candidate: normalised knobs that passed the gate, where they come from, what was done.

    `notes` has every knob that is not simply kept; `source` is text for people.
    """

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
    resources: HostResources,
    durability: Durability = Durability.D0,
) -> list[PlannedCandidate]:
    """The baseline first, then the template's other presets, then the files (name, content).

    Presets are sized to `resources`. Raises InvalidConfig with the problems of all files together.
    """
    presets = sorted(template.presets, key=lambda name: name != template.baseline)
    planned = [
        plan_preset(
            name,
            target,
            resources=resources,
            durability=durability,
            is_baseline=name == template.baseline,
        )
        for name in presets
    ]
    problems: list[Problem] = []
    for name, data in files:
        taken = {candidate.name for candidate in planned}
        try:
            planned.append(plan_file(name, data, target, durability=durability, taken=taken))
        except InvalidConfig as refused:
            problems.extend(refused.problems)
    if problems:
        raise InvalidConfig(problems)
    return planned


def plan_preset(
    name: str,
    target: ServerTraits,
    *,
    resources: HostResources,
    durability: Durability = Durability.D0,
    is_baseline: bool = False,
) -> PlannedCandidate:
    """A preset, translated for the target and sized to the resources; raises UnknownPreset."""
    preset = load_preset(name)
    translation = translate(preset, target, durability=durability)
    scaled = scale(translation.knobs, preset, target, resources)
    checked = check_knobs(scaled.knobs, target, source=name, durability=durability)
    return PlannedCandidate(
        name=name,
        knobs=checked.knobs,
        is_baseline=is_baseline,
        source=f"{preset.title}. {preset.source}",
        notes=(*translation.notes, *scaled.notes, *checked.notes),
    )


def plan_file(
    name: str,
    data: bytes,
    target: ServerTraits,
    *,
    durability: Durability = Durability.D0,
    taken: Collection[str] = (),
) -> PlannedCandidate:
    """The user's my.cnf, taken as it is; raises InvalidConfig. `taken` are the names in use."""
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        reason = f"a config needs a name of 1 to {LONGEST_NAME} printable characters"
        raise InvalidConfig([Problem(repr(name[:LONGEST_NAME]), None, "", reason)])
    if name in taken:
        raise InvalidConfig([Problem(name, None, "", "another candidate has this name")])
    file = parse_cnf(data, name, target)
    if not file.settings:
        groups = f"; it has only [{'], ['.join(file.other_groups)}]" if file.other_groups else ""
        reason = f"sets nothing that {target} reads{groups}; options go under [mysqld]"
        raise InvalidConfig([Problem(name, None, "", reason)])
    checked = check(file.settings, target, source=name, durability=durability)
    others = [
        Note(f"[{group}]", Action.DROPPED, f"a group that {target} does not read")
        for group in file.other_groups
    ]
    return PlannedCandidate(
        name=name,
        knobs=checked.knobs,
        is_baseline=False,
        source="given by the user",
        notes=(*others, *checked.notes),
    )
