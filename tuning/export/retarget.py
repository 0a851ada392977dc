"""The recommendation for a server other than the measured one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from tuning.catalogue.knob import Durability, Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.durability import leaves_out_fsync, losses
from tuning.configs.effective.variables import FLUSH_METHOD
from tuning.configs.gate.check import check_knobs
from tuning.configs.notes import Action, Note
from tuning.configs.translation.translate import translate_knobs
from tuning.configs.values import fixed_default, readable_value, usable
from tuning.export.facts import ExportFacts
from tuning.export.lines import Line, default_of, lines_of
from tuning.export.safety import durability_of_export
from tuning.export.words import sized_back


def retarget(facts: ExportFacts, target: ServerTraits) -> ExportFacts:
    """The facts with the measured values translated for `target`, with a note for every change.

    Nothing becomes less durable than on the measured server: if the target's default is less safe,
    the safe value is written. Raises InvalidConfig if the target refuses the result.
    """
    measured = facts.translated_from or facts
    if target == measured.server:
        return measured
    lines = lines_of(measured)
    values = {line.name: line.value for line in lines}
    allowed = durability_of_export(measured)
    translation = translate_knobs(values, measured.server, target, durability=allowed)
    pinned = dict(_pinned(translation.knobs, measured, target))
    checked = check_knobs(
        {**translation.knobs, **{name: value for name, (value, _) in pinned.items()}},
        target,
        source=measured.candidate,
        durability=allowed,
    )
    notes = [
        *_sized(lines, measured),
        *translation.notes,
        *(Note(name, Action.ADJUSTED, why) for name, (_, why) in pinned.items()),
        *checked.notes,
    ]
    differing = ", ".join(_other_defaults(checked.knobs, measured, target))
    other = f"defaults that differ (measured server; this server): {differing}"
    return replace(
        measured,
        server=target,
        knobs=checked.knobs,
        notes=(*measured.notes, *notes),
        candidate_variables={},
        baseline_variables={},
        baseline_knobs={},
        not_tested=(*measured.not_tested, *([other] if differing else [])),
        translated_from=measured,
        pinned=frozenset(pinned),
    )


def _sized(lines: Iterable[Line], measured: ExportFacts) -> Iterator[Note]:
    """What was sized back before it was translated."""
    for line in lines:
        if line.in_model and measured.model is not None:
            text = sized_back(line, measured.model).removesuffix(".")
            yield Note(line.name, Action.ADJUSTED, text[:1].lower() + text[1:])


def _pinned(
    knobs: Mapping[str, str], measured: ExportFacts, target: ServerTraits
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Knobs that must be written so that the target is as durable as the measured server."""
    for knob in load_catalogue().tunable(target):
        there, here = _had(knob, measured), fixed_default(knob, target)
        if knob.name == FLUSH_METHOD and leaves_out_fsync(knobs, target):
            there, here = there or "O_DIRECT", "O_DIRECT_NO_FSYNC"
        if not knob.durability or knob.name in knobs or there is None or here is None:
            continue
        given = losses({**knobs, knob.name: here}).get(knob.name)
        before = losses({**measured.knobs, knob.name: there}).get(knob.name, (Durability.D0, ""))
        if given is None or given[0] <= before[0]:
            continue
        value = usable(knob, there, target)
        if value is None:
            continue
        why = f"written because {here}, the default of {target}, may lose {given[1]}"
        yield knob.name, (value, why)


def _other_defaults(
    knobs: Mapping[str, str], measured: ExportFacts, target: ServerTraits
) -> Iterator[str]:
    """The fixed defaults that differ from those of the measured server and that no line sets."""
    for knob in load_catalogue().tunable(target):
        there, here = fixed_default(knob, measured.server), fixed_default(knob, target)
        if knob.name not in knobs and there is not None and here is not None and there != here:
            yield f"{knob.name} ({readable_value(knob, there)}; {readable_value(knob, here)})"


def _had(knob: Knob, measured: ExportFacts) -> str | None:
    """The value of the measured candidate for a knob that it did not set."""
    shown = measured.candidate_variables.get(knob.variable(measured.server))
    return shown or default_of(knob.name, measured)
