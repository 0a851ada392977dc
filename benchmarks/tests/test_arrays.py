"""The formulas for arrays give what the paper they come from publishes."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from benchmarks.probe.arrays import ArrayLoss, array_of, compare, expected
from benchmarks.probe.jobs import Pattern
from benchmarks.probe.result import ProbeResult
from benchmarks.storage.identify import identify_device
from benchmarks.tests.recorded_hosts import unpack

# Electronics 2021, Table 1: one Optane SSD 900P, direct I/O, MB/s.
OPTANE = {Pattern.SEQUENTIAL_READ: 2553.0, Pattern.SEQUENTIAL_WRITE: 2445.0}
READ, WRITE = OPTANE


@pytest.mark.parametrize(
    ("level", "read", "write"),
    [
        ("raid0", 8, 8),
        ("raid1", 8, 1),
        ("raid5", 7, 7 / 4),
        ("raid6", 6, 6 / 6),
        ("raid10", 8, 4),
    ],
)
def test_eight_disks_by_the_formulas_of_section_4_1(level: str, read: float, write: float) -> None:
    assert expected(level, 8, Pattern.RANDOM_READ, 1) == read
    assert expected(level, 8, Pattern.RANDOM_WRITE, 1) == pytest.approx(write)


@pytest.mark.parametrize(
    ("pattern", "level", "disks", "measured_mb_s", "low", "high"),
    [
        # Figure 1c: "close to the expected performance of RAID 0"
        (READ, "raid0", 2, 5100, -0.01, 0.02),
        (READ, "raid0", 8, 16500, 0.18, 0.20),
        # Figure 2c: "did not reach the expected read performance of RAID 1"
        (READ, "raid1", 8, 15200, 0.25, 0.26),
        (READ, "raid10", 8, 13900, 0.31, 0.33),  # Figure 3c
        (READ, "raid6", 8, 14700, 0.03, 0.05),  # Figure 5c
        (WRITE, "raid0", 2, 4500, 0.07, 0.09),  # Figure 1d
        (WRITE, "raid1", 8, 1900, 0.21, 0.23),  # Figure 2d
        (WRITE, "raid10", 8, 7900, 0.18, 0.20),  # Figure 3d
        (WRITE, "raid5", 3, 329, 0.72, 0.74),  # Figure 4d
        # Figure 4d, eight devices; abstract: "reduced the performance by up to [...] 91%"
        (WRITE, "raid5", 8, 384, 0.905, 0.915),
        # Figure 5d. The abstract's 92 % (as its 75, 52 and 76 % for RAID 0, 1 and 10) is read
        # off a chart and does not follow from the figures in the text: 274 MB/s are 89 % less.
        (WRITE, "raid6", 8, 274, 0.88, 0.90),
    ],
)
def test_published_figures_lose_what_the_paper_says(
    pattern: Pattern, level: str, disks: int, measured_mb_s: float, low: float, high: float
) -> None:
    one = OPTANE[pattern]
    promised = expected(level, disks, pattern, one)
    assert low < ArrayLoss(pattern, one, promised, measured_mb_s).lost_share < high


class Probed:
    """A probe's best figures, in the order of the patterns."""

    def __init__(self, *best: float | None) -> None:
        self._best = dict(zip(Pattern, best, strict=True))

    def best(self, pattern: Pattern) -> float | None:
        return self._best[pattern]


def test_a_comparison_takes_the_slowest_member_and_leaves_out_what_is_unknown() -> None:
    fast, slow, array = (
        cast(ProbeResult, Probed(*best))
        for best in (
            (10_000, 8_000, 500, 400),
            (9_000, 8_000, None, 400),
            (27_000, 4_000, 500, None),
        )
    )
    found = compare("raid5", 5, [fast, slow], array)
    assert [(one.pattern, one.one_disk, one.expected, one.measured) for one in found] == [
        (Pattern.RANDOM_READ, 9_000, 36_000, 27_000),
        (Pattern.RANDOM_WRITE, 8_000, 8_000, 4_000),
    ]
    assert [one.lost_share for one in found] == pytest.approx([0.25, 0.5])
    assert compare("raid5", 5, [], array) == []


@pytest.mark.parametrize(
    ("host", "array"),
    [
        ("md-raid10", ("raid10", 4)),
        ("md-raid5", ("raid5", 3)),
        ("hardware-raid", None),
        ("lvm-raid", None),
        ("nvme", None),
    ],
)
def test_level_and_disks_come_from_the_device(
    tmp_path: Path, host: str, array: tuple[str, int] | None
) -> None:
    device = identify_device(Path("/var/lib/mysql"), root=unpack(host, tmp_path))
    assert array_of(device) == array
