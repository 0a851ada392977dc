"""Boards of a study: intervals, ties, noise, the race, confirmation, the three rankings."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from advisor.charts.board import board_figures
from advisor.charts.pareto import MAX_NAMED, Point, drawn_points
from advisor.pages.study.page import ROWS
from advisor.tests import factories
from advisor.tests.drawn import as_plotly, words
from benchmarks.models import Run, RunState
from tuning.models import Study, StudyState
from tuning.results.boards import Board, boards_of
from tuning.results.build import build
from tuning.results.study_rows import StudyRows
from tuning.statistics.data import Metric

pytestmark = pytest.mark.django_db


def shown(client: Client, study: Study, **query: Any) -> str:
    answer = client.get(reverse("study-detail", args=[study.pk]), query)
    return words(answer.content.decode())


def board_of(study: Study) -> Board:
    [board] = boards_of(StudyRows(study))
    return board


def test_a_board_says_verdict_noise_ties_race_and_confirmation(admin_client: Client) -> None:
    study = factories.raced_study()
    board = board_of(study)
    text = shown(admin_client, study)
    assert board.for_advice.verdict.sentence in text
    for said in (
        "Noise floor 2.7 %",
        "left the race after block 3",
        "Confirmed: whitepaper-3 +",
    ):
        assert said in text
    ranks = [row.rank for row in board.judgement.ranked]
    assert ranks[:2] == [1, 1], "the made-up figures of the best two lie within the noise"
    assert "measurably better" in text
    assert "+33.8 to +44.3 %" in text, "the interval of whitepaper-3"
    assert text.count("tied with whitepaper-a on the Pareto front") == 1


def order(client: Client, study: Study, **query: Any) -> list[str]:
    answer = client.get(reverse("study-detail", args=[study.pk]), query).content.decode()
    table = answer[answer.index('<table class="ranking"') :].partition("</table>")[0]
    return re.findall(r'<a href="#candidate-\d+">([\w-]+)</a>', table)


def test_each_of_the_three_rankings_has_its_own_order_and_intervals(admin_client: Client) -> None:
    study = factories.raced_study()
    board = board_of(study)
    for metric in Metric:
        found = order(admin_client, study, by=metric.value)
        assert found == [line.name for line in board.judgements[metric].ranked]
    text = shown(admin_client, study, by="p95_ms")
    assert "By p95: " in text
    assert "95th-percentile response time relative to the baseline" in text
    assert order(admin_client, study, by="nonsense") == order(admin_client, study)


def test_the_filter_keeps_what_answers_fast_enough_highest_tpmp_first(
    admin_client: Client,
) -> None:
    study = factories.raced_study()
    assert set(order(admin_client, study, p95="100")) == {"whitepaper-3", "whitepaper-a"}
    assert "Highest throughput with p95 ≤ 100 ms: whitepaper-a" in shown(
        admin_client, study, p95="100"
    )
    nobody = shown(admin_client, study, p95="5")
    assert "No candidate has p95 ≤ 5 ms; the lowest is whitepaper-a" in nobody
    wrong = shown(admin_client, study, p95="fast")
    assert "Enter milliseconds above zero" in wrong


def test_a_live_page_keeps_its_choice_while_it_polls(admin_client: Client) -> None:
    study = factories.raced_study(most=8)
    page = reverse("study-detail", args=[study.pk])
    text = admin_client.get(page, {"by": "p95_ms", "p95": "100"}).content.decode()
    [address] = re.findall(r'hx-get="([^"]+)"', text)
    assert html.unescape(address).endswith("&by=p95_ms&p95=100")
    answer = admin_client.get(re.sub("(revision|mark)=", r"\1=x", html.unescape(address)))
    assert "by p95" in words(answer.content.decode())


def _disturbed(run: Run) -> None:
    factories.end_well(run)
    run.state, run.disturbances = RunState.DISTURBED, [factories.DISTURBED]


def test_disturbed_and_warming_runs_are_counted_and_what_was_measured_again_is_linked(
    admin_client: Client,
) -> None:
    study = factories.raced_study()
    slot = study.slots.filter(candidate__name="whitepaper-3")[1]
    void = factories.disturb(slot)
    Run.objects.filter(pk=slot.run_id).update(still_warming=True, trend_pct=31.2)
    text = shown(admin_client, study)
    assert "1 run disturbed" in text
    assert "1 run still warming up" in text
    assert f"measured again as run {slot.run_id}" in text
    assert "still warming up (+31 %)" in text
    assert factories.DISTURBED["text"] in text
    page = admin_client.get(reverse("run-detail", args=[void.pk])).content.decode()
    assert reverse("run-detail", args=[slot.run_id]) in page
    for said in ("over limit 33.9 10.0 make 33.1", *factories.CONDITIONS["unwatched"]):
        assert said in words(page)
    again = words(admin_client.get(reverse("run-detail", args=[slot.run_id])).content.decode())
    assert "still warming up (+31 %)" in again
    assert f"Retry of run {void.pk} (disturbed)" in again
    assert "1 run disturbed : void, shown as a cross" in text
    text = shown(
        admin_client, factories.make_study(blocks=1, state=StudyState.FAILED, end=_disturbed)
    )
    assert "6 runs disturbed : void." in text, "there is no chart"


# --- charts --------------------------------------------------------------------------------------


def charts_of(study: Study, p95_ms: float | None = None) -> dict[str, Any]:
    document = build(StudyRows(study))
    figures = board_figures(document, document.boards[0], Metric.THROUGHPUT, p95_ms)
    return {key: as_plotly(one) for key, one in figures.items()}


def test_the_interval_chart_has_whiskers_floor_and_the_confirmed_effect() -> None:
    study = factories.raced_study()
    ranking = build(StudyRows(study)).boards[0].rankings[Metric.THROUGHPUT]
    figure = charts_of(study)["intervals"]
    blocks, pairs = figure.data
    assert figure.layout.yaxis.ticktext[0] == "whitepaper-3"
    assert "server-default" not in figure.layout.yaxis.ticktext
    found = factories.sure(ranking.standings[0].estimate)
    assert found.high is not None
    assert blocks.x[0] == pytest.approx(100 * (found.ratio - 1))
    assert blocks.error_x.array[0] == pytest.approx(100 * (found.high - found.ratio))
    assert list(blocks.marker.symbol) == ["circle"] * 3 + ["x"], "better, worse"
    assert len(pairs.x) == 1
    assert ranking.noise_floor is not None
    assert 100 * ranking.noise_floor in {shape.x1 for shape in figure.layout.shapes}


def test_open_intervals_of_two_blocks_do_not_flatten_the_chart() -> None:
    low, high = charts_of(factories.measured_study(blocks=2))["intervals"].layout.xaxis.range
    assert low >= -110
    assert high < 200


def test_without_an_interval_the_chart_draws_no_whisker() -> None:
    [dots] = charts_of(factories.measured_study(blocks=1))["intervals"].data
    assert len(dots.x) == 4
    assert dots.error_x.array is None


def test_the_pareto_chart_marks_front_baseline_and_limit() -> None:
    figure = charts_of(factories.raced_study(), 100.0)["pareto"]
    [dots] = figure.data
    widths = dict(zip(dots.ids, dots.marker.line.width, strict=True))
    assert {name for name, width in widths.items() if width} == {"whitepaper-3", "whitepaper-a"}
    symbols = dict(zip(dots.ids, dots.marker.symbol, strict=True))
    assert [name for name, one in symbols.items() if one == "square"] == ["server-default"]
    assert "ms" in figure.layout.xaxis.title.text
    assert [shape.x0 for shape in figure.layout.shapes] == [100.0]


def test_of_many_candidates_the_pareto_chart_names_a_few_that_do_not_touch() -> None:
    points = [
        Point(f"c{at}", 6000 - 20 * at, 140 + at, None, at % 2 > 0, at == 20) for at in range(24)
    ]
    [trace] = as_plotly(drawn_points(points, "tpmP")).data
    named = [point for point, text in zip(points, trace.text, strict=True) if text]
    assert {"c0", "c20"} <= {point.name for point in named}, "the best and the baseline"
    assert 2 < len(named) <= MAX_NAMED
    assert all(point.is_front for point in named if point.name not in {"c0", "c20"})
    assert len(trace.ids) == 24, "all are in its table"


def test_a_name_in_the_pareto_chart_does_not_cover_another_point() -> None:
    points = [
        Point("best", 8527, 84, None, True, False),
        Point("next", 8485, 87, None, True, False),
        Point("baseline", 6100, 150, None, False, True),
    ]
    [trace] = as_plotly(drawn_points(points, "tpmP")).data
    assert list(trace.textposition) == ["top right", "middle right", "middle left"]


def test_one_point_is_no_pareto_chart() -> None:
    assert "pareto" not in charts_of(factories.measured_study(names=["server-default"]))


def test_the_drift_chart_has_both_baselines_the_pairs_the_winner_and_what_is_void() -> None:
    study = factories.raced_study()
    factories.disturb(study.slots.filter(candidate__name="whitepaper-3")[0])
    lines = {line.name: len(line.x) for line in charts_of(study)["drift"].data}
    assert lines["replicate"] == 6
    assert lines["confirmation"] == 5
    assert lines["disturbed (void)"] == 1
    # The winner drifts with the host: it stands beside the baseline, in blocks and pairs.
    assert lines["whitepaper-3"] > 5


def test_each_ranking_has_its_charts(admin_client: Client) -> None:
    study = factories.raced_study()
    address = reverse("study-charts", args=[study.pk])
    figures = admin_client.get(address, {"by": "p95_ms"}).json()["charts"]
    [key] = [name for name in figures if name.endswith("-intervals")]
    assert "p95" in figures[key]["layout"]["xaxis"]["title"]["text"]
    assert len(figures) == 4


def test_long_tables_come_in_parts(admin_client: Client) -> None:
    study = factories.measured_study(blocks=12)
    text = admin_client.get(reverse("study-detail", args=[study.pk])).content.decode()
    [table] = re.findall(r'<details id="runs-table">.*?</details>', text, re.DOTALL)
    seen = re.findall(r">Run (\d+)</a>", table)
    assert len(seen) == ROWS
    [more] = re.findall(r'hx-get="([^"]+)"', table)
    rest = admin_client.get(more).content.decode()
    later = re.findall(r">Run (\d+)</a>", rest)
    assert len(seen) + len(later) == study.slots.count()
    assert not {*seen} & {*later}
    nothing = reverse("study-more", args=[study.pk, "secrets", 0])
    assert admin_client.get(nothing).status_code == 404
