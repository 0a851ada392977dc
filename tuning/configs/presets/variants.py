"""A template's own candidates as presets, so that they go the way that presets go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits
from tuning.configs.notes import Action, Note
from tuning.configs.presets.loader import Preset, load_preset
from tuning.configs.presets.scaling import Scaling, Step
from tuning.study_templates.loader import TemplateVariant


def variant_preset(
    variant: TemplateVariant, target: ServerTraits, resources: HostResources
) -> Preset:
    """The base as it is meant for the target, with the variant's values in place of its own.

    Raises UnknownPreset.
    """
    base = load_preset(variant.base).for_server(target)
    figures = {name: amount.figure(resources) for name, amount in variant.knobs.items()}
    rules = {
        name: Scaling(name, amount.of, steps=(Step(times=amount.times),))
        if amount.of
        else Scaling(name, None, why="The figure is what the template asks about.")
        for name, amount in variant.knobs.items()
    }
    return replace(
        base,
        name=variant.name,
        title=variant.title,
        source=base.source if base.knobs else "Everything else is as the server has it.",
        knobs={**base.knobs, **figures},
        scaling={**base.scaling, **rules},
        remarks={},
    )


def cannot_have(variant: TemplateVariant, notes: Iterable[Note]) -> str:
    """Why the target cannot run the variant as it is meant; "" when it can.

    A candidate whose very knob fell away would be its base under a name that promises more.
    """
    lost = [
        f"{note.name}: {note.detail}"
        for note in notes
        if note.name in variant.knobs and note.action in (Action.DROPPED, Action.HELD)
    ]
    return "; ".join(lost)
