"""The list of studies and a study's page, at every point of a study's life."""

from __future__ import annotations

import html
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from advisor.pages.study.live import study_to_show
from advisor.tests import factories
from advisor.tests.drawn import flat, study_page, words
from benchmarks.models import Run, RunState
from tuning.models import Candidate, Study, StudyState
from tuning.studies.commands import archive_study, describe_study
from tuning.studies.revision import bump, progress_mark

pytestmark = pytest.mark.django_db


def unescaped(text: str) -> str:
    return html.unescape(text).replace("\xa0", " ")


def running_study() -> Study:
    """The fourth of nine runs is being measured."""
    study = factories.make_study(
        state=StudyState.RUNNING,
        names=factories.NAMES[:3],
        started_at=timezone.now() - timedelta(minutes=2),
    )
    for _ in range(3):
        factories.finish(factories.sure(factories.begin(study)))
    factories.begin(study, step="warming up")
    return study


def test_the_list_shows_the_newest_study_first_with_what_it_found(admin_client: Client) -> None:
    older = factories.measured_study(name="The first")
    newer = factories.make_study(name="The second")
    text = flat(admin_client.get(reverse("study-list")))
    assert text.index(newer.name) < text.index(older.name)
    assert older.recommendations.get().candidate.name in text
    assert "18 of 18" in text
    assert "0 so far" in text  # a block is queued when the one before it has ended


def test_an_archived_study_is_on_no_list_but_its_own(admin_client: Client) -> None:
    study = factories.measured_study(name="Put away")
    describe_study(study, tags="nvme production")
    lists = [reverse("study-list"), reverse("home"), "/api/v1/studies/"]
    assert all("Put away" in flat(admin_client.get(one)) for one in lists)
    assert "Put away" in flat(admin_client.get(lists[0], {"find": "production"}))
    archive_study(study)
    assert not any("Put away" in flat(admin_client.get(one)) for one in lists)
    for page, asked in ((lists[0], {"archived": "1"}), (lists[2], {"archived": "true"})):
        assert "Put away" in flat(admin_client.get(page, asked))
    assert "Archived" in study_page(admin_client, study)


EMPTY_PARTS = ("data-chart", "Rank by", "board-", '<table class="ranking"', "No run has a result")
THERE_WHEN = (
    "The first figures, in a table and in charts, are on this page when that run has ended."
)


def test_a_study_that_waits_says_what_comes_and_shows_nothing_empty(
    admin_client: Client,
) -> None:
    study = factories.make_study(blocks=1)
    first = study.slots.get(order=1).candidate.name
    text = study_page(admin_client, study)
    assert (
        "<p>The host loads the dataset and tries each config on the server; then "
        f"the first run measures {first}, for 12\xa0s after 5\xa0s of warm-up. {THERE_WHEN}</p>"
    ) in text
    for part in (*EMPTY_PARTS, "Answer so far", "could be compared"):
        assert part not in text, part
    # Slots may be made when the host has begun.
    without = study_page(admin_client, factories.make_study(blocks=0))
    assert "then the first run measures the first config. The first figures" in without
    Study.objects.filter(pk=study.pk).update(state=StudyState.RUNNING, paused_at=timezone.now())
    waits = "<p>Nothing is measured until the study is resumed. After that, the first run measures"
    assert f"{waits} {first}, for 12" in study_page(admin_client, study)
    factories.begin(study)
    assert f"<p>The first run measures {first}, for 12" in study_page(admin_client, study)


def test_the_first_run_brings_ranking_filter_and_charts_to_an_open_page(
    admin_client: Client,
) -> None:
    study = factories.make_study(state=StudyState.RUNNING, blocks=1)
    run = factories.sure(factories.begin(study))
    [address] = re.findall(r'hx-get="([^"]+)"', study_page(admin_client, study))
    unchanged = flat(admin_client.get(html.unescape(address)))
    assert "study-rankings" not in unchanged
    factories.finish(run)
    answer = admin_client.get(html.unescape(address))
    text = flat(answer)
    assert "HX-Refresh" not in answer.headers
    rankings, _, charts = (
        text.partition('id="study-rankings"')[2]
        .partition('id="study-runs"')[0]
        .partition('id="study-charts"')
    )
    for part in ("Rank by", 'id="only_names"', "Ranking</h2>", '<table class="ranking"'):
        assert part in rankings, part
    assert "-intervals" in charts
    # What stands in it is not swapped once more, by itself.
    assert (rankings + charts).count("hx-swap-oob") == 2
    assert "First figures" not in text
    assert THERE_WHEN not in text
    [after] = re.findall(r'hx-get="([^"]+)"', text)
    factories.finish(factories.sure(factories.begin(study)))
    text = flat(admin_client.get(html.unescape(after)))
    assert "study-rankings" not in text, "charts that are drawn would be drawn again"
    assert 'id="board-' in text


