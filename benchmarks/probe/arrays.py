"""An array's expected and measured figures, and the share that the software stack takes.

The formulas are those of Han, Zhu, Lee and Son, "An Empirical Performance Evaluation of Multiple
Intel Optane Solid-State Drives", Electronics 2021, 10, 1325, section 4.1; the paper does not
number them, so they are cited by the figure they stand beside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.probe.jobs import Pattern
from benchmarks.probe.result import ProbeResult
from benchmarks.storage.identity import DeviceIdentity


class RaidLevel(StrEnum):
    """The levels there are formulas for, in md's words."""

    RAID0 = "raid0"
    RAID1 = "raid1"
    RAID5 = "raid5"
    RAID6 = "raid6"
    RAID10 = "raid10"

    @property
    def has_parity(self) -> bool:
        return self in (RaidLevel.RAID5, RaidLevel.RAID6)


@dataclass(frozen=True)
class _Formulas:
    """How many times one disk's performance an array of `disks` has."""

    least_disks: int
    reads: Callable[[int], float]
    writes: Callable[[int], float]


# md builds RAID 10 from two disks on; the paper's "stripe of mirrors" has four. A write smaller
# than a stripe reads data and parity and writes both: 4 requests on RAID 5, 6 on RAID 6.
_FORMULAS = {
    RaidLevel.RAID0: _Formulas(2, lambda n: n, lambda n: n),  # beside Figure 1
    RaidLevel.RAID1: _Formulas(2, lambda n: n, lambda _: 1),  # Figure 2
    RaidLevel.RAID5: _Formulas(3, lambda n: n - 1, lambda n: (n - 1) / 4),  # Figure 4
    RaidLevel.RAID6: _Formulas(4, lambda n: n - 2, lambda n: (n - 2) / 6),  # Figure 5
    RaidLevel.RAID10: _Formulas(2, lambda n: n, lambda n: n / 2),  # Figure 3
}


@dataclass(frozen=True)
class ArrayLoss:
    """One figure of an array: what its disks promise and what was measured.

    All are in the pattern's unit. Where the disks differ `one_disk` is the slowest, for a stripe
    waits for it.
    """

    pattern: Pattern
    one_disk: float
    expected: float
    measured: float

    @property
    def lost_share(self) -> float:
        """The part of the promise that did not arrive, 0..1: what the software stack takes.

        Negative where more arrived, as with caches, or where RAID 5 and 6 write whole stripes and
        need not read before.
        """
        return 1.0 - self.measured / self.expected


def expected(level: RaidLevel, disks: int, pattern: Pattern, one: float) -> float:
    """Performance of the array, in the unit of `one`, a single disk's."""
    formulas = _FORMULAS[level]
    return one * (formulas.reads if pattern.reads else formulas.writes)(disks)


def compare(
    level: RaidLevel, disks: int, members: Sequence[ProbeResult], array: ProbeResult
) -> list[ArrayLoss]:
    """Expected against measured, for each figure that is known of the array and its members.

    `members` are probes of one or more single disks.
    """
    found = []
    for pattern in Pattern:
        measured = array.best(pattern)
        singles = [one for member in members if (one := member.best(pattern))]
        if measured is not None and members and len(singles) == len(members):
            one_disk = min(singles)
            promised = expected(level, disks, pattern, one_disk)
            found.append(ArrayLoss(pattern, one_disk, promised, measured))
    return found


def array_of(device: DeviceIdentity) -> tuple[RaidLevel, int] | None:
    """Level and number of disks of an array whose level is known and has formulas, else None."""
    if device.raid_level not in set(RaidLevel):
        return None
    level, disks = RaidLevel(device.raid_level), device.raid_disks
    return (level, disks) if disks >= _FORMULAS[level].least_disks else None
