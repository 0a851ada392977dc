"""An array's expected and measured figures, and the share that the software stack takes.

The formulas are those of Han, Zhu, Lee and Son, "An Empirical Performance Evaluation of Multiple
Intel Optane Solid-State Drives", Electronics 2021, 10, 1325, section 4.1; the paper does not
number them, so they are cited by the figure they stand beside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.probe.jobs import Pattern
from benchmarks.probe.result import ProbeResult
from benchmarks.storage.identity import DeviceIdentity

#: For each level, in md's words: the least number of disks, and how many times one disk's
#: performance an array of n disks has in reads and in writes. md builds RAID 10 from two
#: disks on; the paper's "stripe of mirrors" has four. A write smaller than a stripe reads data and
#: parity and writes both: 4 requests on RAID 5, 6 on RAID 6.
_FORMULAS: dict[str, tuple[int, Callable[[int], float], Callable[[int], float]]] = {
    "raid0": (2, lambda n: n, lambda n: n),  # beside Figure 1
    "raid1": (2, lambda n: n, lambda _: 1),  # Figure 2
    "raid5": (3, lambda n: n - 1, lambda n: (n - 1) / 4),  # Figure 4
    "raid6": (4, lambda n: n - 2, lambda n: (n - 2) / 6),  # Figure 5
    "raid10": (2, lambda n: n, lambda n: n / 2),  # Figure 3
}
#: The levels with parity.
WITH_PARITY = ("raid5", "raid6")


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
        """Return the part of the promise that did not arrive, 0..1.

        It is negative where more arrived, as with caches, or where RAID 5 and 6 write whole
        stripes and need not read before.
        """
        return 1.0 - self.measured / self.expected


def array_of(device: DeviceIdentity) -> tuple[str, int] | None:
    """Return level and number of disks of an array that there are formulas for, else None."""
    level, disks = device.raid_level, device.raid_disks
    return (level, disks) if level in _FORMULAS and disks >= _FORMULAS[level][0] else None


def expected(level: str, disks: int, pattern: Pattern, one: float) -> float:
    """Return the performance of the array, in the unit of `one`, a single disk's."""
    _, reads, writes = _FORMULAS[level]
    return one * (reads if pattern.reads else writes)(disks)


def compare(
    level: str, disks: int, members: Sequence[ProbeResult], array: ProbeResult
) -> list[ArrayLoss]:
    """Compare expected and measured, for each figure that is known of the array and its members.

    `members` are probes of one or more single disks.
    """
    found = []
    for pattern in Pattern:
        measured = array.best(pattern)
        singles = [one for member in members if (one := member.best(pattern))]
        if measured is not None and singles and len(singles) == len(members):
            one = min(singles)
            promised = expected(level, disks, pattern, one)
            found.append(ArrayLoss(pattern, one, promised, measured))
    return found
