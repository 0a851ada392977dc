"""How a user narrows the space of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuning.errors import TuningError

# More make the search harder than they are worth; fewer leave too much unchanged.
DEFAULT_COUNT = 14
MAX_COUNT = 20


class BadSpace(TuningError):
    """The space cannot be made: unknown_knob, bad_bounds, bad_pin, empty_space, bad_count."""


@dataclass(frozen=True)
class SpaceRequest:
    """The request of a search: which knobs it may change.

    count: how many knobs, by their priority; None leaves it to the advisor. names: exactly these
    instead. free: these in any case, with the chosen ones. pinned: values that every
    candidate has. bounds: (low, high) as a my.cnf has them, for a number. base: what the baseline
    sets; what the search does not change stays as it is.
    """

    count: int | None = None
    names: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    pinned: Mapping[str, str] = field(default_factory=dict)
    bounds: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    base: Mapping[str, str] = field(default_factory=dict)

    @property
    def asked(self) -> dict[str, str]:
        """The knobs that the user wants searched, and the field that names each."""
        fields = {
            "search.knobs": self.names,
            "search.free": self.free,
            **{f"search.bounds.{name}": (name,) for name in self.bounds},
        }
        found: dict[str, str] = {}
        for path, names in fields.items():
            for name in names:
                found.setdefault(name, path)
        return found
