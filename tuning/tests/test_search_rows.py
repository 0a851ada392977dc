"""What a search proposes becomes candidates: gated, tried, queued; whatever happens in between."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest
from django.conf import settings
from django.db import connection

from benchmarks.errors import DeviceUnusable, RunFailed
from benchmarks.measurement.crash_test import Recovered
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.models import CrashTest, JobState, Run, RunState
from benchmarks.outcomes import Outcome
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.trial import Trial
from tuning.errors import TuningError
from tuning.models import Candidate, SlotPurpose, Study, StudyState
from tuning.requests.configs import ConfigText
from tuning.results.answer import store_recommendations
from tuning.results.boards import boards_of
from tuning.results.build import build
from tuning.results.study_rows import StudyRows
from tuning.statistics.aim import Aim
from tuning.statistics.confirmation import ConfirmationState, most_pairs
from tuning.statistics.data import Metric
from tuning.statistics.verdict import VerdictKind
from tuning.stored_documents import document_of
from tuning.strategy.design import screening_order
from tuning.strategy.protocol import Done, History, NewCandidate, Proposal, StopReason
from tuning.strategy.search.importance import Importance
from tuning.strategy.search.search import Effort
from tuning.strategy.search.space import Space
from tuning.strategy.tests.test_contract import RandomSearch
from tuning.studies import continuation, jobs, scheduler, trials
from tuning.studies.budget import TRIAL_S, StudyBudget, places
from tuning.studies.commands import cancel_study, extend_study, pause_study, resume_study
from tuning.studies.continuation import Ahead, continue_study
from tuning.studies.progress import study_progress
from tuning.studies.scheduler import advance_host
from tuning.studies.strategy_history import history_of
from tuning.tests.export_cases import exported
from tuning.tests.kept import kept
from tuning.tests.test_study_race import noisy, started
from tuning.tests.work import execute_crash_test, execute_run, next_run, prepare_study

pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("host_of_fakes", "sent"),
]

CAPACITY = "innodb_io_capacity"
Search = Callable[..., Study]


@dataclass(frozen=True)
class Script:
    """Measures the given configs, in rounds of one proposal each."""

    rounds: tuple[tuple[tuple[str, Mapping[str, str]], ...], ...]
    cuts_short: ClassVar[bool] = False

    def propose(self, history: History) -> Proposal | Done:
        for there in self.rounds:
            if there[0][0] in history.knobs:
                continue
            new = tuple(NewCandidate(name, knobs, "as given") for name, knobs in there)
            names = [one.name for one in new]
            block = history.last_block + 1
            return Proposal(screening_order(names, history.baseline, block, 1), new=new)
        return Done((StopReason.BUDGET,))


def capacity(value: int) -> Mapping[str, str]:
    return {CAPACITY: str(value)}


def refusing(*values: str) -> Callable[..., Trial]:
    """A server that does not start with some values; each call is counted in `tried`."""

    def try_config(_binary: ServerBinary, options: Mapping[str, str], **_: Any) -> Trial:
        tried.append(options.get(CAPACITY, ""))
        if options.get(CAPACITY) in values:
            raise RunFailed(Outcome.NO_START, "it does not want to")
        return Trial(variables=dict(options), log_tail="", seconds=1.0)

    tried: list[str] = []
    try_config.tried = tried  # type: ignore[attr-defined]
    return try_config


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> Search:
    """Makes a study that searches with a strategy of the test's."""

    def make(strategy: Any, **values: Any) -> Study:
        for room in (continuation, jobs):
            monkeypatch.setattr(room, "strategy_of", lambda _: strategy)
        study = started(
            configs=[ConfigText.of("given", b"[mysqld]\ninnodb_io_capacity=5000\n")], **values
        )
        Study.objects.filter(pk=study.pk).update(search={})
        study.refresh_from_db()
        return study

    return make


def step(study: Study, measure: Any = None) -> str:
    """Whatever the host does next: "prepare", "run", or "" at the end."""
    study.refresh_from_db(fields=["state"])
    if study.state == StudyState.PREPARING:
        assert prepare_study(study.pk)
        advance_host(study.host_id)
        return "prepare"
    run = next_run(study)
    if run is None:
        return ""
    execute_run(run, measure=measure or noisy({}))
    advance_host(study.host_id)
    return "run"


