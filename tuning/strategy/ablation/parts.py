"""Which lines of a winner are removed together: areas first, then single lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tuning.catalogue.loader import load_catalogue
from tuning.configs.variables import (
    CHUNK,
    FILES,
    GTID_CONSISTENCY,
    GTID_MODE,
    IO_CAPACITY,
    IO_CEILING,
    POOL,
    SIZE,
)
from tuning.strategy.whole import Whole

# Lines that mean something only together.
PAIRS = (
    (IO_CAPACITY, IO_CEILING),
    ("innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm"),
    (POOL, CHUNK),
    (SIZE, FILES),
    (GTID_MODE, GTID_CONSISTENCY),
)
# So many are tried one by one; more begin in groups.
MAX_SINGLE = 4
# Parts in a block at most: with more, a block takes too long for the host to stay as it is.
MAX_PARTS = 6


@dataclass(frozen=True)
class Part:
    """Units that are removed together; a unit is a line or a pair of `PAIRS`."""

    units: tuple[tuple[str, ...], ...]
    area: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(name for unit in self.units for name in unit)

    @property
    def is_single(self) -> bool:
        return len(self.units) == 1

    def split(self) -> list[Part]:
        """Return its single units, or its halves above `MAX_SINGLE`."""
        if len(self.units) <= MAX_SINGLE:
            return [Part((unit,)) for unit in self.units]
        middle = (len(self.units) + 1) // 2
        return [Part(self.units[:middle]), Part(self.units[middle:])]


def lines_of(whole: Whole) -> tuple[str, ...]:
    """The lines in which the whole differs from the baseline and that may be removed."""
    return tuple(
        name
        for name, value in whole.knobs.items()
        if whole.baseline_knobs.get(name) != value and name not in whole.kept
    )


def first_parts(whole: Whole) -> list[Part]:
    """Where an ablation begins: single lines if they are few, else the areas they belong to.

    Empty for a config of one unit: its effect is that of the whole.
    """
    units = _units(lines_of(whole))
    differing = {n for n, value in whole.knobs.items() if whole.baseline_knobs.get(n) != value}
    if not units or differing == set(units[0]):
        return []
    if len(units) <= MAX_SINGLE:
        return [Part((unit,)) for unit in units]
    areas: dict[str, list[tuple[str, ...]]] = {}
    for unit in units:
        areas.setdefault(_area(unit[0]), []).append(unit)
    if len(areas) == 1:
        return Part(tuple(units)).split()
    return _at_most({area: tuple(there) for area, there in areas.items()})


def _at_most(areas: Mapping[str, tuple[tuple[str, ...], ...]]) -> list[Part]:
    """The areas as parts; the smallest ones share one where there are too many."""
    ordered = sorted(areas, key=lambda area: (-len(areas[area]), area))
    alone = ordered if len(ordered) <= MAX_PARTS else ordered[: MAX_PARTS - 1]
    parts = [Part(areas[area], area) for area in alone]
    if rest := ordered[len(alone) :]:
        parts.append(Part(tuple(unit for area in rest for unit in areas[area]), "other"))
    return parts


def _units(lines: tuple[str, ...]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    taken: set[str] = set()
    for name in lines:
        if name in taken:
            continue
        pair = next((pair for pair in PAIRS if name in pair), (name,))
        unit = tuple(one for one in lines if one in pair)
        taken.update(unit)
        found.append(unit)
    return found


def _area(name: str) -> str:
    knob = load_catalogue().get(name)
    return knob.group if knob else "other"