def test_a_finished_study_shows_ranking_recommendation_and_file(admin_client: Client) -> None:
    study = factories.measured_study()
    found = study.recommendations.get()
    text = study_page(admin_client, study)
    assert "Finished" in text
    assert found.verdict.split(" (")[0] in unescaped(text)
    assert reverse("study-my-cnf", args=[study.pk, found.pk]) in text
    assert "innodb_io_capacity = " in text
    rows = re.findall(r'<a href="#candidate-\d+">([\w-]+)</a>', text)
    assert sorted(rows) == sorted(factories.NAMES)
    assert rows[0] == found.candidate.name
    assert "Mcycles / transaction" in text
    assert "intervals hold for all candidates at once" in text


def test_failed_runs_show_outcome_reason_and_log(admin_client: Client) -> None:
    study = factories.measured_study(fails=["whitepaper-1"])
    text = study_page(admin_client, study)
    assert "Runs without a result" in text
    wrong = text[text.index("Runs without a result") :]
    assert wrong.count("the server exited with status 1 before it answered") == 3
    assert "unknown variable &#x27;innodb_file_format=x&#x27;" in text


def test_names_and_logs_are_text_never_markup(admin_client: Client) -> None:
    study = factories.measured_study(fails=["whitepaper-1"], name="<script>alert(1)</script>")
    there = Candidate.objects.filter(study=study, name="whitepaper-1")
    there.update(name="<b>bold</b>", source="<i>a file")
    Run.objects.filter(slot__candidate__name="<b>bold</b>").update(log_tail="</pre><img src=x>")
    text = study_page(admin_client, study)
    assert "&lt;i&gt;a file" in text
    assert "&lt;img src=x" in text
    for markup in ("<script>alert", "<b>bold", "<img src=x", "<i>a file"):
        assert markup not in text


def live(client: Client, study: Study, seen: str) -> tuple[str, bool]:
    """The answer to a poll and whether it announces changed results."""
    address = reverse("study-live", args=[study.pk])
    answer = client.get(address, {"revision": seen}, headers={"HX-Request": "true"})
    return flat(answer), "HX-Trigger-After-Settle" in answer.headers


def stamp(text: str) -> str:
    [found] = re.findall(r"\?revision=(\d+)", text)
    return str(found)


def test_the_live_part_names_candidate_block_step_and_time_left(admin_client: Client) -> None:
    study = running_study()
    text = study_page(admin_client, study)
    current = study.slots.get(run__state=RunState.RUNNING)
    assert f"Block {current.block} of 3: {current.candidate.name}, warming up" in text
    assert "3 of 12 runs finished" in text
    assert re.search(r"About \d+\xa0(s|min) left", text)
    assert 'hx-trigger="every 2s, refresh"' in text


def test_a_poll_without_news_brings_the_progress_only(admin_client: Client) -> None:
    study = running_study()
    text, changed = live(admin_client, study, stamp(study_page(admin_client, study)))
    assert not changed
    assert 'id="study-live"' in text
    assert re.findall(r'id="([\w-]+)"[^>]*hx-swap-oob', text) == ["study-events"]


def test_a_poll_after_a_run_has_ended_brings_the_results_along(admin_client: Client) -> None:
    study = running_study()
    before = stamp(study_page(admin_client, study))
    factories.finish(study.slots.get(run__state=RunState.RUNNING).run)
    bump([study.pk])
    text, changed = live(admin_client, study, before)
    assert changed
    for part in ("actions", "recommendations", "runs", "candidates"):
        assert re.search(rf'id="study-{part}"\s+hx-swap-oob="true"', text), part
    assert re.search(r'id="board-[\w-]+"\s+hx-swap-oob="true"', text)
    assert "data-chart" not in text, "a live chart must never be swapped"
    assert stamp(text) != before


