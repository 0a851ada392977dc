"""The charts: series from rows, figures from series, JSON from figures."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from math import inf, nan

import numpy as np
import plotly.graph_objects as go
import pytest
from django.test import Client
from django.urls import reverse

from advisor.charts.candidates import (
    CandidateMedian,
    CandidatesSeries,
    RunPoint,
    candidates_figure,
    candidates_series,
)
from advisor.charts.figure import Figure
from advisor.charts.payload import charts_json
from advisor.charts.telemetry import Line, TelemetrySeries, telemetry_figure, telemetry_series
from advisor.tests import factories
from advisor.tests.drawn import drawn
from benchmarks.models import Sample
from tuning.results.study_result import StudyResult


@pytest.mark.django_db
def test_candidates_series_has_medians_and_every_run_that_ended_well() -> None:
    study = factories.measured_study(fails=["whitepaper-1"])
    [board] = StudyResult(study).boards
    series = candidates_series(board)
    assert [median.candidate for median in series.medians] == [
        row.candidate.name for row in board.rows
    ]
    failed = next(m for m in series.medians if m.candidate == "whitepaper-1")
    assert failed.tpmP is None, "a failed candidate keeps its place, without a number"
    assert len(series.runs) == 15
    assert "whitepaper-1" not in {point.candidate for point in series.runs}
    assert [m.candidate for m in series.medians if m.is_baseline] == ["server-default"]


@pytest.mark.django_db
def test_candidates_series_before_the_first_run_has_no_dots() -> None:
    [board] = StudyResult(factories.make_study()).boards
    assert candidates_series(board).runs == []


SERIES = CandidatesSeries(
    medians=[
        CandidateMedian("b", False, 200.0, 10.0),
        CandidateMedian("a", True, 100.0, 20.0),
        CandidateMedian("c", False, None, None),
    ],
    runs=[
        RunPoint("a", 1, 90.0, 22.0, "/runs/1/"),
        RunPoint("a", 3, 110.0, 18.0, "/runs/3/"),
        RunPoint("b", 2, 200.0, 10.0, "/runs/2/"),
    ],
)


def test_candidates_figure_draws_bars_and_dots_with_units() -> None:
    figure = drawn(candidates_figure(SERIES))
    bars, dots, p95_bars, p95_dots = figure.data
    assert list(bars.y) == [200.0, 100.0, None]
    assert list(dots.y) == [90.0, 110.0, 200.0]
    assert list(p95_bars.y) == [10.0, 20.0, None]
    assert list(p95_dots.y) == [22.0, 18.0, 10.0]
    assert "New-Orders per minute" in figure.layout.yaxis.title.text
    assert "ms" in figure.layout.yaxis2.title.text
    assert list(figure.layout.xaxis.ticktext) == ["b", "a", "c"]


def test_dots_of_one_candidate_stand_beside_each_other_in_the_order_of_blocks() -> None:
    first, third, only = drawn(candidates_figure(SERIES)).data[1].x
    assert 0.5 < first < 1 < third < 1.5
    assert only == 0


def test_candidates_figure_marks_the_baseline() -> None:
    levels = [shape.y0 for shape in drawn(candidates_figure(SERIES)).layout.shapes]
    assert levels == [100.0, 20.0]


def test_telemetry_leaves_out_what_was_not_sampled() -> None:
    samples = [
        Sample(second=second, new_orders=None if second < 0 else 90, cpu_user_pct=50.0)
        for second in range(-2, 3)
    ]
    charts = telemetry_series(samples)
    assert set(charts) == {"new_orders", "cpu"}
    assert [line.name for line in charts["cpu"].lines] == ["user"]
    assert charts["new_orders"].lines[0].values == [None, None, 90, 90, 90]
    assert charts["cpu"].warmup == (-2, 0)
    assert telemetry_series([]) == {}


def test_memory_is_drawn_in_megabytes() -> None:
    [chart] = telemetry_series([Sample(second=0, server_rss_bytes=612_000_000)]).values()
    assert chart.unit == "MB"
    assert chart.lines[0].values == [612.0]


def test_telemetry_figure_shades_the_warm_up() -> None:
    line = Line("user", "#112233", [1.0, 2.0, 3.0])
    warm = TelemetrySeries("CPU", "%", [-1, 0, 1], [line], stacked=True)
    with_warmup = drawn(telemetry_figure(warm))
    [band] = with_warmup.layout.shapes
    assert (band.x0, band.x1) == (-1, 0)
    assert with_warmup.layout.yaxis.title.text == "%"
    assert with_warmup.data[0].stackgroup == "all"
    cold = Line("user", "#112233", [2.0, 3.0])
    without = drawn(telemetry_figure(TelemetrySeries("CPU", "%", [0, 1], [cold])))
    assert not without.layout.shapes


def test_payload_is_plain_json_that_any_plotly_reads() -> None:
    figures = {name: candidates_figure(SERIES) for name in ("one", "two")}
    text = charts_json(figures).decode()
    assert "bdata" not in text
    charts = json.loads(text)["charts"]
    assert charts["one"]["data"][0]["type"] == "bar"
    assert charts["one"] == charts["two"]
    assert json.loads(charts_json({})) == {"charts": {}}


def test_a_figure_is_what_plotly_makes_of_the_same_words() -> None:
    figure, plotly = Figure(), go.Figure()
    for one in (figure, plotly):
        one.add_scatter(x=[1, 2], y=[3, None], line_width=2, line={"color": "red"}, name=None)
        one.add_bar(x=[1], y=[2], xaxis="x2", error_y={"type": "data", "array": [1]})
        one.add_vline(x=1, line={"dash": "dot"})
        one.add_hline(y=2, line_width=1)
        one.add_vrect(x0=0, x1=1, line_width=0, layer="below", name="band")
        one.add_shape(type="line", x0=0, x1=1, y0=0, y1=1, xref="paper")
        one.add_annotation(text="here", x=1, y=1, font_size=11, font={"color": "red"})
        one.update_layout(xaxis2={"overlaying": "x"}, legend={"orientation": "h"})
        one.update_layout(legend={"y": 1}, yaxis_title_text="tpmP")
        one.update_xaxes(title_text="seconds", tickvals=None)
        one.update_yaxes(title_standoff=10)
    known = plotly.to_plotly_json()
    known["layout"].pop("template", None)
    assert figure.to_dict() == known


def test_a_figure_says_times_and_numbers_as_json_can() -> None:
    figure = Figure()
    at = datetime(2026, 11, 22, 8, 30, tzinfo=UTC)
    figure.add_scatter(x=[at, None], y=[nan, -inf], customdata=[("a", inf), {"b": nan}])
    figure.add_scatter(x=[np.int64(3)], y=np.array([1.5, 2.5]))
    first, second = json.loads(figure.to_json())["data"]
    assert first["x"] == ["2026-11-22T08:30:00+00:00", None]
    assert first["y"] == [None, None]
    assert first["customdata"] == [["a", None], {"b": None}]
    assert (second["x"], second["y"]) == ([3], [1.5, 2.5])


def test_tests_notice_what_plotly_does_not_know() -> None:
    figure = Figure()
    figure.add_scatter(x=[1], y=[2], colour="red")
    with pytest.raises(ValueError, match="colour"):
        charts_json({"": figure})


@pytest.mark.django_db
def test_the_study_answers_one_figure_per_board(admin_client: Client) -> None:
    workloads = [factories.make_workload(connections=number) for number in (8, 32)]
    study = factories.make_study(workloads=workloads, blocks=1)
    address = reverse("study-charts", args=[study.pk])
    assert admin_client.get(address).json() == {"charts": {}}
    run = factories.begin(study)
    assert run is not None
    factories.finish(run)
    keys = list(admin_client.get(address).json()["charts"])
    page = admin_client.get(reverse("study-detail", args=[study.pk])).content.decode()
    assert keys[0] == f"board-{run.device_id}-{run.workload_id}-D0"
    for key in keys:
        assert f'data-chart="{key}"' in page


def test_an_upright_title_keeps_its_distance_from_the_labels_of_its_axis() -> None:
    charts = json.loads(charts_json({"candidates": candidates_figure(SERIES)}))["charts"]
    layout = charts["candidates"]["layout"]
    for axis in ("yaxis", "yaxis2"):
        assert "<br>" in layout[axis]["title"]["text"]
        assert layout[axis]["title"]["standoff"] > 0
    assert "title" not in layout["xaxis"] or "standoff" not in layout["xaxis"]["title"]
