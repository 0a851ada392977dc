"""Values between a scale model and the real server, knob by knob as the catalogue says."""

from __future__ import annotations

from collections.abc import Mapping

from tuning.catalogue.knob import Kind, Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.resources import Scales
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.expected import GIB, MIB, Expected, HostFacts
from tuning.configs.effective.variables import POOL
from tuning.configs.notes import Action, Note
from tuning.configs.presets.scale import unrounded_pool
from tuning.configs.values import readable_value
from tuning.scale_model.model import ScaleModel

_SCALED = (Scales.MEMORY, Scales.DATA)
# From here on a pool is given in whole GiB: every number of instances divides them evenly enough.
_WHOLE_GIB_FROM = 8 * GIB


def is_scaled(name: str) -> bool:
    """Whether a knob's value differs between the model and the real server."""
    knob = load_catalogue().get(name)
    return knob is not None and knob.scales in _SCALED


def on_real_server(
    name: str, value: str, model: ScaleModel, target: ServerTraits, others: Mapping[str, str]
) -> str:
    """The value for the real server, beside the knobs `others` that it will have.

    The server does not round it; what does not scale stays.
    """
    knob = load_catalogue().get(name)
    if knob is None or knob.scales not in _SCALED or not value.isdigit():
        return value
    return _size(knob, int(value) * model.scale, target, others, HostFacts())


def in_model(
    knobs: Mapping[str, str], model: ScaleModel, target: ServerTraits, host: HostFacts
) -> tuple[dict[str, str], tuple[Note, ...]]:
    """The knobs of a file for the real server as the model has them, with a note for each."""
    found, notes = dict(knobs), []
    for name, value in knobs.items():
        knob = load_catalogue().get(name)
        if knob is None or knob.scales not in _SCALED or not value.isdigit():
            continue
        others = {other: found[other] for other in found if other != name}
        found[name] = _size(knob, int(value) / model.scale, target, others, host)
        before, after = readable_value(knob, value), readable_value(knob, found[name])
        detail = f"{before} on the real server become {after} in the {model.title}"
        notes.append(Note(name, Action.ADJUSTED, detail))
    return found, tuple(notes)


def _size(
    knob: Knob,
    wanted: float,
    target: ServerTraits,
    others: Mapping[str, str],
    host: HostFacts,
) -> str:
    if wanted == 0:  # off, or whatever the server thinks right
        return "0"
    size = max(round(wanted), 1)
    if knob.name == POOL:
        if size >= _WHOLE_GIB_FROM:
            size = round(size / GIB) * GIB
        return f"{unrounded_pool(size, Expected(others, target, host))}"
    if knob.kind is Kind.BYTES and size >= MIB:
        size = round(size / MIB) * MIB
    limits = knob.limits(target)
    if limits is not None:
        size = int(min(max(size, limits.low), limits.high))
    return f"{size}"
