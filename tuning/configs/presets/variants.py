"""A template's own candidates as presets, so that both are processed in the same way."""

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
    """The base preset for the target, with the variant's values instead of its own.

    Raises UnknownPreset.
    """
    base = load_preset(variant.base).for_server(target)
    figures = {name: amount.figure(resources) for name, amount in variant.knobs.items()}
    rules = {
        name: Scaling(name, amount.of, steps=(Step(times=amount.times),))
        if amount.of
        else Scaling(name, None, why="The template is about this figure.")
        for name, amount in variant.knobs.items()
    }
    return replace(
        base,
        name=variant.name,
        title=variant.title,
        source=base.source if base.knobs else "Everything else is the server's default.",
        knobs={**base.knobs, **figures},
        scaling={**base.scaling, **rules},
        remarks={},
    )


def cannot_have(variant: TemplateVariant, notes: Iterable[Note]) -> str:
    """Why the target cannot run the variant as intended; "" if it can.

    A candidate that loses its own knob would be just its base under a misleading name.
    """
    lost = [
        f"{note.name}: {note.detail}"
        for note in notes
        if note.name in variant.knobs and note.action in (Action.DROPPED, Action.HELD)
    ]
    return "; ".join(lost)
