"""Writes as rows what a running study measures next; its strategy proposes it.

One block at a time is queued, because a strategy may decide after each what is in the next one.
New candidates of a proposal become rows at once; its runs wait in `Study.runs_to_queue` until
the server has tried those. All of a proposal is written in one transaction, so that a crash leaves
either nothing of it, and the same is proposed again, or all that is needed to continue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.db.models import Max, prefetch_related_objects

from benchmarks.inventory.stored import inventory_of
from benchmarks.models import ACTIVE_JOB_STATES, ACTIVE_RUN_STATES, BinaryLog, Config
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import traits_of
from tuning.configs.candidates import plan_proposed
from tuning.errors import TuningError
from tuning.models import Candidate, Elimination, SlotPurpose, Study, StudyState
from tuning.scale_model.model import ScaleModel
from tuning.statistics.aim import Aim
from tuning.statistics.gate import GatePlan
from tuning.strategy.compose import strategy_for
from tuning.strategy.protocol import (
    NOT_FOR_AN_ANSWER,
    Done,
    NewCandidate,
    PlannedRun,
    Proposal,
    Purpose,
    Strategy,
)
from tuning.strategy.search.plan import EarlierConfig, SearchPlan
from tuning.strategy.search.space import Space
from tuning.studies.budget import Place, measurable, places
from tuning.studies.events import note_elimination
from tuning.studies.host_resources import facts_of_host
from tuning.studies.revision import bump
from tuning.studies.rows import add_slots, candidate_row
from tuning.studies.strategy_history import history_of

# After so many proposals in a row without a config that can be measured none will have one.
MAX_FRUITLESS = 100


def strategy_of(study: Study) -> Strategy:
    """The strategy that the study was created with."""
    search = None if study.search is None else search_plan(study.search)
    return strategy_for(
        races=study.races,
        confirms=study.confirms,
        ablates=study.ablates,
        search=search,
        gate=None if study.gate is None else GatePlan.from_json(study.gate),
    )


def search_plan(stored: Mapping[str, Any]) -> SearchPlan:
    """The plan of a search from `Study.search`. A config that was deleted since is left out."""
    earlier = stored.get("earlier", [])
    configs = Config.objects.in_bulk({one["config"] for one in earlier}) if earlier else {}
    known = tuple(
        EarlierConfig(one["study"], configs[one["config"]].knobs, one["gain"], len(one["runs"]))
        for one in earlier
        if one["config"] in configs
    )
    return SearchPlan(Space.from_json(stored["space"]), Aim.from_json(stored), earlier=known)


@dataclass(frozen=True)
class Ahead:
    """A search's next proposal, worked out while nobody held the study's row.

    It counts as long as `revision` is still the study's.
    """

    revision: int
    answer: Proposal | Done


def think_ahead(study: Study) -> Ahead:
    """Return what a search proposes next.

    After hundreds of runs its model takes seconds. A transaction that held the study's row for so
    long would keep heartbeats and pages waiting, on SQLite every writer.
    """
    _read_places(study)
    (place,) = places(study)
    answer = strategy_of(study).propose(history_of(study, place))
    return Ahead(study.revision, answer)


def has_to_think(study: Study) -> bool:
    """Whether a search has nothing left to measure, so that its next proposal is due."""
    if study.search is None or study.state != StudyState.RUNNING or study.runs_to_queue:
        return False
    if study.is_paused or study.stop_request:
        return False
    if study.slots.filter(run__state__in=ACTIVE_RUN_STATES).exists():
        return False
    # The server whose recovery is timed needs the CPUs.
    return not study.crash_slots.filter(test__state__in=ACTIVE_JOB_STATES).exists()


def continue_study(study: Study, ahead: Ahead | None = None) -> tuple[Done, ...]:
    """Queue what is to be measured next; at the study's end return how it ended at each place.

    The caller holds the study's row, and nothing of the study is queued or running. With new
    candidates the study's state is `preparing` afterwards: the server tries them first.
    Raises TuningError, only_refused, for a strategy whose candidates are all refused.
    """
    current = ahead.answer if ahead and ahead.revision == study.revision else None
    bump([study.pk])
    if study.runs_to_queue and _queue_tried(study):
        return ()
    _read_places(study)
    strategy = strategy_of(study)
    ends: list[Done] = []
    for place in places(study):
        end = _continue(study, place, strategy, current)
        if end is None:
            return ()
        ends.append(end)
    return tuple(ends)


def _read_places(study: Study) -> None:
    """Devices and workloads, for all who ask `study` for them from now on."""
    prefetch_related_objects([study], "devices", "workloads")


def _continue(
    study: Study, place: Place, strategy: Strategy, current: Proposal | Done | None
) -> Done | None:
    """Write the strategy's proposals until one leaves something to measure. `current`: the first.

    Returns the strategy's end there; None while something is to be measured.
    """
    for _ in range(MAX_FRUITLESS):
        answer = current or strategy.propose(history_of(study, place))
        current = None
        _store_dropped(study, place, answer.dropped)
        if isinstance(answer, Done):
            return answer
        if write_proposal(study, place, answer):
            return None
    raise TuningError(
        "only_refused",
        f"the last {MAX_FRUITLESS} proposals had only configs that are refused here",
    )


def write_proposal(study: Study, place: Place, proposal: Proposal) -> bool:
    """Queue the runs of a proposal behind all others; those that are there already stay.

    With new candidates that pass the static gate the study is prepared once more before. False
    where nothing is left of the proposal: then the strategy is to be asked again.
    """
    passed = [_write_new(study, place, new).refusal == "" for new in proposal.new]
    if not any(passed):
        return _queue(study, place, proposal.runs)
    study.runs_to_queue = [
        [place.number, run.candidate, run.block, run.replicate, run.purpose.value, run.measure_s]
        for run in proposal.runs
    ]
    study.state = StudyState.PREPARING
    study.preparing_fraction, study.preparing_text = 0.0, ""
    study.save(update_fields=["runs_to_queue", "state", "preparing_fraction", "preparing_text"])
    return True


def _queue_tried(study: Study) -> bool:
    """Queue what waited for the trials of new candidates; False where nothing is left of it."""
    number = study.runs_to_queue[0][0]
    runs = [
        PlannedRun(name, block, replicate, Purpose(purpose), measure_s)
        for _, name, block, replicate, purpose, measure_s in study.runs_to_queue
    ]
    study.runs_to_queue = []
    study.save(update_fields=["runs_to_queue"])
    if study.concluded_at is not None:  # while they were tried
        runs = [run for run in runs if run.purpose not in NOT_FOR_AN_ANSWER]
    return _queue(study, places(study)[number], runs)


def _queue(study: Study, place: Place, runs: Sequence[PlannedRun]) -> bool:
    """Queue the runs of candidates that the gate let through, if there is something to compare.

    A round of a reduced config is of no use without that.
    """
    candidates = list(study.candidates.select_related("config"))
    if unknown := {run.candidate for run in runs} - {one.name for one in candidates}:
        raise ValueError(
            f"a proposal with runs of unknown candidates: {', '.join(sorted(unknown))}"
        )
    by_name = {candidate.name: candidate for candidate in measurable(candidates)}
    left = [run for run in runs if run.candidate in by_name]
    is_short = len(left) < len(runs) and any(run.purpose is Purpose.REDUCED for run in runs)
    if is_short or len({run.candidate for run in left}) < 2:
        return False
    add_slots(study, place.device, place.workload, left, by_name)
    return True


def _write_new(study: Study, place: Place, new: NewCandidate) -> Candidate:
    device = place.device
    target = traits_of(study.server)
    facts = facts_of_host(
        inventory_of(study.host),
        {Path(device.data_dir)},
        place.workload.connections,
        device.memory_limit_bytes,
        ScaleModel.from_json(study.scale_model),
        target,
    )
    whole = study.candidates.get(name=new.of) if new.of else None
    allowed = max(study.durability, whole.durability if whole else study.durability)
    planned = plan_proposed(
        new.name,
        new.knobs,
        target,
        source=new.source,
        durability=Durability(allowed),
        host=replace(facts, binary_log=BinaryLog(study.binary_log).is_on),
    )
    last = study.candidates.aggregate(last=Max("position"))["last"]
    if whole is None:
        return candidate_row(study, last + 1, planned, found_by_search=True)
    planned = replace(planned, logs_with_data=whole.logs_with_data)
    return candidate_row(study, last + 1, planned, taken_from=whole, without=new.without)


def _store_dropped(study: Study, place: Place, dropped: Mapping[str, str]) -> None:
    if not dropped:
        return
    here = study.slots.filter(
        device=place.device, workload=place.workload, purpose=SlotPurpose.BLOCK
    )
    after_block = here.aggregate(last=Max("block"))["last"] or 0
    for candidate in Candidate.objects.filter(study=study, name__in=dropped):
        left, is_new = Elimination.objects.get_or_create(
            candidate=candidate,
            device=place.device,
            workload=place.workload,
            defaults={
                "study": study,
                "after_block": after_block,
                "reason": dropped[candidate.name],
            },
        )
        if is_new:
            note_elimination(left)
