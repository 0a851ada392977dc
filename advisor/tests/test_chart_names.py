"""Names of devices and candidates are anybody's text; Plotly reads a part of HTML in them."""

from __future__ import annotations

import pytest

from advisor.charts.board import board_figures
from advisor.charts.by_setting import BySetting, DeviceLine, by_setting_figure
from advisor.charts.seconds import Line, seconds_figure
from advisor.charts.style import SERIES, plain, series_style, wrapped
from advisor.tests import factories
from tuning.results.build import build
from tuning.results.study_rows import StudyRows
from tuning.statistics.data import Metric
from tuning.statistics.ratios import Spread

NAME = "<a href='x'>R&D %{y}</a>"


def test_text_is_escaped_in_every_line() -> None:
    assert plain(NAME) == "&lt;a href='x'&gt;R&amp;D %&#123;y}&lt;/a&gt;"
    assert wrapped("one <two> three", 10) == "one &lt;two&gt;<br>three"


def test_series_are_told_apart_without_their_colours() -> None:
    assert len({(one.dash, one.symbol) for one in SERIES}) == len(SERIES)
    assert len({series_style(index) for index in range(48)}) == 48


def test_devices_in_the_charts_of_the_comparison() -> None:
    points = {8: Spread(100.0, 90.0, 110.0, 3), 16: Spread(200.0, 200.0, 200.0, 1)}
    device = DeviceLine(NAME, series_style(0), True, points)
    by_setting = by_setting_figure(BySetting("throughput", "throughput", [device], {}))
    over_seconds = seconds_figure([Line(NAME, "#112233", "dot", [0, 1], [1.0, 2.0])], "ms", "p95")
    assert by_setting is not None
    for figure in (by_setting, over_seconds):
        [line] = figure.data
        assert line.name == plain(NAME)
        assert plain(NAME) in line.hovertemplate
        assert NAME not in line.hovertemplate
    [line] = by_setting.data
    assert (line.error_y.array, line.error_y.arrayminus) == ((10.0, 0.0), (10.0, 0.0))
    assert line.marker.symbol == "circle-open", "emulated"


def test_a_device_with_one_setting_is_no_line_unless_published_figures_stand_beside_it() -> None:
    device = DeviceLine("a", series_style(0), False, {8: Spread(100.0, 90.0, 110.0, 3)})
    assert by_setting_figure(BySetting("throughput", "throughput", [device], {})) is None
    published = {": disk": {8: 50.0, 16: 60.0}}
    figure = by_setting_figure(BySetting("throughput", "throughput", [device], published))
    assert figure is not None
    assert [line.name for line in figure.data] == ["published, whitepaper 2016: disk", "a"]


@pytest.mark.django_db
def test_candidates_in_the_charts_of_a_board() -> None:
    study = factories.measured_study(blocks=3)
    study.candidates.filter(name="whitepaper-a").update(name=NAME)
    factories.disturb(study.slots.filter(candidate__name=NAME)[0])
    document = build(StudyRows(study))
    figures = board_figures(document, document.boards[0], Metric.THROUGHPUT)
    assert set(figures) == {"", "intervals", "pareto", "drift"}
    for key, figure in figures.items():
        text = figure.to_json()
        assert "&#123;y}" in text, key
        assert "<a href" not in text, key
