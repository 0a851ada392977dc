"""An array's expected and measured figures, and the share that the software stack takes.

The formulas are those of Han, Zhu, Lee and Son, "An Empirical Performance Evaluation of Multiple
Intel Optane Solid-State Drives", Electronics 2021, 10, 1325, section 4.1; the paper does not
number them, so they are cited by the figure they stand beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
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


#: Fewer disks than this make no such array. (md builds RAID 10 from two disks on; the paper's
#: "stripe of mirrors" has four.)
_MIN_DISKS = {
    RaidLevel.RAID0: 2,
    RaidLevel.RAID1: 2,
    RaidLevel.RAID5: 3,
    RaidLevel.RAID6: 4,
    RaidLevel.RAID10: 2,
}


@dataclass(frozen=True)
class Figures:
    """Figures of one disk or one array; None where unknown. MB are 10^6 bytes."""

    random_read_iops: float | None = None
    random_write_iops: float | None = None
    sequential_read_mb_s: float | None = None
    sequential_write_mb_s: float | None = None


@dataclass(frozen=True)
class ArrayLoss:
    """One of `Figures` for an array: what its disks promise and what was measured.

    `lost_share` is the part of the promise that did not arrive, 0..1: what the software stack
    takes. Negative where more arrived, as with caches, or where RAID 5 and 6 write whole stripes
    and need not read before.
    """

    figure: str
    expected: float
    measured: float
    lost_share: float


def expected_read(level: RaidLevel, disks: int, one: float) -> float:
    """Read performance of the array, in the unit of `one`, a single disk's.

    RAID 0 (beside Figure 1), 1 (Figure 2) and 10 (Figure 3): N times one disk, every copy can be
    read. RAID 5 (Figure 4): N - 1 times; RAID 6 (Figure 5): N - 2 times.
    """
    _check(level, disks)
    parity = {RaidLevel.RAID5: 1, RaidLevel.RAID6: 2}.get(level, 0)
    return one * (disks - parity)


def expected_write(level: RaidLevel, disks: int, one: float) -> float:
    """Write performance of the array, in the unit of `one`, a single disk's.

    RAID 0 (beside Figure 1): N times one disk. RAID 1 (Figure 2): once, all disks write the same.
    RAID 10 (Figure 3): N / 2 times. RAID 5 (Figure 4): (N - 1) / 4 times, for a write smaller
    than a stripe reads data and parity and writes both. RAID 6 (Figure 5): (N - 2) / 6 times,
    with a second parity to read and to write.
    """
    requests = {RaidLevel.RAID5: 4, RaidLevel.RAID6: 6}.get(level, 1)
    return one * _data_disks(level, disks) / requests


def lost_share(expected: float, measured: float) -> float:
    """The part of the expected performance that did not arrive; see `ArrayLoss`."""
    return 1.0 - measured / expected


def compare(
    level: RaidLevel, disks: int, members: Sequence[Figures], array: Figures
) -> list[ArrayLoss]:
    """Expected against measured, for each figure that is known of the array and its members.

    `members` are one or more single disks; where they differ the slowest sets the pace, for a
    stripe waits for it. ValueError for an array that cannot be.
    """
    _check(level, disks)
    found = []
    for field in fields(Figures):
        name = field.name
        measured = getattr(array, name)
        singles = [getattr(member, name) for member in members]
        if measured is None or not singles or None in singles:
            continue
        formula = expected_read if "read" in name else expected_write
        expected = formula(level, disks, min(singles))
        if expected > 0:
            found.append(ArrayLoss(name, expected, measured, lost_share(expected, measured)))
    return found


def figures_of(probe: ProbeResult) -> Figures:
    """The best of each that a probe measured, direct where that was possible."""
    return Figures(
        random_read_iops=probe.best_iops(Pattern.RANDOM_READ),
        random_write_iops=probe.best_iops(Pattern.RANDOM_WRITE),
        sequential_read_mb_s=probe.best_mb_s(Pattern.SEQUENTIAL_READ),
        sequential_write_mb_s=probe.best_mb_s(Pattern.SEQUENTIAL_WRITE),
    )


def array_of(device: DeviceIdentity) -> tuple[RaidLevel, int] | None:
    """Level and number of disks of an array whose level is known and has formulas, else None."""
    if device.raid_level not in set(RaidLevel):
        return None
    level = RaidLevel(device.raid_level)
    return (level, device.raid_disks) if device.raid_disks >= _MIN_DISKS[level] else None


def _data_disks(level: RaidLevel, disks: int) -> float:
    """How many disks' worth of different data the array holds."""
    _check(level, disks)
    if level is RaidLevel.RAID1:
        return 1
    if level is RaidLevel.RAID10:
        return disks / 2
    return disks - {RaidLevel.RAID5: 1, RaidLevel.RAID6: 2}.get(level, 0)


def _check(level: RaidLevel, disks: int) -> None:
    if disks < _MIN_DISKS[level]:
        raise ValueError(f"{level} takes at least {_MIN_DISKS[level]} disks, not {disks}")
