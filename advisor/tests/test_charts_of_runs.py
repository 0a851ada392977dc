"""The charts of single runs: response times, seconds over each other, prices, thinned series."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from advisor.charts.axes import MAX_POINTS, kept_places, log_ticks
from advisor.charts.latency import latency_figures
from advisor.charts.seconds import Line, seconds_figure
from advisor.charts.style import series_style
from advisor.tests import factories
from advisor.tests.drawn import as_plotly
from benchmarks.drivers.response_times import LatencyHistogram
from benchmarks.models import Run, Sample
from tuning.models import Study

VALUES = st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), max_size=300)


@given(VALUES, st.integers(4, 40))
def test_a_thinned_series_keeps_its_ends_extremes_and_gaps(
    values: list[float | None], most: int
) -> None:
    kept = kept_places(values, most)
    assert kept == sorted(set(kept))
    assert len(kept) <= max(most, 0)
    known = [value for value in values if value is not None]
    if known:
        shown = [values[at] for at in kept]
        assert min(known) in shown
        assert max(known) in shown
    if values:
        assert (kept[0], kept[-1]) == (0, len(values) - 1)


def test_a_stall_of_one_second_in_a_day_is_drawn() -> None:
    values: list[float | None] = [100.0] * 86_400
    values[50_000] = 0.0
    lines = [Line(name, "#112233", "dot", range(86_400), values) for name in ("user", "sys")]
    for stacked in (False, True):
        figure = as_plotly(seconds_figure(lines, "%", "CPU", stacked=stacked))
        assert all(len(line.x) <= MAX_POINTS and 50_000 in line.x for line in figure.data)
        assert figure.data[0].x[-1] == 86_399


def test_an_axis_is_logarithmic_only_where_devices_lie_far_apart() -> None:
    slow, near, far = (
        Line(str(level), "#112233", "dot", range(3), [level, None, 0.0])
        for level in (100.0, 900.0, 9000.0)
    )
    flat = as_plotly(seconds_figure([slow, near], "ms", "p95", may_be_log=True))
    assert flat.layout.yaxis.type is None
    # A second without transactions is typical of neither.
    lines = [replace(one, values=[one.values[0]] * 3) for one in (slow, far)]
    apart = seconds_figure(lines, "ms", "p95", may_be_log=True)
    assert as_plotly(apart).layout.yaxis.type == "log"
    assert as_plotly(seconds_figure(lines, "ms", "p95")).layout.yaxis.type is None


def test_a_histogram_is_of_shares_and_a_distribution_ends_at_all() -> None:
    known = {1: LatencyHistogram(16, (1, 0, 2)), 2: LatencyHistogram(16, (0, 0, 1))}
    styles = {"a": series_style(0), "b": series_style(1)}
    drawn = latency_figures({"a": [1, 2], "b": [3]}, known, styles)
    figures = {key: as_plotly(one) for key, one in drawn.items()}
    [steps] = figures["latency"].data
    assert list(steps.x) == [2.0, 2.0885, 2.181, 2.2776]
    # A quarter within 2 to 2.0885 ms: 25 % in 4.4 % of the time, as shares of 10 %.
    assert list(steps.y) == pytest.approx([56.45, 0.0, 169.35, 0.0], rel=1e-3)
    assert "2 runs, 4 transactions" in steps.hovertemplate
    [line] = figures["cdf"].data
    assert list(line.y) == [0.0, 25.0, 25.0, 100.0]
    assert "2" in figures["latency"].layout.xaxis.ticktext


def test_ticks_of_a_logarithmic_axis_are_whole_numbers() -> None:
    assert log_ticks([0, 4.2, 180])["ticktext"] == (
        ["1", "2", "5", "10", "20", "50", "100", "200", "500", "1,000", "2,000", "5,000"]
    )
    assert log_ticks([0.3, 1.2])["ticktext"][:8] == (
        ["0.1", "0.15", "0.2", "0.3", "0.5", "0.7", "1", "1.5"]
    )
    assert log_ticks([1, 1e6])["ticktext"] == [
        "1",
        "10",
        "100",
        "1,000",
        "10,000",
        "100,000",
        "1,000,000",
    ]
    assert log_ticks([0.0]) == {}


def study_with_runs() -> Study:
    return factories.measured_study(blocks=2, samples=True)


@pytest.mark.django_db
def test_the_charts_of_a_boards_runs_are_read_when_they_are_asked_for(
    admin_client: Client,
) -> None:
    study = study_with_runs()
    page = admin_client.get(reverse("study-detail", args=[study.pk])).content.decode()
    address = reverse("board-charts", args=[study.pk])
    slot = study.slots.earliest("order")
    key = f"board-{slot.device_id}-{slot.workload_id}-D0"
    charts = admin_client.get(address, {"board": key}).json()["charts"]
    names = ("latency", "cdf", "over-time", "path", "bytes")
    assert set(charts) == {f"{key}-{name}" for name in names}
    for name in charts:
        assert f'data-chart="{name}"' in page
    over_time = charts[f"{key}-over-time"]
    assert len(over_time["data"]) == 5
    assert len({trace["line"]["dash"] for trace in over_time["data"]}) == 5
    assert over_time["layout"]["yaxis"]["title"]["text"] == "transactions per second"
    path = charts[f"{key}-path"]
    assert [trace["name"] for trace in path["data"]] == ["user", "system"]
    # Every axis of every chart says what it is and in which unit.
    for chart in charts.values():
        axes = [axis for name, axis in chart["layout"].items() if "axis" in name]
        assert all(axis.get("title", {}).get("text") or "ticktext" in axis for axis in axes)
    assert admin_client.get(address, {"board": "board-1-1-D9"}).status_code == 404


@pytest.mark.django_db
def test_runs_without_response_times_or_seconds_leave_their_charts_out(
    admin_client: Client,
) -> None:
    study = study_with_runs()
    Run.objects.update(latency=None, host_path_length=None, bytes_written_per_transaction=None)
    Sample.objects.all().delete()
    slot = study.slots.earliest("order")
    key = f"board-{slot.device_id}-{slot.workload_id}-D0"
    address = reverse("board-charts", args=[study.pk])
    assert admin_client.get(address, {"board": key}).json()["charts"] == {}


@pytest.mark.django_db
def test_of_a_study_in_which_no_run_succeeded_there_are_no_such_charts(
    admin_client: Client,
) -> None:
    study = factories.make_study(blocks=1)
    slot = factories.sure(study.slots.first())
    board = f"board-{slot.run.device_id}-{slot.run.workload_id}-D0"
    url = reverse("board-charts", args=[study.pk])
    assert admin_client.get(url, {"board": board}).json()["charts"] == {}


@pytest.mark.django_db
def test_all_seconds_of_a_run_are_a_file(admin_client: Client) -> None:
    run = study_with_runs().slots.earliest("order").run
    answer = admin_client.get(reverse("run-seconds", args=[run.pk]))
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    lines = list(csv.DictReader(answer.content.decode().splitlines()))
    assert len(lines) == run.workload.warmup_s + run.workload.measure_s
    assert int(lines[0]["second"]) == -run.workload.warmup_s
    assert float(lines[-1]["completed"]) > 0
    assert {"cpu_user_pct", "p95_ms", "data_write_mb_s"} <= set(lines[0])
