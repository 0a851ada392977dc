"""The candidates of a study: a template's presets, fitted to the server, and the user's files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tuning.catalogue.knob import Durability
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits
from tuning.configs.files.imports import ImportReport, import_cnf
from tuning.configs.gate.check import accepted, check_knobs
from tuning.configs.gate.circumstances import UNKNOWN, Circumstances
from tuning.configs.gate.rules import DIRECT_METHODS, FLUSH_METHOD
from tuning.configs.gate.safety import leaves_out_fsync
from tuning.configs.gate.workload import fit_to_workload
from tuning.configs.notes import Action, Note
from tuning.configs.presets.loader import Preset, load_preset
from tuning.configs.presets.scale import scale
from tuning.configs.presets.variants import cannot_have, variant_preset
from tuning.configs.translation.settled import ANY_VERSION
from tuning.configs.translation.translate import translate as translate_preset
from tuning.errors import InvalidConfig, Problem
from tuning.study_templates import StudyTemplate, TemplateVariant

LONGEST_NAME = 60


@dataclass(frozen=True)
class PlannedCandidate:
    """One candidate: normalised knobs that passed the gate, where they come from, what was done.

    `notes` has every knob that is not simply kept; `source` is text for people; `report` tells
    of a file line by line, None for a preset. `left_out` says why a template's candidate cannot
    be had on this server: then it has no knobs and is not measured. `logs_with_data` is part of
    what it is: the same knobs with the redo log elsewhere are another candidate.
    """

    name: str
    knobs: Mapping[str, str]
    is_baseline: bool
    source: str
    notes: tuple[Note, ...]
    report: ImportReport | None = None
    left_out: str = ""
    logs_with_data: bool = False


def plan_candidates(
    template: StudyTemplate,
    files: Sequence[tuple[str, bytes]],
    target: ServerTraits,
    *,
    resources: HostResources,
    durability: Durability = Durability.D0,
    circumstances: Circumstances = UNKNOWN,
    translate: bool | ServerTraits = False,
) -> list[PlannedCandidate]:
    """The baseline first, then the template's other candidates, then the files (name, content).

    Presets and variants are sized to `resources` and may be of the template's durability class,
    files of `durability` only; `translate` is for files, see `plan_file`. Variants that the
    server cannot have are in the list with their `left_out`. Raises InvalidConfig with the
    problems of all files together, or where the baseline cannot be had.
    """
    planned = [
        _plan_own(
            template,
            name,
            target,
            resources=resources,
            durability=max(durability, template.durability),
            circumstances=circumstances,
        )
        for name in template.candidates
    ]
    baseline = planned[0]
    if baseline.left_out:
        raise InvalidConfig([Problem(baseline.name, None, "", baseline.left_out)])
    for number in range(2, template.copies_of_baseline + 2):
        name = f"{baseline.name}-{number}"
        source = f"{baseline.name} under another name, to see the noise"
        planned.append(replace(baseline, name=name, is_baseline=False, source=source))
    problems: list[Problem] = []
    for name, data in files:
        taken = {candidate.name for candidate in planned}
        try:
            planned.append(
                plan_file(
                    name,
                    data,
                    target,
                    durability=durability,
                    circumstances=circumstances,
                    translate=translate,
                    taken=taken,
                )
            )
        except InvalidConfig as refused:
            problems.extend(refused.problems)
    if problems:
        raise InvalidConfig(problems)
    return planned


def _plan_own(
    template: StudyTemplate,
    name: str,
    target: ServerTraits,
    *,
    resources: HostResources,
    durability: Durability,
    circumstances: Circumstances,
) -> PlannedCandidate:
    """One of the template's own candidates, a preset or a variant."""
    variant = template.variants.get(name)
    is_baseline = name == template.baseline
    if variant is not None:
        return plan_variant(
            variant,
            target,
            resources=resources,
            durability=durability,
            circumstances=circumstances,
            is_baseline=is_baseline,
        )
    return plan_preset(
        name,
        target,
        resources=resources,
        durability=durability,
        circumstances=circumstances,
        is_baseline=is_baseline,
    )


def plan_preset(
    name: str,
    target: ServerTraits,
    *,
    resources: HostResources,
    durability: Durability = Durability.D0,
    circumstances: Circumstances = UNKNOWN,
    is_baseline: bool = False,
) -> PlannedCandidate:
    """A preset, translated for the target and sized to the resources.

    What the host or the workload at hand cannot have is held or raised with a note. Raises
    UnknownPreset, and InvalidConfig where it cannot run here at all.
    """
    preset = load_preset(name).for_server(target)
    planned = _fitted(preset, target, resources, durability, circumstances)
    return replace(planned, is_baseline=is_baseline)