def to_the_end(study: Study, measure: Any = None) -> Study:
    for _ in range(400):
        if not step(study, measure):
            study.refresh_from_db()
            return study
    raise AssertionError("it never ends")


def names(study: Study) -> list[str]:
    found = study.slots.order_by("order").values_list("candidate__name", flat=True)
    return list(found)


def test_a_search_is_gated_tried_raced_and_confirmed(search: Search) -> None:
    study = to_the_end(search(RandomSearch(), seed=3, blocks=6), noisy({"5000": 1.3}))
    assert study.state == StudyState.FINISHED, study.reason
    found = study.candidates.filter(found_by_search=True)
    assert [one.name for one in found] == [f"guess-{number}" for number in range(2, 8)]
    for one in found:
        stages = [check["stage"] for check in one.checks]
        assert stages == ["values", "rules", "server", "read_back"]
        assert one.signature
        assert one.source == "drawn by chance, seed 3"
    purposes = list(study.slots.order_by("order").values_list("purpose", flat=True))
    assert purposes[:13] == [SlotPurpose.SEARCH] * 13
    assert set(purposes[13:]) <= {SlotPurpose.BLOCK, SlotPurpose.CONFIRMATION}
    (board,) = boards_of(StudyRows(study))
    # The baseline and the two that raced.
    assert len(board.candidates) == 3
    raced = set(study.slots.filter(purpose=SlotPurpose.BLOCK).values_list("candidate__name"))
    assert {name for (name,) in raced} == set(board.candidates)
    assert all(slot.purpose == SlotPurpose.BLOCK for slot in board.slots)
    assert study.recommendations.get().candidate.name in board.candidates


