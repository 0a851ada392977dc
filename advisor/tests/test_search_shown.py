"""What a search shows of itself while it runs and at its end: page, charts, terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest
from django.test import Client
from rich.console import Console

from advisor.terminal.report import print_study
from advisor.tests.drawn import study_charts, study_page
from benchmarks.models import Run, RunState
from tuning.models import SlotPurpose, Study, StudyState
from tuning.results.build import build
from tuning.results.document import Search
from tuning.results.study_rows import StudyRows
from tuning.statistics.aim import Aim
from tuning.statistics.data import Metric
from tuning.stored_documents import document_of
from tuning.strategy.search.space import Dimension, Space
from tuning.strategy.tests.test_contract import RandomSearch
from tuning.tests.kept import kept
from tuning.tests.test_search_rows import CAPACITY, Script, search, step, to_the_end
from tuning.tests.test_study_race import noisy

__all__ = ["search"]


pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("host_of_fakes", "sent"),
]
SPACE = Space(
    (
        Dimension(CAPACITY, "number", 200, 20_000, is_log=True, default="10000", source="a book"),
        Dimension("innodb_flush_method", "choice", choices=("fsync", "O_DIRECT"), source="a talk"),
    ),
    {"innodb_page_cleaners": "4"},
)


@pytest.fixture
def begun(search: Callable[..., Study]) -> Study:
    """A search that has just been asked for, with a limit."""
    study = search(RandomSearch(), seed=3, blocks=4)
    stored = Aim(keep={Metric.P95: 500.0}).as_json() | {"space": SPACE.as_json()}
    Study.objects.filter(pk=study.pk).update(search=stored)
    study.refresh_from_db()
    return study


@pytest.fixture
def over(begun: Study) -> Study:
    """The same at its end: the given config has won. To be asked for before any user."""
    return kept("search, shown", lambda: to_the_end(begun, noisy({"5000": 1.3})))


def test_a_search_that_has_measured_nothing_shows_its_space(
    begun: Study, admin_client: Client
) -> None:
    html = study_page(admin_client, begun)
    assert "No config has been measured yet." in html
    assert "Search space: 2 variables" in html
    assert "innodb_page_cleaners = 4" in html
    assert "a book" in html
    assert study_charts(admin_client, begun) == {}


def test_the_page_says_what_is_tried_now_and_why(begun: Study, admin_client: Client) -> None:
    measure = noisy({"5000": 1.3})
    while not begun.slots.filter(purpose=SlotPurpose.SEARCH).exists():
        step(begun, measure)
    phases = {}
    for _ in range(60):
        html = study_page(admin_client, begun)
        _, mark, now = html.partition('<p id="search-now">')
        if mark:
            phases[now.partition(">")[2].partition("<")[0]] = now.partition("</p>")[0]
        if not step(begun, measure):
            break
    assert sorted(phases) == ["Confirm", "Explore", "Repeat"]
    assert "The race: the best few are measured again" in phases["Repeat"]
    assert "search-now" not in study_page(admin_client, begun)


def test_an_open_page_follows_a_search_and_gets_the_ranking_of_the_race(
    begun: Study, admin_client: Client
) -> None:
    measure = noisy({"5000": 1.3})
    while not begun.slots.filter(run__state=RunState.OK).exists():
        step(begun, measure)
    answer = admin_client.get(f"/studies/{begun.pk}/live/?seen=old&parts=0")
    html = answer.content.decode()
    assert '<div id="study-search" hx-swap-oob="true">' in html
    assert "search-tried" in html
    assert "between two runs" in html.lower()
    assert "board-" not in html
    while not begun.slots.filter(purpose=SlotPurpose.BLOCK).exists():
        step(begun, measure)
    [there] = re.findall(r"parts=(\d+)", study_page(admin_client, begun))
    answer = admin_client.get(f"/studies/{begun.pk}/live/?seen=old&parts={there}")
    assert "study-rankings" not in answer.content.decode()
    # The page that was loaded before has no place for the ranking.
    answer = admin_client.get(f"/studies/{begun.pk}/live/?seen=old&parts={int(there) - 1}")
    rankings = answer.content.decode().partition('<div id="study-rankings" hx-swap-oob="true">')[2]
    assert 'id="board-' in rankings
    assert "search-charts-title" in rankings


def test_the_page_shows_what_was_tried_and_what_raced(over: Study, admin_client: Client) -> None:
    study = over
    assert study.state == StudyState.FINISHED
    html = study_page(admin_client, study)
    assert "5 configs measured" in html
    assert "Best so far: <strong>given</strong>" in html
    assert "Limits: p95 &lt;= 500 ms." in html
    table = html.partition('id="search-tried"')[2].partition("</table>")[0]
    assert table.index(">given</a>") < table.index(">guess-2</a>")
    assert table.count("raced") == 2
    assert "drawn by chance, seed 3" in table
    found = study_charts(admin_client, study)
    best = {trace["name"]: trace for trace in found["search-best"]["data"]}
    assert set(best) == {
        "noise of one run (2 sd)",
        "best so far",
        "given",
        "proposed by the search",
    }
    assert len(best["proposed by the search"]["x"]) == 4
    assert found["search-best"]["layout"]["xaxis"]["title"]["text"] == "short runs"
    assert "throughput, change from the baseline, %" in str(
        found["search-best"]["layout"]["yaxis"]
    )
    slices = found["search-slices"]
    # Without a default the value of the flush method is not known of any.
    assert [trace["name"] for trace in slices["data"]] == [CAPACITY]
    assert "too few runs to tell. 6 configs have a result, and it takes 12" in html
    assert len(slices["data"][0]["x"]) == 5
    assert slices["layout"]["xaxis"]["type"] == "log"


def test_a_search_that_found_nothing_shows_no_ranking(
    search: Callable[..., Study],
    admin_client: Client,
) -> None:
    rounds = ((("search-1", {CAPACITY: "700"}),),)
    study = search(Script(rounds))
    Study.objects.filter(pk=study.pk).update(search={"space": SPACE.as_json()})
    study = to_the_end(study)
    html = study_page(admin_client, study)
    assert "The search found nothing better: keep server-default" in html
    assert 'class="card board' not in html
    stream = io.StringIO()
    print_study(document_of(study), Console(file=stream, width=100))
    for of_a_table in ("not run yet", "Figures are medians"):
        assert of_a_table not in stream.getvalue()
    assert "The search found nothing better: keep server-default" in stream.getvalue()


def searched(study: Study) -> tuple[Search, dict[int, str]]:
    """Return the search by the rows as they are, and the names of its configs."""
    document = build(StudyRows(study))
    assert document.search is not None
    return document.search, {one.id: one.name for one in document.candidates}


def test_a_look_without_a_figure_is_a_cross_and_no_number(
    over: Study, admin_client: Client
) -> None:
    study = over
    slot = study.slots.get(candidate__name="guess-3", purpose=SlotPurpose.SEARCH)
    Run.objects.filter(pk=slot.run_id).update(state=RunState.CRASHED, throughput=None)
    found, names = searched(study)
    assert names[found.tried[-1].candidate_id] == "guess-3"
    assert found.tried[-1].ratio is None
    shown = study_charts(admin_client, study)["search-best"]["data"]
    assert "no result" in [trace["name"] for trace in shown]


def test_a_lucky_look_is_taken_back_by_the_next(over: Study) -> None:
    study = over
    rounds = study.slots.filter(purpose=SlotPurpose.SEARCH)
    run = rounds.get(candidate__name="guess-2").run
    Run.objects.filter(pk=run.pk).update(throughput=12_000.0)
    again = rounds.get(candidate__name="guess-4")
    again.candidate = study.candidates.get(name="guess-2")
    again.save()
    Run.objects.filter(pk=again.run_id).update(throughput=6_000.0)
    found, names = searched(study)
    best = [(names[one.candidate_id], round(one.ratio, 1)) for one in found.best]
    assert best[1] == ("guess-2", 2.0)
    assert best[-1] == ("guess-2", 1.4)


def test_a_limit_that_the_baseline_misses_is_named_after_its_second_run(
    over: Study, admin_client: Client
) -> None:
    aim = Aim(keep={Metric.P95: 0.001}).as_json()
    Study.objects.filter(pk=over.pk).update(search=(over.search or {}) | aim)
    over.refresh_from_db()
    found, _ = searched(over)
    [text] = found.misses
    assert text.startswith("p95 <= 0.001 ms: ")
    Run.objects.filter(slot__study=over, slot__candidate__is_baseline=True).update(p95_ms=0.0001)
    assert searched(over)[0].misses == ()
