"""The charts: series from rows, figures from series, JSON from figures."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse

from advisor.charts.board import board_figures, every_run_figure
from advisor.charts.by_setting import BySetting, DeviceLine, by_setting_figure
from advisor.charts.figure import Figure, charts_json
from advisor.charts.over_months import DrawnPoint, months_figure
from advisor.charts.seconds import Line, seconds_figure
from advisor.charts.style import SERIES, plain, series_style, styles_of, wrapped
from advisor.charts.telemetry import sampled_figures
from advisor.tests import factories
from advisor.tests.drawn import as_plotly
from benchmarks.models import Sample
from tuning.models import Study
from tuning.results.build import build
from tuning.results.study_rows import StudyRows
from tuning.statistics.data import Metric
from tuning.statistics.ratios import Spread


def every_run(study: Study) -> Figure | None:
    document = build(StudyRows(study))
    return every_run_figure(document, document.boards[0])


@pytest.mark.django_db
def test_every_run_that_ended_well_is_a_dot_and_the_medians_are_bars() -> None:
    study = factories.measured_study(fails=["whitepaper-1"])
    made = as_plotly(every_run(study))
    bars, dots, p95_bars, p95_dots = made.data
    names = list(made.layout.xaxis.ticktext)
    failed = names.index("whitepaper-1")
    assert bars.y[failed] is p95_bars.y[failed] is None, "a place without a number"
    assert len(dots.x) == len(p95_dots.x) == 15
    assert "whitepaper-1" not in {name for name, *_ in dots.customdata}
    assert "tpmP" in made.layout.yaxis.title.text
    assert "ms" in made.layout.yaxis2.title.text
    baseline = names.index("server-default")
    levels = [shape.y0 for shape in made.layout.shapes]
    assert levels == [bars.y[baseline], p95_bars.y[baseline]]


@pytest.mark.django_db
def test_dots_of_one_candidate_stand_beside_each_other_in_the_order_of_blocks() -> None:
    made = as_plotly(every_run(factories.measured_study()))
    dots = made.data[1]
    of_one = sorted(
        (block, x)
        for x, (name, _, block) in zip(dots.x, dots.customdata, strict=True)
        if name == "whitepaper-3"
    )
    places = [x for _, x in of_one]
    assert len(set(places)) == 3
    assert places == sorted(places)
    assert max(places) - min(places) < 0.5


@pytest.mark.django_db
def test_before_the_first_run_there_is_no_chart_of_runs() -> None:
    assert every_run(factories.make_study()) is None


def test_telemetry_leaves_out_what_was_not_sampled() -> None:
    samples = [
        Sample(second=second, completed=None if second < 0 else 90, cpu_user_pct=50.0)
        for second in range(-2, 3)
    ]
    charts = {key: as_plotly(one) for key, one in sampled_figures(samples).items()}
    assert set(charts) == {"completed", "cpu"}
    [user] = charts["cpu"].data
    assert (user.name, user.stackgroup) == ("user", "all")
    assert charts["completed"].data[0].y == (None, None, 90, 90, 90)
    [band] = charts["cpu"].layout.shapes
    assert (band.x0, band.x1) == (-2, 0), "the warm-up is shaded"
    assert sampled_figures([]) == {}


def test_memory_is_drawn_in_megabytes() -> None:
    [chart] = sampled_figures([Sample(second=0, server_rss_bytes=612_000_000)]).values()
    chart = as_plotly(chart)
    assert chart.layout.yaxis.title.text == "MB"
    assert chart.data[0].y == (612.0,)
    assert not chart.layout.shapes, "there was no warm-up"


def test_one_study_is_no_history() -> None:
    points = [DrawnPoint(datetime(2026, 11, day, tzinfo=UTC), 1.0, ["a"], "/") for day in (1, 2)]
    assert months_figure([("a", points[:1]), ("b", points[1:])], "throughput", "day") is None
    figure = as_plotly(months_figure([("a", points), ("b", points[1:])], "throughput", "day"))
    assert [len(line.x) for line in figure.data] == [2, 1]


def a_figure() -> Figure:
    return seconds_figure([Line("a", "#112233", "dot", [0, 1], [1.0, 2.0])], "ms", "p95<br>in ms")


def test_payload_is_plain_json_that_any_plotly_reads() -> None:
    figures = {name: a_figure() for name in ("one", "two")}
    text = charts_json(figures).decode()
    assert "bdata" not in text
    charts = json.loads(text)["charts"]
    assert charts["one"]["data"][0]["type"] == "scatter"
    assert charts["one"] == charts["two"]
    assert json.loads(charts_json({})) == {"charts": {}}


def test_a_figure_says_times_as_json_can() -> None:
    figure = Figure()
    at = datetime(2026, 11, 22, 8, 30, tzinfo=UTC)
    figure.add_scatter(x=[at, None], y=[1, None], name=None)
    [trace] = json.loads(charts_json({"": figure}))["charts"][""]["data"]
    assert trace == {"type": "scatter", "x": ["2026-11-22T08:30:00Z", None], "y": [1, None]}


@pytest.mark.django_db
def test_the_study_answers_one_figure_per_board(admin_client: Client) -> None:
    workloads = [factories.make_workload(connections=number) for number in (8, 32)]
    study = factories.make_study(workloads=workloads, blocks=1)
    address = reverse("study-charts", args=[study.pk])
    assert admin_client.get(address).json() == {"charts": {}}
    run = factories.sure(factories.begin(study))
    factories.finish(run)
    keys = list(admin_client.get(address).json()["charts"])
    page = admin_client.get(reverse("study-detail", args=[study.pk])).content.decode()
    assert keys[0] == f"board-{run.device_id}-{run.workload_id}-D0"
    for key in keys:
        assert f'data-chart="{key}"' in page


def test_an_upright_title_keeps_its_distance_from_the_labels_of_its_axis() -> None:
    layout = json.loads(charts_json({"one": a_figure()}))["charts"]["one"]["layout"]
    assert layout["yaxis"]["title"]["standoff"] > 0
    assert "standoff" not in layout["xaxis"]["title"]


# --- names are anybody's text --------------------------------------------------------------------


NAME = "<a href='x'>R&D %{y}</a>"


def test_text_is_escaped_in_every_line() -> None:
    assert plain(NAME) == "&lt;a href='x'&gt;R&amp;D %&#123;y}&lt;/a&gt;"
    assert wrapped("one <two> three", 10) == "one &lt;two&gt;<br>three"


def test_series_are_told_apart_without_their_colours() -> None:
    assert len({(one.dash, one.symbol) for one in SERIES}) == len(SERIES)
    assert len({series_style(index) for index in range(48)}) == 48


def test_a_config_keeps_its_colour_beside_others() -> None:
    [alone] = styles_of(["mine.cnf"])
    assert styles_of(["mine.cnf", "advisor", "server-default"])[0] == alone
    many = styles_of([f"config-{number}" for number in range(40)])
    assert len({(one.colour, one.dash) for one in many}) == 40


def test_devices_in_the_charts_of_the_comparison() -> None:
    points = {8: Spread(100.0, 90.0, 110.0, 3), 16: Spread(200.0, 200.0, 200.0, 1)}
    device = DeviceLine(NAME, series_style(0), True, points)
    by_setting = as_plotly(by_setting_figure(BySetting("throughput", "throughput", [device], {})))
    line = Line(NAME, "#112233", "dot", [0, 1], [1.0, 2.0])
    over_seconds = as_plotly(seconds_figure([line], "ms", "p95"))
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
    figure = as_plotly(
        by_setting_figure(BySetting("throughput", "throughput", [device], published))
    )
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
        text = as_plotly(figure).to_json()
        assert "&#123;y}" in text, key
        assert "<a href" not in text, key