def plan_variant(
    variant: TemplateVariant,
    target: ServerTraits,
    *,
    resources: HostResources,
    durability: Durability = Durability.D0,
    circumstances: Circumstances = UNKNOWN,
    is_baseline: bool = False,
) -> PlannedCandidate:
    """A template's variant, in the way of presets; with `left_out` where it cannot be had here.

    Raises UnknownPreset for its base.
    """
    preset = variant_preset(variant, target, resources)
    try:
        planned = _fitted(preset, target, resources, durability, circumstances)
        lost = cannot_have(variant, planned.notes)
    except InvalidConfig as refused:
        source = f"{preset.title}. {preset.source}"
        planned = PlannedCandidate(variant.name, {}, is_baseline, source, ())
        lost = "; ".join(map(str, refused.problems))
    planned = replace(planned, is_baseline=is_baseline, logs_with_data=variant.logs_with_data)
    if not lost:
        return planned
    return replace(planned, knobs={}, left_out=f"{target} cannot have it ({lost})")


def _fitted(
    preset: Preset,
    target: ServerTraits,
    resources: HostResources,
    durability: Durability,
    circumstances: Circumstances,
) -> PlannedCandidate:
    """Translated, sized, fitted to the workload and through the gate; raises InvalidConfig."""
    translation = translate_preset(preset, target, durability=durability)
    scaled = scale(translation.knobs, preset, target, resources)
    held = _hold_direct_io(scaled.knobs, circumstances)
    here = {knob: value for knob, value in scaled.knobs.items() if knob not in held}
    if held and durability < Durability.D2 and leaves_out_fsync(here, target):
        # Left to itself the server would try to do without the fsync as well.
        here[FLUSH_METHOD] = "fsync"
        detail = f"fsync: {held[FLUSH_METHOD].detail.partition(': ')[2]}"
        held = {FLUSH_METHOD: Note(FLUSH_METHOD, Action.ADJUSTED, detail)}
    fitted = fit_to_workload(here, target, circumstances, also_set=True)
    checked = check_knobs(
        {**here, **fitted.knobs},
        target,
        source=preset.name,
        durability=durability,
        circumstances=circumstances,
    )
    return PlannedCandidate(
        name=preset.name,
        knobs=checked.knobs,
        is_baseline=False,
        source=f"{preset.title}. {preset.source}",
        notes=(
            *translation.notes,
            *scaled.notes,
            *held.values(),
            *fitted.notes,
            *checked.notes,
        ),
    )


def _hold_direct_io(knobs: Mapping[str, str], circumstances: Circumstances) -> dict[str, Note]:
    """What a preset has to do without where the file system cannot do direct I/O."""
    method = knobs.get(FLUSH_METHOD)
    if method not in DIRECT_METHODS or circumstances.direct_io is not False:
        return {}
    detail = f"at the server's default: the device's file system does not support {method}"
    return {FLUSH_METHOD: Note(FLUSH_METHOD, Action.HELD, detail)}


def plan_file(
    name: str,
    data: bytes,
    target: ServerTraits,
    *,
    durability: Durability = Durability.D0,
    circumstances: Circumstances = UNKNOWN,
    translate: bool | ServerTraits = False,
    taken: Collection[str] = (),
) -> PlannedCandidate:
    """The user's my.cnf; raises InvalidConfig. `taken` are the names in use.

    It is taken as it is, or with `translate` carried over from the server it was written for
    (True: an older one, which is not known).
    """
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        reason = f"a config needs a name of 1 to {LONGEST_NAME} printable characters"
        raise InvalidConfig([Problem(repr(name[:LONGEST_NAME]), None, "", reason)])
    if name in taken:
        raise InvalidConfig([Problem(name, None, "", "another candidate has this name")])
    origin = ANY_VERSION if translate is True else translate or None
    report = import_cnf(
        data,
        name,
        target,
        translate_from=origin,
        durability=durability,
        circumstances=circumstances,
    )
    checked = accepted(report)
    return PlannedCandidate(
        name=name,
        knobs=checked.knobs,
        is_baseline=False,
        source="given by the user",
        notes=checked.notes,
        report=report,
    )