def test_a_run_that_ends_during_a_poll_is_among_its_results(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = running_study()
    before = stamp(study_page(admin_client, study))
    run = study.slots.get(run__state=RunState.RUNNING).run
    row = f'href="{reverse("run-detail", args=[run.pk])}">Run {run.pk}</a></td>'

    def after_the_look(pk: int) -> Study:
        factories.finish(run)
        bump([pk])
        return study_to_show(pk)

    monkeypatch.setattr("advisor.pages.study.views.study_to_show", after_the_look)
    text, changed = live(admin_client, study, before)
    assert changed
    assert stamp(text) != before
    assert row in text, "the next poll has no news of it"


def test_the_last_poll_stops_the_polling(admin_client: Client) -> None:
    study = running_study()
    before = stamp(study_page(admin_client, study))
    Study.objects.filter(pk=study.pk).update(state=StudyState.FINISHED, finished_at=timezone.now())
    bump([study.pk])
    text, changed = live(admin_client, study, before)
    assert changed
    assert "hx-trigger" not in text
    assert "data-poll" not in text


# --- the gate ------------------------------------------------------------------------------------


def block(text: str, part: str) -> str:
    """The markup of the element with that id, up to the next one of its kind."""
    tail = text[text.index(f'id="{part}"') :]
    return tail.partition('<details class="candidate"')[0]


def test_a_candidate_shows_the_four_stages_and_what_the_server_made_of_it(
    admin_client: Client,
) -> None:
    study = factories.gate(factories.make_study())
    candidate = study.candidates.get(name="whitepaper-1")
    shown = words(block(study_page(admin_client, study), f"candidate-{candidate.pk}"))
    assert "Values passed Rules passed Server check passed 3.4 s" in shown
    assert "Read-back 2 changed" in shown
    assert "innodb_page_cleaners 8 4 innodb_io_capacity_max 25000 not reported" in shown
    duplicate = study.candidates.get(merged_into=candidate)
    assert f"Also stands for {duplicate.name} : same effective values" in shown


def test_a_refused_candidate_is_said_once_with_its_log_not_as_failed_runs(
    admin_client: Client,
) -> None:
    study = factories.gate(factories.make_study(state=StudyState.RUNNING))
    factories.finish(factories.sure(factories.begin(study)))
    text = study_page(admin_client, study)
    refused = study.candidates.exclude(refusal="").get()
    assert "Refused by the server, so not measured" in text
    assert "Runs without a result" not in text
    assert "never started" not in text
    row = re.search(rf"<tr[^>]*>(?:(?!</tr>).)*{refused.name}</a>.*?</tr>", text, re.S)
    assert row is not None
    assert words(row[0]).endswith("refused 0")
    assert "without a result" not in row[0]
    shown = words(block(text, f"candidate-{refused.pk}"))
    assert "Server check refused" in shown
    assert "Read-back not reached" in shown
    assert "unknown variable" in shown


def test_a_duplicate_is_shown_below_the_one_that_was_measured_for_both(
    admin_client: Client,
) -> None:
    study = factories.gate(factories.make_study(state=StudyState.RUNNING))
    factories.finish(factories.sure(factories.begin(study)))
    text = study_page(admin_client, study)
    assert "Same effective values as whitepaper-1, so measured once" in text
    board = text[text.index("board-") : text.index('id="tab-charts"')]
    assert board.index(">whitepaper-1</a>") < board.index(">whitepaper-3</a>")


def test_each_class_has_a_board_that_says_what_it_may_cost(admin_client: Client) -> None:
    text = study_page(admin_client, factories.unsafe_study(blocks=1))
    assert " lines (whitepaper-3) at durability D1</p>" in text
    boards = text.partition('id="tab-charts"')[0].split('<details class="card board-fold')[1:]
    heads = [one.partition("<summary>")[0] for one in boards]
    assert [" open>" in head for head in heads] == [True, False, False]
    assert all("data-open-if-wide" in head for head in heads), "they are short"
    for given, cost in (
        ("D0", "Loses nothing"),
        ("D1", "may lose about the last second"),
        ("D2", "corrupt"),
    ):
        [section] = [one for one in boards if f">Ranking: durability {given}</h2>" in one]
        assert cost in section
        names = set(re.findall(r'<a href="#candidate-\d+">([\w-]+)</a>', section))
        assert "server-default" in names
        assert ("whitepaper-a" in names) == (given == "D2")
    assert text.count("card board-fold unsafe-D") == 2


def test_seconds_of_the_current_run_come_alone_while_nothing_else_changes(
    admin_client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    study = running_study()
    run = study.slots.get(run__state=RunState.RUNNING).run
    address = reverse("study-live", args=[study.pk])
    asks = {"mark": progress_mark(study.pk)}
    assert admin_client.get(address, asks).status_code == 204  # it is not driven yet

    seconds = [[at, 100.0 + at, None if at < 0 else 12.5, 61.5] for at in range(-5, 3)]
    Run.objects.filter(pk=run.pk).update(live=seconds)
    with django_assert_max_num_queries(11):
        answer = admin_client.get(address, {"mark": progress_mark(study.pk)})
    text = flat(answer)
    assert answer["HX-Reswap"] == "none"
    assert 'id="study-now" class="live" hx-swap-oob="true"' in text
    assert len(text) < 4000
    assert text.count("<polyline") == 3
    assert '<rect class="warm" x="264.4" y="0" width="25.4"' in text, "from the first second seen"
    assert '<rect class="warm"' in text
    assert "second 3 of 12 measured" in text
    assert "about 5,910 tpmP at the moment" in text
    assert "p95 over the last minute, now 12.5 ms" in text
    assert "estimated" not in text
    # The page has the same without JavaScript.
    assert "about 5,910 tpmP at the moment" in study_page(admin_client, study)
    assert '<strong class="nowrap">5,910 tpmP</strong>' in flat(admin_client.get("/"))

    Run.objects.filter(pk=run.pk).update(live=[[-2, None, None, 10.0], [-1, 90.0, None, 11.0]])
    text = flat(admin_client.get(address, {"mark": progress_mark(study.pk)}))
    assert "estimated from the server's commits" in text.replace("&#x27;", "'")
    assert text.count("<polyline") == 2  # nobody has told a p95
    factories.finish(run)
    assert "study-now" not in flat(admin_client.get(address, {"mark": progress_mark(study.pk)}))
