"""The ablation of a winner: its rows, what is recommended, and whatever interrupts it."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.utils import timezone

from benchmarks.errors import RunFailed
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.models import Run, RunState
from benchmarks.outcomes import Outcome
from benchmarks.servers.trial import Trial
from tuning.creation.create import create_study
from tuning.errors import BadRequest
from tuning.models import Recommendation, SlotPurpose, Study, StudyState
from tuning.requests.configs import ConfigText
from tuning.requests.study import StudyRequest
from tuning.results import ablation
from tuning.results.boards import boards_of
from tuning.results.document import Ablation, LinesEffect
from tuning.results.study_rows import StudyRows
from tuning.statistics.confirmation import ConfirmationState, ReductionState, RemovalState
from tuning.statistics.tests.helpers import bounds
from tuning.strategy.ablation.ablate import MAX_ABLATION_RUNS
from tuning.studies import trials
from tuning.studies.budget import StudyBudget
from tuning.studies.commands import cancel_study, extend_study, pause_study, resume_study
from tuning.studies.progress import study_progress
from tuning.studies.scheduler import advance_host
from tuning.tests.export_cases import exported
from tuning.tests.fakes import measurement
from tuning.tests.kept import kept
from tuning.tests.test_search_rows import step, to_the_end
from tuning.tests.work import purpose_of

pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("host_of_fakes", "sent"),
]

FAST = b"""[mysqld]
innodb_io_capacity = 5000
innodb_io_capacity_max = 9000
innodb_flush_neighbors = 0
table_open_cache = 3000
"""
# What each line contributes, as a log; only the pair matters.
BRINGS = {"innodb_io_capacity": 0.2}


def measuring(
    brings: Mapping[str, float] = BRINGS,
    reduced: Mapping[str, float] | None = None,
    *,
    noise: float = 0.01,
) -> Callable[..., Measurement]:
    """6000 tpmP times what the lines of a config bring, with noise.

    `reduced` is what they contribute in the rounds of the reduced config, where that differs.
    """

    def measure(plan: Plan, **_: Any) -> Measurement:
        known = brings
        if reduced is not None and purpose_of(plan) == SlotPurpose.REDUCED:
            known = reduced
        gain = sum(value for name, value in known.items() if name in plan.options)
        return measurement(6000 * math.exp(gain + random.Random(plan.load.seed).gauss(0, noise)))

    return measure


def started(**values: Any) -> Study:
    facts: dict[str, Any] = {
        "template": "compare",
        "configs": [ConfigText.of("fast", FAST)],
        "blocks": 5,
        "seed": 7,
        "ablates": True,
    }
    return create_study(StudyRequest(**(facts | values)))


#: In this order; each goes on from the one before it.
_STAGES = (SlotPurpose.CONFIRMATION, SlotPurpose.ABLATION, SlotPurpose.REDUCED)


def before(purpose: SlotPurpose) -> Study:
    """A study whose first runs for that purpose are queued."""

    def make() -> Study:
        at = _STAGES.index(purpose)
        study = before(_STAGES[at - 1]) if at else started()
        while purpose not in purposes(study):
            assert step(study, measuring())
        study.refresh_from_db()
        return study

    return kept(f"ablated, before {purpose}", make)


def ended() -> Study:
    """A study whose winner was tested line by line, and reduced to what matters."""
    return kept("ablated", lambda: to_the_end(before(SlotPurpose.REDUCED), measuring()))


def with_state(found: Ablation, state: RemovalState) -> list[LinesEffect]:
    return [one for one in found.effects if one.state == state]


def ablation_of(study: Study) -> Ablation | None:
    rows = StudyRows(study)
    return ablation.ablation_of(rows, boards_of(rows)[0])


def ablated(study: Study) -> Ablation:
    found = ablation_of(study)
    assert found is not None
    return found


def purposes(study: Study) -> list[str]:
    return list(study.slots.order_by("order").values_list("purpose", flat=True))


def test_what_contributes_nothing_is_left_out_and_what_is_recommended_was_measured() -> None:
    study = ended()
    assert study.state == StudyState.FINISHED, study.reason
    found = study.recommendations.get()
    assert found.whole is not None
    assert (found.whole.name, found.candidate.name) == ("fast", "fast reduced")
    assert found.candidate.config.knobs == {
        "innodb_io_capacity": "5000",
        "innodb_io_capacity_max": "9000",
    }
    assert found.low is not None
    assert found.high is not None
    assert found.low < math.exp(0.2) < found.high
    assert (
        "nothing measurable is lost without innodb_flush_neighbors, table_open_cache"
        in found.verdict
    )
    ablation = ablated(study)
    assert ablation.reduced is not None
    assert ablation.reduced.state == ReductionState.VERIFIED
    states = {one.names: one.state for one in ablation.effects}
    assert states == {
        ("innodb_io_capacity", "innodb_io_capacity_max"): RemovalState.MATTERS,
        ("innodb_flush_neighbors",): RemovalState.NO_EFFECT,
        ("table_open_cache",): RemovalState.NO_EFFECT,
    }
    (pair,) = with_state(ablation, RemovalState.MATTERS)
    low, _, high = bounds(pair.estimate)
    assert low < math.exp(0.2) < high
    fresh = study.slots.filter(purpose=SlotPurpose.REDUCED)
    rounds: dict[int, set[str]] = {slot.block: set() for slot in fresh}
    for slot in fresh:
        rounds[slot.block].add(slot.candidate.name)
    assert len(rounds) >= 5
    assert set(map(frozenset, rounds.values())) == {
        frozenset({"fast reduced", "fast", "server-default"})
    }

    # Variants are no candidates of the study.
    result = StudyRows(study)
    (board,) = boards_of(result)
    assert set(board.candidates) == {"server-default", "fast"}
    assert len(board.judgement.analysis.standings) == 2
    variants = study.candidates.exclude(taken_from=None)
    assert {one.taken_from.name for one in variants if one.taken_from} == {"fast"}
    assert not study.slots.filter(purpose=SlotPurpose.BLOCK, candidate__in=variants).exists()
    assert not study.eliminations.exists()


def test_a_reduced_config_that_loses_after_all_is_not_recommended() -> None:
    alone = {"innodb_io_capacity": 0.2}
    study = before(SlotPurpose.REDUCED)
    study = to_the_end(study, measuring(alone, reduced=alone | {"table_open_cache": 0.1}))
    found = study.recommendations.get()
    assert (found.candidate.name, found.whole) == ("fast", None)
    assert "kept, because without, more than 5.0 % may be lost" in found.verdict
    ablation = ablated(study)
    assert ablation.reduced is not None
    assert ablation.reduced.state == ReductionState.LOSES


def test_without_being_asked_for_no_line_is_tested() -> None:
    study = to_the_end(started(ablates=None), measuring())
    assert "ablation" not in purposes(study)
    assert study.recommendations.get().candidate.name == "fast"


def test_a_winner_that_was_not_confirmed_has_no_ablation() -> None:
    study = to_the_end(started(), measuring({}))
    assert set(purposes(study)) == {SlotPurpose.BLOCK}
    with pytest.raises(BadRequest, match="only a winner that was confirmed") as refused:
        started(confirms=False)
    assert refused.value.field == "ablates"


def test_a_winner_with_a_single_line_has_no_ablation() -> None:
    config = b"[mysqld]\ninnodb_io_capacity = 5000\n"
    study = to_the_end(started(configs=[ConfigText.of("fast", config)]), measuring())
    found = study.recommendations.get()
    assert (found.candidate.name, found.confirmation) == ("fast", ConfirmationState.CONFIRMED)
    assert SlotPurpose.ABLATION not in purposes(study)
    assert ablation_of(study) is None


def test_minutes_that_do_not_suffice_are_said_with_the_lines_that_were_not_tested() -> None:
    study = before(SlotPurpose.CONFIRMATION)
    Study.objects.filter(pk=study.pk).update(minutes=1)
    study = to_the_end(study, measuring())
    assert SlotPurpose.ABLATION not in purposes(study)
    found = study.recommendations.get()
    assert found.candidate.name == "fast"
    assert (
        "Its lines were measured together; none was tested separately, because there was no time "
        'left. The button "Test each line" on the study\'s page, or manage.py '
        f"study ablation {study.pk}, tests them, in at most 100 runs."
    ) in found.verdict
    assert sum(len(one.names) for one in with_state(ablated(study), RemovalState.UNTESTED)) == 4
    text = exported(study)
    assert re.search(r"measured with \d other setting", text)


def test_it_goes_on_where_it_was_whatever_happens_in_between() -> None:
    """Paused, resumed, without messages and asked twice: the same study as one in one go."""
    whole = purposes(ended())
    parts = before(SlotPurpose.ABLATION)
    pause_study(parts, by="somebody", reason="lunch")
    step(parts, measuring())
    assert study_progress(parts).text.startswith("paused")
    there = purposes(parts)
    advance_host(parts.host_id)
    assert purposes(parts) == there
    resume_study(parts)
    to_the_end(parts, measuring())
    assert purposes(parts) == whole
    assert parts.recommendations.get().candidate.name == "fast reduced"


def test_the_budget_counts_the_runs_of_an_ablation() -> None:
    study = started()
    first = StudyBudget(StudyRows(study)).runs
    assert first == 5 * 3 + 20 + MAX_ABLATION_RUNS


def test_progress_names_what_is_left_out() -> None:
    study = before(SlotPurpose.ABLATION)
    slot = study.slots.filter(purpose=SlotPurpose.ABLATION).first()
    assert slot is not None
    Run.objects.filter(pk=slot.run_id).update(state=RunState.RUNNING, started_at=timezone.now())
    found = study_progress(study)
    assert found.text.startswith(f"testing lines, block 1: {slot.candidate.name}")
    Run.objects.filter(pk=slot.run_id).update(state=RunState.QUEUED, started_at=None)
    cancel_study(study)
    study.refresh_from_db()
    assert study.state == StudyState.CANCELLED
    assert not study.slots.filter(run__state=RunState.QUEUED).exists()


def test_an_extension_does_not_test_the_lines_of_the_same_winner_again() -> None:
    study = ended()
    there = purposes(study)
    extend_study(study, 1)
    to_the_end(study, measuring())
    assert set(purposes(study)[len(there) :]) == {SlotPurpose.BLOCK}
    assert study.recommendations.get().candidate.name == "fast reduced"


def test_a_line_without_which_the_server_does_not_start_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuses(_binary: Any, options: Mapping[str, str], **_: Any) -> Trial:
        if "innodb_io_capacity" in options and "table_open_cache" not in options:
            raise RunFailed(Outcome.NO_START, "it does not want to")
        return Trial(variables=dict(options), log_tail="", seconds=1.0)

    monkeypatch.setattr(trials, "try_config", refuses)
    study = to_the_end(started(), measuring())
    found = study.recommendations.get()
    assert set(found.candidate.config.knobs) == {
        "innodb_io_capacity",
        "innodb_io_capacity_max",
        "table_open_cache",
    }
    (kept,) = with_state(ablated(study), RemovalState.NEEDED)
    assert kept.names == ("table_open_cache",)
    assert "it does not want to" in kept.reason


def test_files_say_what_each_line_brings() -> None:
    study = ended()
    result = StudyRows(study)
    found: Recommendation = result.recommendations[0]
    text = exported(study)
    assert "by removing it with innodb_io_capacity" in text
    assert "No measurable effect, so left out:" in text
    assert "innodb_flush_neighbors = 0: " in text
    assert "each line on its own" not in text
    for name in ("json", "sql", "rollback-cnf", "rollback-sql"):
        assert exported(study, name)
    document = json.loads(exported(study, "json"))
    assert [one["state"] for one in document["left_out"]] == ["no_effect", "no_effect"]
    assert all("by removing it" in line["evidence"] for line in document["lines"])

    # A line of which the baseline has another value gets that one back.
    for candidate in (found.candidate, study.candidates.get(is_baseline=True)):
        candidate.config.knobs |= {"table_open_cache": "2000"}
        candidate.config.save()
    document = json.loads(exported(study, "json"))
    assert len(document["left_out"]) == 2
    evidence = {line["name"]: line["evidence"] for line in document["lines"]}
    assert evidence["table_open_cache"] == "same value as server-default"
    assert "by removing it" in evidence["innodb_io_capacity"]


def test_runs_without_a_result_are_counted_of_a_reduced_config_too() -> None:
    study = ended()
    found = study.recommendations.get()
    measured = study.slots.filter(purpose=SlotPurpose.REDUCED, candidate=found.candidate)

    def counts() -> tuple[int, int]:
        reduced = ablated(study).reduced
        assert reduced is not None
        return reduced.runs, reduced.failures

    assert counts() == (measured.count(), 0)
    Run.objects.filter(slot=measured[0]).update(state=RunState.DISTURBED)
    assert counts() == (measured.count() - 1, 1)
