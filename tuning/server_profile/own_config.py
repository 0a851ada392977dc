"""Write the config that a profiled server runs with as a my.cnf."""

from __future__ import annotations

from collections.abc import Mapping

from tuning.catalogue.knob import Kind
from tuning.catalogue.loader import load_catalogue
from tuning.configs.effective.expected import Expected, by_itself
from tuning.configs.effective.variables import (
    CAPACITY,
    CHUNK,
    FILES,
    MAX_CONNECTIONS,
    POOL,
    SIZE,
    has_capacity,
)
from tuning.configs.values import BadValue, normalise, same
from tuning.server_profile.profile import Profile

_NO_VALUES = frozenset({Kind.PATH, Kind.STRING, Kind.FLAG})


def own_knobs(profile: Profile) -> dict[str, str]:
    """Return the tuning variables that differ from what the server would have by itself."""
    target = profile.target
    read = {}
    for name, knob in load_catalogue().knobs.items():
        shown = profile.variables.get(knob.variable(target), "")
        if knob.set_by or knob.kind in _NO_VALUES or not shown or not knob.exists_in(target):
            continue
        try:
            read[name] = normalise(knob, shown, target)
        except BadValue:
            continue
    read.pop(CHUNK, None)
    if has_capacity(target):
        read.pop(SIZE, None)
        read.pop(FILES, None)
        if (redo := profile.redo_bytes) is not None:
            read[CAPACITY] = f"{redo}"
    return {name: value for name, value in read.items() if _is_set(name, value, read, profile)}


def as_cnf(knobs: Mapping[str, str]) -> str:
    """Return the knobs as a my.cnf."""
    lines = [name if not value else f"{name} = {value}" for name, value in knobs.items()]
    return "\n".join(["[mysqld]", *lines]) + "\n"


def _is_set(name: str, value: str, read: Mapping[str, str], profile: Profile) -> bool:
    if name == POOL:
        return True  # a default too is resized to the scale model
    others = {other: text for other, text in read.items() if other != name}
    default = by_itself(name, Expected(others, profile.target))
    if default is None:
        # Computed from the host: left to the server that is measured.
        return name == MAX_CONNECTIONS
    return not same(default, value)
