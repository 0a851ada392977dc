"""A study as a race: what leaves it, when it ends, how its winner is confirmed or withdrawn."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from tuning.catalogue.knob import Durability
from tuning.creation.create import create_study
from tuning.errors import BadRequest, TuningError
from tuning.models import SlotPurpose, Study, StudyState
from tuning.requests.configs import ConfigText
from tuning.requests.study import StudyRequest
from tuning.results.boards import boards_of
from tuning.results.study_rows import StudyRows
from tuning.statistics.confirmation import most_pairs
from tuning.statistics.tests.helpers import bounds
from tuning.studies.budget import ABLATION_SHARE, StudyBudget, places
from tuning.studies.commands import extend_study
from tuning.studies.progress import study_progress
from tuning.studies.scheduler import advance_host
from tuning.tests.export_cases import exported
from tuning.tests.fakes import begin, measurement, run_to_the_end
from tuning.tests.kept import kept
from tuning.tests.work import execute_run, next_run, purpose_of

pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("host_of_fakes", "sent"),
]

Measure = Callable[..., Measurement]
NOISE = 0.01
BASE = 6000.0


def cnf(capacity: int, *lines: str) -> bytes:
    return "\n".join(["[mysqld]", f"innodb_io_capacity = {capacity}", *lines]).encode()


def noisy(effects: dict[str, float], fresh: dict[str, float] | None = None) -> Measure:
    """Measures BASE times the effect of the config's innodb_io_capacity, with 1 % of noise.

    `fresh` are the effects in confirmation pairs, where they differ.
    """

    def measure(plan: Plan, **_: Any) -> Measurement:
        capacity = str(plan.options.get("innodb_io_capacity", ""))
        known = effects
        if fresh is not None and purpose_of(plan) == SlotPurpose.CONFIRMATION:
            known = fresh
        noise = math.exp(random.Random(plan.load.seed).gauss(0, NOISE))
        return measurement(BASE * known.get(capacity, 1.0) * noise)

    return measure


def started(**values: Any) -> Study:
    facts: dict[str, Any] = {
        "template": "compare",
        "configs": [
            ConfigText.of("fast", cnf(5000)),
            ConfigText.of("slow", cnf(300)),
            ConfigText.of("same", cnf(4000)),
        ],
        "blocks": 6,
        "seed": 7,
    }
    return create_study(StudyRequest(**(facts | values)))


EFFECTS = {"5000": 1.2, "300": 0.5}


def test_of_tied_winners_the_one_with_fewer_lines_is_confirmed_and_recommended() -> None:
    configs = [
        ConfigText.of("short", cnf(5000)),
        ConfigText.of(
            "long", cnf(5500, "innodb_lru_scan_depth = 2048", "table_open_cache = 4096")
        ),
    ]
    study = started(configs=configs, blocks=4, races=False)
    run_to_the_end(study, noisy({"5000": 1.2, "5500": 1.22}))
    assert study.state == StudyState.FINISHED, study.reason
    pairs = study.slots.filter(purpose=SlotPurpose.CONFIRMATION, candidate__is_baseline=False)
    assert set(pairs.values_list("candidate__name", flat=True)) == {"short"}
    advice = study.recommendations.get()
    assert (advice.candidate.name, advice.confirmation) == ("short", "confirmed")
    assert "chosen because it changes fewer variables than long" in advice.verdict


def to_be_confirmed() -> Study:
    """A study whose race has a winner, before the first of its fresh pairs."""

    def make() -> Study:
        study = started()
        begin(study)
        while not study.slots.filter(purpose=SlotPurpose.CONFIRMATION).exists():
            assert execute_run(next_run(study) or 0, measure=noisy(EFFECTS))
            advance_host(study.host_id)
        return study

    return kept("to be confirmed", make)


def test_a_candidate_that_is_behind_leaves_and_the_winner_is_confirmed_in_fresh_pairs() -> None:
    study = run_to_the_end(to_be_confirmed(), noisy(EFFECTS))
    assert study.state == StudyState.FINISHED, study.reason
    left = {one.candidate.name: one for one in study.eliminations.all()}
    assert set(left) == {"slow", "same"}
    assert "measurably below fast after 3 blocks" in left["slow"].reason
    pairs = study.slots.filter(purpose=SlotPurpose.CONFIRMATION).order_by("order")
    assert len(pairs) >= 10
    assert len({slot.block for slot in pairs}) == len(pairs) / 2
    names = [slot.candidate.name for slot in pairs]
    assert names[:4] in (
        ["fast", "server-default", "server-default", "fast"],
        ["server-default", "fast", "fast", "server-default"],
    )
    found = study.recommendations.get()
    assert (found.candidate.name, found.kind, found.confirmation) == (
        "fast",
        "winner",
        "confirmed",
    )
    assert found.low is not None
    assert found.high is not None
    assert found.low < 1.2 < found.high
    assert 1.15 < found.ratio_to_baseline < 1.25
    assert "Confirmed: fast" in found.verdict
    assert f" against server-default in {len(pairs) // 2} fresh pairs. " in exported(study)
    blocks = study.slots.filter(purpose=SlotPurpose.BLOCK)
    assert blocks.filter(candidate__name="slow").count() == 3
    assert blocks.filter(candidate__is_baseline=True, replicate=1).count() >= 5
    assert blocks.count() < 6 * 5


def test_a_lead_that_does_not_repeat_is_withdrawn() -> None:
    study = run_to_the_end(to_be_confirmed(), noisy(EFFECTS, fresh={"5000": 1.0}))
    found = study.recommendations.get()
    assert (found.candidate.name, found.confirmation) == ("server-default", "withdrawn")
    assert found.ratio_to_baseline == 1.0
    assert "Not confirmed: fast -0.2 % against server-default in 5 fresh pairs" in found.verdict


def test_without_race_every_block_has_everybody() -> None:
    study = run_to_the_end(started(races=False, confirms=False, blocks=4), noisy(EFFECTS))
    assert study.slots.count() == 4 * 5
    assert not study.eliminations.exists()
    found = study.recommendations.get()
    assert (found.candidate.name, found.confirmation) == ("fast", "")
    assert "not confirmed in fresh pairs" in found.verdict


def test_classes_of_durability_race_apart_and_share_the_baseline() -> None:
    risky = cnf(9000, "innodb_flush_log_at_trx_commit = 2")
    configs = [ConfigText.of("fast", cnf(5000)), ConfigText.of("risky", risky)]
    study = started(configs=configs, durability=Durability.D1, blocks=4)
    run_to_the_end(study, noisy({"5000": 1.2, "9000": 2.0}))
    answers = study.recommendations.values_list("durability", "candidate__name")
    assert dict(answers) == {"D0": "fast", "D1": "risky"}
    names = {board.durability: set(board.candidates) for board in boards_of(StudyRows(study))}
    assert names == {"D0": {"server-default", "fast"}, "D1": {"server-default", "risky"}}


def test_each_number_of_connections_has_its_own_race_and_answer() -> None:
    study = started(connections=[4, 8], configs=[ConfigText.of("fast", cnf(5000))])
    run_to_the_end(study, noisy(EFFECTS))
    found = study.recommendations.all()
    assert [one.workload.connections for one in found] == [4, 8]
    assert {one.candidate.name for one in found} == {"fast"}
    firsts = study.slots.filter(block=1, replicate=1).order_by("order")
    assert [slot.workload.connections for slot in firsts] == [4, 8]


def test_a_finished_study_is_extended_by_more_blocks() -> None:
    close = noisy({"5000": 1.004, "300": 0.998, "4000": 1.002})
    study = run_to_the_end(started(blocks=3), close)
    assert study.recommendations.get().kind == "not_confirmed"
    width = _width(study, "fast")
    extend_study(study, 4)
    study.refresh_from_db()
    assert (study.state, study.blocks, study.conclusions) == (StudyState.RUNNING, 7, 2)
    assert study.finished_at is None
    run_to_the_end(study, close)
    assert study.state == StudyState.FINISHED
    assert study.recommendations.count() == 1
    assert len({slot.block for slot in study.slots.filter(purpose=SlotPurpose.BLOCK)}) >= 7
    assert _width(study, "fast") < width


def _width(study: Study, name: str) -> float:
    found = boards_of(StudyRows(study))[0].judgement.analysis.standing(name).estimate
    low, _, high = bounds(found)
    return high - low


def test_what_cannot_be_extended_says_why() -> None:
    study = started(blocks=3, configs=[ConfigText.of("slow", cnf(300))])
    with pytest.raises(TuningError) as refused:
        extend_study(study, 2)
    assert refused.value.code == "not_finished"
    run_to_the_end(study, noisy(EFFECTS))
    with pytest.raises(BadRequest):
        extend_study(study, 0)
    with pytest.raises(TuningError) as refused:
        extend_study(study, 2)
    assert refused.value.code == "nothing_left"
    study.refresh_from_db()
    assert (study.state, study.blocks) == (StudyState.FINISHED, 3)


def test_a_study_whose_disk_was_replaced_is_not_extended() -> None:
    study = run_to_the_end(started(blocks=2, confirms=False), noisy({}))
    study.devices.update(retired_at=timezone.now())
    with pytest.raises(TuningError, match="another device is in its place") as refused:
        extend_study(study, 2)
    assert refused.value.code == "device_retired"
    study.refresh_from_db()
    assert (study.state, study.blocks) == (StudyState.FINISHED, 2)


def test_a_budget_in_minutes_ends_the_blocks() -> None:
    study = started(budget_minutes=30, configs=[ConfigText.of("same", cnf(4000))], blocks=1)
    run_to_the_end(study, noisy({}))
    assert study.state == StudyState.FINISHED
    # The minutes less five pairs, in runs of at least what the template asks for.
    blocks = study.slots.filter(purpose=SlotPurpose.BLOCK).count() / 3
    workload = study.workloads.get()
    run_s = workload.warmup_s + workload.measure_s
    assert blocks == (1800 - 10 * run_s) // run_s // 3


def test_a_budget_too_small_for_a_verdict_is_refused_with_what_is_needed() -> None:
    with pytest.raises(
        BadRequest, match=r"too little for 3 blocks .*: at least \d+ minutes"
    ) as no:
        started(budget_minutes=8)
    assert no.value.field == "budget_minutes"
    assert not Study.objects.exists()


def test_a_budget_has_to_suffice_without_what_is_kept_for_taking_the_winner_apart() -> None:
    def least(ablates: bool) -> int:
        with pytest.raises(BadRequest, match="too little") as refused:
            started(budget_minutes=8, ablates=ablates)
        return int(re.findall(r"at least (\d+) minutes", str(refused.value))[0])

    plain, ablation = least(False), least(True)
    assert ablation >= plain / (1 - ABLATION_SHARE) - 1 > plain
    started(budget_minutes=plain)
    with pytest.raises(BadRequest, match="too little"):
        started(budget_minutes=plain, ablates=True)
    study = started(budget_minutes=ablation, ablates=True)
    (place,) = places(study)
    runs = StudyBudget(StudyRows(study)).at(place.key).blocks.runs
    assert runs is not None
    assert runs // 5 >= 3


def test_progress_counts_what_is_ahead_at_most() -> None:
    study = started(blocks=4, configs=[ConfigText.of("fast", cnf(5000))])
    at_first = study_progress(study)
    # Four blocks of two candidates and the second baseline, and up to two pairs for each block.
    assert (at_first.runs_done, at_first.runs_total) == (0, 4 * 3 + 2 * 8)
    run_to_the_end(study, noisy(EFFECTS))
    at_last = study_progress(study)
    assert at_last.fraction == 1.0
    assert at_last.runs_done == at_last.runs_total == study.slots.count()


def test_what_is_ahead_of_an_extension_has_pairs_for_another_winner() -> None:
    study = run_to_the_end(
        started(blocks=4, configs=[ConfigText.of("fast", cnf(5000))]), noisy(EFFECTS)
    )
    assert study.slots.filter(purpose=SlotPurpose.CONFIRMATION).exists()
    done = study.slots.count()
    extend_study(study, 2)
    study.refresh_from_db()
    ahead = study_progress(study)
    blocks, pairs = 2 * 3, 2 * most_pairs(6, 2)
    assert (ahead.runs_total - done, ahead.runs_to_confirm) == (blocks + pairs, pairs)
    run_to_the_end(study, noisy(EFFECTS))
    at_last = study_progress(study)
    assert at_last.runs_done == at_last.runs_total == study.slots.count() == done + blocks


def test_what_is_ahead_at_most_never_grows_and_has_pairs_for_a_winner_of_each_class() -> None:
    risky = cnf(9000, "innodb_flush_log_at_trx_commit = 2")
    configs = [ConfigText.of("fast", cnf(5000)), ConfigText.of("risky", risky)]
    study = started(blocks=4, configs=configs, durability=Durability.D1)
    measured = noisy({"5000": 1.03, "9000": 1.03})
    seen = [study_progress(study)]

    def measure(plan: Plan, **rest: Any) -> Measurement:
        seen.append(study_progress(Study.objects.get(pk=study.pk)))
        return measured(plan, **rest)

    run_to_the_end(study, measure)
    assert seen[0].runs_total == 4 * 4 + 2 * 2 * 8
    totals = [one.runs_total for one in seen]
    assert totals == sorted(totals, reverse=True)
    assert study.slots.filter(purpose=SlotPurpose.CONFIRMATION).count() >= 20
    assert seen[-1].runs_to_confirm == 0


def test_a_study_may_have_many_connection_counts() -> None:
    assert started(connections=list(range(1, 21))).workloads.count() == 20
