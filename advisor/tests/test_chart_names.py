"""Names of devices and candidates are anybody's text; Plotly reads a part of HTML in them."""

from __future__ import annotations

import pytest

from advisor.charts.boards import board_figures
from advisor.charts.comparison import (
    BySetting,
    DeviceLine,
    OverSeconds,
    SecondsLine,
    by_setting_figure,
    device_style,
    over_seconds_figure,
)
from advisor.charts.text import plain, wrapped
from advisor.tests import factories
from advisor.tests.drawn import drawn
from tuning.results.study_result import StudyResult
from tuning.statistics.ranking import Metric
from tuning.statistics.ratios import Spread

NAME = "<a href='x'>R&D %{y}</a>"


def test_text_is_escaped_in_every_line() -> None:
    assert plain(NAME) == "&lt;a href='x'&gt;R&amp;D %&#123;y}&lt;/a&gt;"
    assert wrapped("one <two> three", 10) == "one &lt;two&gt;<br>three"


def test_devices_are_told_apart_without_their_colours() -> None:
    spread = {8: Spread(1.0, 1.0, 1.0, 1)}
    lines = [DeviceLine(f"{place}", device_style(place), False, spread) for place in range(7)]
    shown = drawn(by_setting_figure(BySetting("tpmP", "tpmP", lines, {}))).data
    assert len({(trace.line.dash, trace.marker.symbol) for trace in shown}) == 7
    seconds = [SecondsLine(line.name, line.style, [1.0, 2.0]) for line in lines]
    assert len({device_style(place) for place in range(7 * 7)}) == 7 * 7
    over_time = drawn(over_seconds_figure(OverSeconds("p95", "ms", seconds))).data
    assert len({trace.line.dash for trace in over_time}) == 7


def test_devices_in_the_charts_of_the_comparison() -> None:
    points = {8: Spread(100.0, 90.0, 110.0, 3)}
    by_setting = by_setting_figure(
        BySetting("tpmP", "tpmP", [DeviceLine(NAME, device_style(0), False, points)], {})
    )
    over_seconds = over_seconds_figure(
        OverSeconds("p95", "ms", [SecondsLine(NAME, device_style(0), [1.0, 2.0])])
    )
    for figure in (by_setting, over_seconds):
        [line] = drawn(figure).data
        assert line.name == plain(NAME)
        assert plain(NAME) in line.hovertemplate
        assert NAME not in line.hovertemplate


@pytest.mark.django_db
def test_candidates_in_the_charts_of_a_board() -> None:
    study = factories.measured_study(blocks=3)
    study.candidates.filter(name="whitepaper-a").update(name=NAME)
    factories.disturb(study.slots.filter(candidate__name=NAME)[0])
    [board] = StudyResult(study).boards
    figures = board_figures(board, StudyResult(study).history, Metric.TPMP)
    assert set(figures) == {"", "intervals", "pareto", "drift"}
    for key, figure in figures.items():
        text = figure.to_json()
        assert "&#123;y}" in text, key
        assert "<a href" not in text, key
