"""The published figures are those of the sources: what a paper computes from them agrees."""

from __future__ import annotations

import pytest

from tuning.published.loader import whitepaper
from tuning.statistics.ratios import ladder, ratio, spread

DEVICES = ["SAS-HDD", "SATA-SSD", "SAS-SSD", "NVMe"]
# The ratio columns as Table 1 prints them: HDD->SATA, SATA->SAS, SAS->NVMe, SATA->NVMe, HDD->NVMe.
PRINTED = {
    50: [32.17, 3.07, 1.51, 4.62, 148.73],
    100: [73.18, 1.71, 1.44, 2.46, 180.35],
    150: [53.34, 1.66, 1.43, 2.39, 127.32],
    200: [None, 1.68, 1.42, 2.39, None],
}


@pytest.mark.parametrize(("connections", "printed"), PRINTED.items())
def test_the_ratios_of_table_1_follow_from_its_figures(
    connections: int, printed: list[float | None]
) -> None:
    figures = whitepaper().throughput
    assert list(figures) == DEVICES
    for (slower, faster), expected in zip(ladder(4), printed, strict=True):
        found = ratio(
            *(spread([figures[DEVICES[place]][connections]]) for place in (slower, faster))
        )
        assert (found is None) == (expected is None)
        if found and expected:
            # With 150 connections HDD->SATA is 53.334, printed as 53.34: its figures were rounded.
            assert found.value == pytest.approx(expected, abs=0.0065)


def test_path_lengths_agree_with_what_the_paper_says_of_them() -> None:
    """NVMe's are 50 to 60 % shorter than HDD's; two digits of a percentage allow a bit more."""
    found = whitepaper().path_lengths
    missing = [(d, c) for d, line in found.items() for c, v in line.items() if v is None]
    assert missing == [("SAS-HDD", 200)], "the run that could not be completed"
    assert found["NVMe"][100] == pytest.approx(34.8e6, rel=0.01)
    for connections in (50, 100, 150):
        nvme, hdd = found["NVMe"][connections], found["SAS-HDD"][connections]
        assert nvme is not None
        assert hdd is not None
        assert 0.3 < nvme / hdd < 0.5


def test_each_figure_that_is_a_picture_has_a_statement() -> None:
    assert {one.figure for one in whitepaper().statements} == set(range(11, 20))


def test_the_ladder_is_that_of_table_1() -> None:
    assert ladder(0) == ladder(1) == []
    assert ladder(2) == [(0, 1)]
    assert ladder(3) == [(0, 1), (1, 2), (0, 2)]
    assert ladder(4) == [(0, 1), (1, 2), (2, 3), (1, 3), (0, 3)]


def test_a_ratio_is_clear_when_no_runs_overlap() -> None:
    slow, fast = spread([100, 110, 90, None]), spread([300, 310])
    found = ratio(slow, fast)
    assert slow is not None
    assert (slow.median, slow.low, slow.high, slow.runs) == (100, 90, 110, 3)
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((3.05, 300 / 110, 310 / 90))
    assert found.is_clear
    between = ratio(slow, spread([105.0]))
    assert between is not None
    assert not between.is_clear
    assert ratio(slow, None) is None
    assert ratio(spread([0.0]), fast) is None
    assert spread([None]) is None
