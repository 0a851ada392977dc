"""What a search has learned: knobs that matter, settings and prices, on page, API and terminal."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from advisor.tests.drawn import study_charts, study_page
from advisor.tests.search_study import queued_slot, searching_study
from benchmarks.models import Run, RunState
from tuning.models import SlotPurpose, Study
from tuning.results.boards import screened_runs
from tuning.results.search import learn_knobs, search_of
from tuning.results.study_rows import StudyRows
from tuning.statistics.data import Metric
from tuning.stored_documents import document_of
from tuning.strategy.search.importance import importance
from tuning.strategy.search.space import Space

pytestmark = pytest.mark.django_db


@pytest.mark.long
def test_the_page_says_which_knobs_matter_and_how_sure_that_is(admin_client: Client) -> None:
    html = study_page(admin_client, searching_study())
    table = html.partition('id="search-importance"')[2].partition("</table>")[0]
    rows = table.partition("<tbody>")[2].split("<tr>")[1:]
    assert "innodb_buffer_pool_size" in rows[0]
    assert "from 128M to 4G (95 %: +" in rows[0].replace("\N{NO-BREAK SPACE}", " ")
    assert "may be nothing" not in rows[0]
    assert all("may be nothing" in row for row in rows[1:])
    assert "runs" in rows[0]
    assert "This is a hint where to look, not evidence." in html


@pytest.mark.long
def test_the_table_has_every_metric_and_marks_the_front(admin_client: Client) -> None:
    study = searching_study()
    html = study_page(admin_client, study)
    table = html.partition('id="search-tried"')[2].partition("</table>")[0]
    assert '<th scope="col" class="num">p95</th>' in table
    assert '<span class="tag">front</span>' in table
    found = search_of(StudyRows(study))
    assert found is not None
    on_front = found.fronts[Metric.P95]
    front = [one for pk in on_front for one in found.tried if one.candidate_id == pk]
    assert front[0].ratios[Metric.THROUGHPUT] == max(
        one.ratios[Metric.THROUGHPUT] for one in found.tried
    )
    costs = [one.ratios[Metric.P95] for one in front]
    assert costs == sorted(costs, reverse=True)
    for one in found.tried:
        if one not in front:
            assert any(
                other.ratios[Metric.THROUGHPUT] >= one.ratios[Metric.THROUGHPUT]
                and other.ratios[Metric.P95] <= one.ratios[Metric.P95]
                for other in front
            ) or (one.ratios[Metric.THROUGHPUT] <= 1 <= one.ratios[Metric.P95])


def test_what_the_baseline_beats_is_on_no_front() -> None:
    study = searching_study(5)
    worse = study.slots.filter(candidate__found_by_search=True, run__state=RunState.OK)
    Run.objects.filter(pk__in=worse.values("run")).update(throughput=3000, p95_ms=300)
    found = search_of(StudyRows(study))
    assert found is not None
    assert found.fronts[Metric.P95] == ()


@pytest.mark.long
def test_all_configs_are_lines_from_their_settings_to_their_result(admin_client: Client) -> None:
    chart = study_charts(admin_client, searching_study())["search-parallel"]
    axis = chart["layout"]["xaxis"]
    assert axis["ticktext"][0] == "innodb_buffer_<br>pool_size"
    assert axis["ticktext"][-1] == "throughput,<br>change, %"
    assert [trace["name"] for trace in chart["data"]] == [
        "worst fifth",
        "second worst",
        "middle",
        "second best",
        "best fifth",
    ]
    points = [one for trace in chart["data"] for one in trace["customdata"] if one]
    assert len(points) == 24 * 5
    assert sum(trace["x"].count(None) for trace in chart["data"]) == 24
    best = chart["data"][-1]
    assert max(height for height in best["y"] if height is not None) <= 1.0


@pytest.mark.long
def test_throughput_is_shown_against_response_time_and_against_cpu(admin_client: Client) -> None:
    study = searching_study()
    chart = study_charts(admin_client, study)["search-front"]
    assert [trace["name"] for trace in chart["data"]] == [
        "Pareto front",
        "one config",
        "Pareto front",
        "one config",
        "baseline",
    ]
    buttons = chart["layout"]["updatemenus"][0]["buttons"]
    assert [one["label"] for one in buttons] == [
        "against p95 response time",
        "against server path length",
    ]
    assert buttons[1]["args"][0]["visible"] == [False, False, True, True, True]
    # What is shown is made again when runs have ended since.
    runs = Run.objects.filter(slot__study=study)
    runs.update(server_path_length=None, finished_at=timezone.now())
    chart = study_charts(admin_client, study)["search-front"]
    assert len(chart["data"]) == 3
    assert "updatemenus" not in chart["layout"]


def test_what_the_host_has_learned_is_the_model_of_the_screening_runs() -> None:
    study = searching_study()
    space = Space.from_json((study.search or {})["space"])
    knobs = {one.name: one.config.knobs for one in study.candidates.all()}
    learned = document_of(study).search
    assert learned is not None
    assert learned.importance is not None
    assert learned.importance.is_enough
    runs = screened_runs(StudyRows(study).slots)
    assert learned.importance == importance(space, runs, knobs, Metric.THROUGHPUT)
    queued_slot(study, study.candidates.get(is_baseline=True), 9, SlotPurpose.BLOCK)
    Study.objects.filter(pk=study.pk).update(learned=None)
    learn_knobs(StudyRows(study))
    study.refresh_from_db()
    assert study.learned is None