def test_what_gate_and_server_refuse_is_history_and_costs_no_run(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(
        (
            (
                ("search-1", capacity(700)),
                ("search-2", {CAPACITY: "no number"}),
                ("search-3", capacity(800)),
                ("search-4", capacity(5000)),
            ),
            (("search-5", {"no_such_knob": "1"}),),
            (("search-6", capacity(800)), ("search-7", capacity(700))),
            (("search-8", capacity(900)),),
        )
    )
    server = refusing("800")
    monkeypatch.setattr(trials, "try_config", server)
    study = search(script)
    for _ in range(5):
        step(study)
    (place,) = places(study)
    history = history_of(study, place)
    assert list(history.refused) == ["search-2", "search-3", "search-5", "search-6"]
    assert "no number" in history.refused["search-2"]
    assert "it does not want to" in history.refused["search-3"]
    assert history.duplicates == {"search-4": "given", "search-7": "search-1"}
    assert history.knobs["search-2"] == {CAPACITY: "no number"}
    assert history.knobs["search-3"] == capacity(800)
    to_the_end(study)
    default = study.candidates.get(is_baseline=True).name
    assert sorted(names(study)) == sorted([default, "search-1", default, "search-8"])
    # None is tried twice.
    assert sorted(server.tried) == sorted(  # type: ignore[attr-defined]
        ["", "5000", "700", "800", "5000", "800", "700", "900"]
    )


def test_a_proposal_of_nothing_but_refused_ones_is_no_end(search: Search) -> None:
    bad = tuple(((f"search-{n}", {CAPACITY: "bad"}),) for n in range(1, 6))
    study = search(Script((*bad, (("search-6", capacity(900)),))))
    step(study)
    study.refresh_from_db()
    assert study.state == StudyState.PREPARING
    assert study.shown_state == "Trying new configs"
    to_the_end(study)
    assert "search-6" in names(study)


def test_a_search_whose_every_proposal_is_refused_ends_with_a_word(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After fewer of them than really, each of which takes as long as any."""
    monkeypatch.setattr(continuation, "MAX_FRUITLESS", 10)
    bad = tuple(((f"search-{n}", {CAPACITY: "bad"}),) for n in range(1, 20))
    study = search(Script(bad))
    step(study)
    study.refresh_from_db()
    assert (study.state, study.reason_code) == (StudyState.FAILED, "only_refused")
    assert study.reason.startswith("the last 10 proposals had only configs that are refused")


def test_a_search_whose_pins_the_server_refuses_ends_before_anything_is_measured(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values and rules let them pass; it would refuse config after config."""
    there = {"space": {"pinned": capacity(7777)}}
    taking, server = refusing(), refusing("7777")
    monkeypatch.setattr(trials, "try_config", taking)
    study = search(RandomSearch(), seed=3)
    Study.objects.filter(pk=study.pk).update(search=there)
    step(study)
    assert taking.tried == ["7777", "", "5000"]  # type: ignore[attr-defined]
    cancel_study(study)
    monkeypatch.setattr(trials, "try_config", server)
    study = search(RandomSearch(), seed=3)
    Study.objects.filter(pk=study.pk).update(search=there)
    step(study)
    study.refresh_from_db()
    assert (study.state, study.reason_code) == (StudyState.FAILED, "bad_pin")
    assert study.reason == (
        "the server does not start with what is pinned (innodb_io_capacity = 7777): it does not "
        "want to"
    )
    assert server.tried == ["7777", ""]  # type: ignore[attr-defined]
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    "failure",
    [
        RunFailed(Outcome.DISK_FULL, "No space left on device: /srv/data"),
        DeviceUnusable("the device is not mounted"),
        OSError(errno.ENOSPC, "No space left on device"),
        RunFailed(Outcome.LOST, "the server was killed"),
    ],
)
def test_what_is_wrong_outside_pauses_a_search_that_has_results(
    search: Search, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fail(*_: Any, **__: Any) -> Trial:
        raise failure

    study = search(RandomSearch(), seed=3, blocks=3)
    while not study.slots.filter(run__state=RunState.OK, candidate__is_baseline=False).exists():
        step(study)
    while not (study.runs_to_queue and study.state == StudyState.PREPARING):
        step(study)
        study.refresh_from_db()
    with monkeypatch.context() as patch:
        patch.setattr(trials, "try_config", fail)
        is_lost = getattr(failure, "outcome", None) is Outcome.LOST
        for _ in range(settings.LOST_RUN_RETRIES + 1 if is_lost else 1):
            assert not study.is_paused
            step(study)
            study.refresh_from_db()
    assert (study.state, study.is_paused) == (StudyState.PREPARING, True)
    assert study.prepare_attempts == 0
    assert study.paused_by == "the advisor"
    assert str(failure) in study.pause_reason
    assert not study.claimed_by
    assert not prepare_study(study.pk)
    resume_study(study)
    assert to_the_end(study, noisy({"5000": 1.3})).state == StudyState.FINISHED


def test_a_device_that_is_away_before_anything_was_measured_ends_the_study(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Trial:
        raise DeviceUnusable("/srv/data: no such directory")

    monkeypatch.setattr(trials, "try_config", fail)
    study = search(RandomSearch(), seed=3, blocks=3)
    step(study)
    study.refresh_from_db()
    assert (study.state, study.reason_code) == (StudyState.FAILED, "device_unusable")


@dataclass(frozen=True)
class Watched:
    """A strategy; `held` says of each time it is asked whether the study's row was held then.

    meanwhile: what others do while it thinks.
    """

    strategy: Any
    held: list[bool]
    meanwhile: Callable[[], None] = lambda: None
    cuts_short: ClassVar[bool] = False

    def propose(self, history: History) -> Proposal | Done:
        self.held.append(connection.in_atomic_block)
        self.meanwhile()
        answer: Proposal | Done = self.strategy.propose(history)
        return answer


def test_nothing_is_thought_over_while_a_recovery_is_timed(search: Search) -> None:
    watched = Watched(RandomSearch(), [])
    study = to_the_end(search(watched, seed=3, blocks=3, recovery=True), noisy({"5000": 1.3}))
    test = CrashTest.objects.get(slot__study=study)
    for state in (JobState.QUEUED, JobState.RUNNING):
        CrashTest.objects.filter(pk=test.pk).update(state=state)
        asked = len(watched.held)
        advance_host(study.host_id)
        assert len(watched.held) == asked


def ended_search(search: Search) -> Study:
    """One to which nothing happened; others of its seed and length end in the same way."""
    wanted = {"seed": 3, "blocks": 3}
    return kept(
        "search", lambda: to_the_end(search(RandomSearch(), **wanted), noisy({"5000": 1.3}))
    )


def test_a_search_is_thought_over_by_one_while_nobody_holds_the_studys_row(search: Search) -> None:
    """After hundreds of runs a proposal takes seconds, in which nobody else could write.

    Nor does another process begin to think meanwhile: the sweep comes every three seconds, and
    what it began would go on while a run is measured.
    """
    expected = names(ended_search(search))
    alone = Watched(RandomSearch(), [])
    beside = Watched(RandomSearch(), [], lambda: advance_host(study.host_id))
    for watched in (alone, beside):
        study = search(watched, seed=3, blocks=3)
        assert to_the_end(study, noisy({"5000": 1.3})).state == StudyState.FINISHED
        assert watched.held
        assert not any(watched.held)
        assert names(study) == expected
    assert len(beside.held) == len(alone.held)


def test_a_search_that_is_cancelled_while_it_thinks_measures_nothing_more(search: Search) -> None:
    def cancel() -> None:
        if len(watched.held) == 3:
            measured.extend(names(study))
            study.refresh_from_db()
            cancel_study(study)

    measured: list[str] = []
    watched = Watched(RandomSearch(), [], cancel)
    study = search(watched, seed=3, blocks=3)
    assert to_the_end(study).state == StudyState.CANCELLED
    assert measured
    assert names(study) == measured


def test_a_thought_about_another_revision_is_not_written(search: Search) -> None:
    watched = Watched(RandomSearch(), [])
    study = search(watched, seed=3, blocks=3)
    while study.state != StudyState.RUNNING or study.runs_to_queue or names(study) == []:
        step(study)
        study.refresh_from_db()
    Run.objects.filter(slot__study=study).update(state=RunState.DRIVER_FAILED)
    before, end = names(study), Done((StopReason.BUDGET,))
    study.refresh_from_db()
    old = Ahead(study.revision - 1, end)
    assert continue_study(study, old) == ()
    assert (study.runs_to_queue, names(study)) != ([], before)
    assert watched.held
    watched.held.clear()
    study.runs_to_queue = []
    assert continue_study(study, Ahead(study.revision, end)) == (end,)
    assert not watched.held


@pytest.mark.parametrize("when", ["a first trial", "all trials", "half the rows"])
def test_a_crash_while_a_proposal_is_written_costs_nothing(
    search: Search, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """The same candidates and runs, in the same order, as without a crash."""
    expected = ended_search(search)
    study = search(RandomSearch(), seed=3, blocks=3)
    step(study)
    if when == "half the rows":

        def crash(*_: Any, **__: Any) -> Candidate:
            raise KeyboardInterrupt

        # The study was asked what is next and the process died before it had written all.
        Study.objects.filter(pk=study.pk).update(state=StudyState.RUNNING, runs_to_queue=[])
        study.candidates.filter(found_by_search=True).delete()
        with monkeypatch.context() as patch:
            patch.setattr(continuation, "add_slots", crash)
            patch.setattr(Study, "save", crash)
            with pytest.raises(KeyboardInterrupt):
                advance_host(study.host_id)
        assert not study.candidates.filter(found_by_search=True).exists()
        advance_host(study.host_id)
    if when == "a first trial":
        study.refresh_from_db()
        assert study.runs_to_queue
        Study.objects.filter(pk=study.pk).update(claimed_by="")
    if when == "all trials":
        prepare_study(study.pk)
        study.refresh_from_db()
        assert study.state == StudyState.RUNNING
        assert not study.slots.exists()
    advance_host(study.host_id)
    study = to_the_end(study, noisy({"5000": 1.3}))
    rows = "candidate__name", "block", "replicate", "purpose"
    assert list(study.slots.order_by("order").values_list(*rows)) == list(
        expected.slots.order_by("order").values_list(*rows)
    )


def test_a_search_pauses_between_trials_and_runs_and_continues(search: Search) -> None:
    study = search(RandomSearch(), seed=3, blocks=3)
    step(study)
    pause_study(study)
    assert not prepare_study(study.pk)
    assert study.slots.count() == 0
    study.refresh_from_db()
    resume_study(study)
    assert to_the_end(study).state == StudyState.FINISHED


def test_what_a_search_makes_is_checked_without_the_binary_log_of_a_study_without(
    search: Search,
) -> None:
    study = search(Script(((("search-1", {"binlog_row_image": "MINIMAL"}),),)), binary_log="off")
    to_the_end(study)
    (note,) = study.candidates.get(name="search-1").notes
    assert "this study runs without the binary log" in note["detail"]


def test_a_run_that_crashed_while_searching_rules_a_config_out(search: Search) -> None:
    study = ended_search(search)
    (board,) = boards_of(StudyRows(study))
    name = next(name for name in board.candidates if name != board.baseline.name)
    assert not board.failed
    run = study.slots.get(candidate__name=name, purpose=SlotPurpose.SEARCH).run
    Run.objects.filter(pk=run.pk).update(state=RunState.CRASHED, throughput=None)
    (board,) = boards_of(StudyRows(study))
    assert board.failed == [name]
    store_recommendations(study)
    verdict = study.recommendations.get().verdict
    assert f"Not considered because of failed runs: {name}." in verdict


def test_a_search_that_finds_nothing_says_so_and_keeps_the_baseline(search: Search) -> None:
    rounds = ((("search-1", capacity(700)), ("search-2", {CAPACITY: "bad"})),)
    study = to_the_end(search(Script(rounds)))
    assert study.state == StudyState.FINISHED, study.reason
    answer = study.recommendations.get()
    assert answer.candidate.is_baseline
    assert answer.kind == VerdictKind.NOTHING_FOUND
    assert answer.verdict.startswith(
        "The search found nothing better: keep server-default (1 config was measured; 1 refused"
    )
    assert "Keep server-default" in exported(study)
    with pytest.raises(TuningError, match="took no config into a race"):
        extend_study(study, 2)


def test_a_search_that_finds_nothing_says_how_many_configs_kept_its_limits(search: Search) -> None:
    """The response time of a measurement is 1 ms here."""
    rounds = ((("search-1", capacity(700)), ("search-2", capacity(800))),)
    study = search(Script(rounds), recovery=True)
    aim = Aim(keep={Metric.P95: 0.5, Metric.THROUGHPUT: 100.0}, max_recovery_s=3.0)
    Study.objects.filter(pk=study.pk).update(search=aim.as_json())
    to_the_end(study)
    test = CrashTest.objects.get(slot__study=study)
    killed = [Recovered(seconds, 31_000_000, 5, 100_000_000) for seconds in (2.0, 4.0, 2.5)]
    assert execute_crash_test(test.pk, lambda *_, **__: killed)
    advance_host(study.host_id)
    verdict = study.recommendations.get().verdict
    assert "none looked good enough for a race). In short runs 0 of 2 configs kept" in verdict
    assert "kept p95 <= 0.5 ms and throughput >= 100. server-default itself misses p95" in verdict
    assert "p95 <= 0.5 ms: 1 ms in 1 run; recovery <= 3 s: 4.0 s." in verdict
    assert "Killed under load 3 times, server-default served again after 2.0 to 4.0 s" in verdict


def test_a_search_without_time_for_a_race_says_so(search: Search) -> None:
    script = Script(((("search-1", capacity(700)),), (("search-2", capacity(800)),)))

    @dataclass(frozen=True)
    class Hurried:
        """Its budget ends with the screening."""

        cuts_short: ClassVar[bool] = False

        def propose(self, history: History) -> Proposal | Done:
            answer = script.propose(history)
            return replace(answer, unraced=("search-1",)) if isinstance(answer, Done) else answer

    study = to_the_end(search(Hurried()), noisy({"700": 1.6, "800": 1.6}))
    answer = study.recommendations.get()
    assert answer.kind == VerdictKind.TIME_RAN_OUT
    assert answer.verdict == (
        "The search ended without a race: keep server-default (2 configs were measured; the time "
        "ran out before the best could race)."
    )


def test_a_search_without_figures_of_its_objective_says_so(search: Search) -> None:
    study = search(Script(((("search-1", capacity(700)),),)))
    Study.objects.filter(pk=study.pk).update(search=Aim(Metric.SERVER_PATH_LENGTH).as_json())
    noise = noisy({})

    def measure(plan: Plan, **_: Any) -> Measurement:
        found = noise(plan)
        assert found.metrics is not None
        return replace(found, metrics=replace(found.metrics, server_path_length=None))

    study = to_the_end(study, measure)
    answer = study.recommendations.get()
    assert answer.kind == VerdictKind.NOTHING_TO_COMPARE
    assert answer.verdict == (
        "The search could compare nothing: keep server-default (1 config was measured; none could "
        "be compared, because runs have no figure of path length)."
    )


def test_trial_starts_are_paid_from_the_budget(search: Search) -> None:
    study = search(RandomSearch(), seed=3, blocks=3, budget_minutes=60)
    made = study.candidates.filter(found_by_search=True)
    while made.exclude(signature="").count() < 2:
        step(study)
    study.refresh_from_db()
    (place,) = places(study)

    def left() -> float:
        seconds = StudyBudget(StudyRows(study)).at(place.key).blocks.seconds_left
        assert seconds is not None
        return seconds

    before = left()
    slow = made.exclude(signature="")[0]
    slow.checks[2]["seconds"] = TRIAL_S + 40
    slow.save()
    assert before - left() == pytest.approx(40)
    # Refused before the server was asked.
    slow.checks = slow.checks[:2]
    slow.save()
    assert left() - before == pytest.approx(TRIAL_S)
    made.update(found_by_search=False)
    assert left() - before == pytest.approx(2 * TRIAL_S)


def test_a_thought_that_failed_ahead_is_worked_out_when_it_is_needed(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Study) -> Ahead:
        raise IndexError("what it was about has gone")

    monkeypatch.setattr(scheduler, "think_ahead", fails)
    study = search(RandomSearch(), seed=3, blocks=6)
    ours = study.slots.filter(candidate__found_by_search=True, run__state=RunState.OK)
    while not ours.exists():
        assert step(study)
    study.refresh_from_db()
    assert not study.is_finished


def test_what_was_learned_of_the_knobs_is_stored_between_two_rounds(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Importance:
        raise FloatingPointError("a model that cannot be fitted")

    def learn_until(is_done: Callable[[], bool]) -> None:
        while not is_done():
            assert step(study)

    def has_learned() -> bool:
        return Study.objects.get(pk=study.pk).learned is not None

    monkeypatch.setattr("tuning.results.search.importance", fails)
    study = search(RandomSearch(), seed=3, blocks=6)
    Study.objects.filter(pk=study.pk).update(search={"space": Space(()).as_json()})
    screened = study.slots.filter(purpose=SlotPurpose.SEARCH, run__state=RunState.OK)
    learn_until(screened.exists)
    assert not has_learned()
    study.refresh_from_db()
    assert not study.is_finished
    monkeypatch.setattr(
        "tuning.results.search.importance", lambda *_: Importance(runs=7, configs=3)
    )
    learn_until(has_learned)
    found = document_of(Study.objects.get(pk=study.pk)).search
    assert found is not None
    assert found.importance == Importance(runs=7, configs=3)


def test_a_search_that_has_measured_nothing_says_so(search: Search) -> None:
    study = to_the_end(search(RandomSearch(), seed=3, blocks=2))
    assert (study.state, study.reason_code) == (StudyState.FAILED, "nothing_measured")


def test_an_extended_search_races_on_with_its_finalists(search: Search) -> None:
    measure = noisy({"5000": 1.3})
    study = to_the_end(search(RandomSearch(), seed=3, blocks=4), measure)
    left = set(study.eliminations.values_list("candidate__name", flat=True))
    blocks = study.slots.filter(purpose=SlotPurpose.BLOCK)
    raced = set(blocks.values_list("candidate__name", flat=True))
    before, looked = blocks.values("block").distinct().count(), study.candidates.count()
    extend_study(study, 2)
    progress = study_progress(study)
    study.refresh_from_db()
    assert progress.runs_to_confirm == 2 * most_pairs(
        study.blocks, Effort().finalists
    )  # of another winner
    ahead = 2 * (len(raced - left) + 1) + progress.runs_to_confirm
    assert progress.runs_total == progress.runs_done + ahead
    study = to_the_end(study, measure)
    assert study.state == StudyState.FINISHED
    assert blocks.values("block").distinct().count() == before + 2
    assert study.candidates.count() == looked
    last = study.slots.order_by("-order").first()
    assert last is not None
    there = study.slots.filter(block=last.block).values_list("candidate__name", flat=True)
    assert set(there) == raced - left


def test_what_misses_a_limit_is_neither_confirmed_nor_recommended(search: Search) -> None:
    """The fastest of all has a response time above the limit; the next best is confirmed."""
    study = search(RandomSearch(), seed=3, blocks=6)
    Study.objects.filter(pk=study.pk).update(search=Aim(keep={Metric.P95: 50.0}).as_json())
    given, noise = {"5000": 1.4}, noisy({})
    fast: dict[str, float] = {}

    def measure(plan: Plan, **_: Any) -> Measurement:
        value = str(plan.options.get(CAPACITY, ""))
        effect = given.get(value, 1.0)
        if value and value not in given:
            effect = fast.setdefault(value, 1.2 if not fast else 0.8)
        found = noise(plan)
        assert found.metrics is not None
        figures = replace(
            found.metrics,
            throughput=(found.metrics.throughput or 0.0) * effect,
            p95_ms=80.0 if value in given else 20.0,
        )
        return replace(found, metrics=figures)

    study = to_the_end(study, measure)
    (board,) = boards_of(StudyRows(study))
    assert board.over_limits == ["given"]
    assert board.judgement.analysis.winner == "given"
    answer = study.recommendations.get()
    assert answer.candidate.name == "guess-2"
    assert answer.confirmation == ConfirmationState.CONFIRMED
    assert "missed limits: given (p95 <= 50 ms: 80 ms)" in answer.verdict
    confirmed = study.slots.filter(purpose=SlotPurpose.CONFIRMATION, candidate__is_baseline=False)
    assert {slot.candidate.name for slot in confirmed} == {"guess-2"}


def test_a_search_for_response_times_races_and_is_confirmed_by_them(search: Search) -> None:
    class ByResponseTime(RandomSearch):
        metric = Metric.P95

    study = search(ByResponseTime(), seed=3, blocks=6)
    Study.objects.filter(pk=study.pk).update(search=Aim(Metric.P95).as_json())
    noise = noisy({"5000": 0.97})

    def measure(plan: Plan, **_: Any) -> Measurement:
        found = noise(plan)
        assert found.metrics is not None
        jitter = found.metrics.throughput / 6000
        is_given = plan.options.get(CAPACITY) == "5000"
        p95_ms = (40.0 if is_given else 60.0) * jitter
        return replace(found, metrics=replace(found.metrics, p95_ms=p95_ms))

    study = to_the_end(study, measure)
    document = build(StudyRows(study))
    assert document.search is not None
    best = document.search.best[-1]
    assert document.search.metric is Metric.P95
    assert document.candidate[best.candidate_id].name == "given"
    assert best.ratio == pytest.approx(40 / 60, rel=0.1)
    answer = study.recommendations.get()
    assert answer.candidate.name == "given"
    assert "% p95 response time against server-default" in answer.verdict
    assert "Its throughput changed by -" in answer.verdict
    assert answer.ratio_to_baseline < 1
    assert answer.objective == "p95_ms"
    truth = 0.97 * 40 / 60
    assert answer.objective_ratio == pytest.approx(truth, rel=0.05)
    assert answer.objective_low is not None
    assert answer.objective_high is not None
    assert answer.objective_low < truth < answer.objective_high < 1
    Candidate.objects.filter(pk=answer.candidate_id).update(found_by_search=True)
    result = StudyRows(study)
    (answer,) = result.recommendations
    assert re.search(
        r"-3[0-9.]+ % p95 response time \(96 % interval -[0-9.]+ to -[0-9.]+ %\) and "
        r"-[0-9.]+ % throughput \(96 % interval .*\) against server-default",
        exported(study),
    )
    found = json.loads(exported(study, "json"))["recommendation"]
    assert found["objective"] == "p95_ms"
    assert found["objective_effect"]["ratio"] == answer.objective_ratio


def test_progress_counts_a_searchs_rounds_and_its_race_apart(search: Search) -> None:
    study = search(RandomSearch(), seed=3, blocks=3)
    texts: list[str] = []

    def measure(plan: Plan, **_: Any) -> Measurement:
        progress = study_progress(Study.objects.get(pk=study.pk))
        texts.append(progress.text)
        assert progress.runs_total >= progress.runs_done
        return noisy({"5000": 1.3})(plan)

    while study.candidates.filter(found_by_search=True).count() < 2:
        step(study, measure)
    study.refresh_from_db()
    assert study.state == StudyState.PREPARING
    progress = study_progress(study)
    assert progress.text == "trying new configs on the server"
    assert progress.fraction > 0.15
    study = to_the_end(study, measure)
    assert texts[0].startswith("search, round 1: ")
    assert any(text.startswith("race, block 1: ") for text in texts)
    assert any(text.startswith("confirmation, pair 1 of ") for text in texts)
