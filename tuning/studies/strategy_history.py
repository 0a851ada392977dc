"""Turns a study's rows into the history by which its strategy decides."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tuning.models import SlotPurpose, Study
from tuning.results.ablation import whole_of
from tuning.results.boards import Board, boards_of, screened_runs
from tuning.results.conditions import debtors_of
from tuning.results.gate import gate_seen
from tuning.results.study_rows import SlotRow, StudyRows
from tuning.strategy.protocol import FreshPair, GateSeen, Group, History
from tuning.strategy.racing import conclusion_alpha
from tuning.strategy.whole import Whole
from tuning.studies.budget import Place, StudyBudget, measurable


def history_of(study: Study, place: Place) -> History:
    """Return all that was measured at a place, and what may still be measured."""
    result = StudyRows(study)
    all_there = result.candidates
    candidates = [one for one in measurable(all_there.values()) if one.taken_from_id is None]
    there = [one for one in boards_of(result) if (one.device.pk, one.workload.pk) == place.key]
    found: dict[str, Board] = {board.durability: board for board in there}
    budget = StudyBudget(result).at(place.key)
    slots = budget.slots
    baseline = candidates[0].name
    classes = sorted({one.durability for one in candidates[1:]} | set(found))
    in_blocks = [slot for slot in slots if slot.purpose == SlotPurpose.BLOCK]
    earlier = {slot.block for slot in slots if slot.order <= study.extended_after}
    raced = {slot.name for slot in in_blocks}
    left = [one for one in result.eliminations if (one.device_id, one.workload_id) == place.key]
    return History(
        seed=study.seed + place.number,
        baseline=baseline,
        candidates=tuple(candidate.name for candidate in candidates),
        groups=tuple(
            _group(
                durability,
                (baseline, *(one.name for one in candidates[1:] if one.durability == durability)),
                found.get(durability),
                _whole(result, found.get(durability), place, slots),
                earlier,
            )
            for durability in classes
        ),
        planned_blocks=study.blocks,
        budget=budget.blocks,
        dropped={all_there[one.candidate_id].name: one.reason for one in left},
        blocks=len({slot.block for slot in in_blocks}),
        last_block=max((slot.block for slot in slots), default=0),
        owed_blocks=budget.owed_blocks,
        concludes=study.concluded_at is not None,
        alpha=conclusion_alpha(study.conclusions),
        knobs={one.name: one.config.knobs for one in all_there.values()},
        refused={one.name: one.refusal for one in all_there.values() if one.refusal},
        duplicates={
            one.name: one.merged_into.name for one in all_there.values() if one.merged_into
        },
        screened=tuple(screened_runs(slots)),
        # Only a budget has time for pairs that are longer than the blocks' runs.
        settle_s={
            all_there[one.candidate_id].name: one.seconds_to_settle
            for board in (there if study.budget_minutes is not None else ())
            for one in debtors_of(board)
            if not one.is_settled and one.seconds_to_settle is not None
        },
        pair_time=budget.pair_time,
        ablation_budget=budget.ablation,
        finalists=tuple(one.name for one in candidates[1:] if one.name in raced),
        gate=GateSeen() if study.gate is None else gate_seen(result),
    )


def _whole(
    result: StudyRows, board: Board | None, place: Place, slots: Sequence[SlotRow]
) -> Whole | None:
    """The board's confirmed winner, whose rounds will be as long as its pairs."""
    if board is None or not result.study.ablates:
        return None
    whole = whole_of(result, board)
    if whole is None:
        return None
    pairs = (s for s in slots if s.purpose == SlotPurpose.CONFIRMATION and s.name == whole.name)
    usual = place.workload.measure_s
    longest = max((slot.run.measure_s for slot in pairs), default=usual)
    if longest <= usual:
        return whole
    return replace(whole, measure_s=longest, longer_s=float(longest - usual))


def _group(
    name: str,
    candidates: tuple[str, ...],
    board: Board | None,
    whole: Whole | None,
    earlier: Collection[int],
) -> Group:
    """`earlier`: the numbers of the blocks and pairs before the study was extended."""
    if board is None:
        return Group(name, candidates)
    return Group(
        name,
        candidates,
        tuple(board.observations),
        frozenset({*board.failed, *board.over_limits}),
        tuple(
            FreshPair(one.name, pair.block, pair.winner, pair.baseline, pair.block in earlier)
            for one in board.candidates.values()
            if not one.is_baseline
            for pair in board.pairs_of(one, board.aim.objective)
        ),
        whole,
    )
