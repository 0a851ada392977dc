"""The search space in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tuning.catalogue.loader import load_catalogue
from tuning.configs.values import readable_value
from tuning.strategy.search.space import Dimension, Space


@dataclass(frozen=True)
class SpaceLine:
    """One knob of a space: its values, the server's default, and the reason for the range."""

    name: str
    values: str
    default: str
    source: str


def space_lines(space: Space) -> list[SpaceLine]:
    """A line per knob, in the order of the space."""
    return [
        SpaceLine(one.name, values_text(one), knob_text(one.name, one.default) or "-", one.source)
        for one in space.dimensions
    ]


def values_text(one: Dimension) -> str:
    """Return the values, such as `128 MiB to 8 GiB, log scale` or `OFF, ON`."""
    if not one.is_number:
        return ", ".join(one.choices)
    levels = [value for value in one.levels if value not in one.special]
    low, high = knob_text(one.name, levels[0]), knob_text(one.name, levels[-1])
    scale = ", log scale" if one.is_log else ""
    extra = "".join(f", or {value}" for value in one.special)
    return f"{low} to {high}{scale}{extra}"


def knob_text(name: str, value: str) -> str:
    """A readable value: bytes as `128M`."""
    return readable_value(load_catalogue().get(name), value)


def knobs_text(knobs: Mapping[str, str]) -> str:
    """Return `innodb_flush_method = O_DIRECT, innodb_io_capacity = 2000`; "" for none."""
    return ", ".join(f"{name} = {knob_text(name, value)}" for name, value in knobs.items())
