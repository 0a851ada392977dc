"""The newest figures against those before."""

from __future__ import annotations

import pytest

from tuning.statistics.recent import NEWEST, compare_recent


def test_a_fall_below_all_that_was_before_is_seen() -> None:
    found = compare_recent([100, 102, 98, 101, 99, 100, *[88.0] * NEWEST])
    assert found is not None
    assert found.before == 6
    assert [found.ratio, found.low, found.high] == pytest.approx([0.88, 0.98, 1.02])
    assert found.is_outside


def test_scatter_and_one_stray_figure_are_no_change() -> None:
    found = compare_recent([100, 104, 97, 101, 99, 100, 98, 50, 103, 101])
    assert found is not None
    assert not found.is_outside


def test_few_figures_are_not_compared() -> None:
    assert compare_recent([100.0] * (2 * NEWEST - 1)) is None
    assert compare_recent([]) is None
