"""What a running study measures next: one more block, the pairs that confirm a winner, or nothing.

Blocks are queued one at a time, because the race decides after each who is in the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import IntegrityError, transaction

from tuning.models import BULKY_OF_A_RUN, Candidate, Elimination, SlotPurpose, Study
from tuning.results.boards import Board, boards
from tuning.statistics.confirmation import LEAST_PAIRS, pairs_needed
from tuning.strategy.design import block_order, confirmation_pairs
from tuning.strategy.racing import Budget, Step, StopReason, next_block
from tuning.studies.forecast import Arena, arenas, budget, measurable
from tuning.studies.rows import add_slots


def continue_study(study: Study) -> bool:
    """Queue what is to be measured next; False when the study is at its end.

    To be called when nothing of the study is queued or running. Safe to call twice at once.
    """
    try:
        with transaction.atomic():
            return any(_continue(study, arena) for arena in arenas(study))
    except IntegrityError:
        # Somebody else queued the same runs a moment ago.
        return True


def queue_more_blocks(study: Study, blocks: int) -> int:
    """Queue so many more blocks of all that are still in a race; returns how many runs."""
    before = study.slots.count()
    for arena in arenas(study):
        found = boards(study, arena.device, arena.workload)
        out = {one.candidate_id for board in found for one in board.eliminations.values()}
        there = [candidate for candidate in measurable(study) if candidate.pk not in out]
        if len(there) > 1:
            first = _last_block(found) + 1
            for block in range(first, first + blocks):
                _queue_block(study, arena, there, block)
    return study.slots.count() - before


def _continue(study: Study, arena: Arena) -> bool:
    found = boards(study, arena.device, arena.workload)
    if not found:
        _queue_block(study, arena, measurable(study), 1)
        return True
    left = _budget(study, arena)
    live = measurable(study)
    steps = {board.durability: _step(study, board, live, left) for board in found}
    for board in found:
        _eliminate(study, board, steps[board.durability])
    names = {name for step in steps.values() for name in step.run}
    if len(names) > 1 and left.allows(len(names) + 1):
        there = [candidate for candidate in live if candidate.name in names]
        _queue_block(study, arena, there, _last_block(found) + 1)
        return True
    return any(_confirm(study, arena, board, found) for board in found)


def _step(study: Study, board: Board, live: Sequence[Candidate], left: Budget) -> Step:
    out = {name: one.reason for name, one in board.eliminations.items()}
    if study.races:
        return next_block(
            board.observations,
            board.baseline.name,
            list(board.candidates),
            out,
            left,
        )
    done = len({slot.block for slot in board.slots})
    if done >= study.blocks:
        return Step(stop=StopReason.BUDGET)
    return Step(run=tuple(one.name for one in live if one.name in board.candidates))


def _budget(study: Study, arena: Arena) -> Budget:
    there = study.slots.filter(device=arena.device, workload=arena.workload)
    return budget(study, arena, list(there.select_related("run").defer(*BULKY_OF_A_RUN)))


def _eliminate(study: Study, board: Board, step: Step) -> None:
    blocks = max((slot.block for slot in board.slots), default=0)
    for name, reason in step.dropped.items():
        Elimination.objects.get_or_create(
            study=study,
            candidate=board.candidates[name],
            device=board.device,
            workload=board.workload,
            defaults={"after_block": blocks, "reason": reason},
        )


def _queue_block(study: Study, arena: Arena, there: Sequence[Candidate], block: int) -> None:
    by_name = {candidate.name: candidate for candidate in there}
    baseline = next(candidate.name for candidate in there if candidate.is_baseline)
    places = block_order(list(by_name), baseline, block, study.seed + arena.number)
    runs = [(by_name[place.candidate], place.twin) for place in places]
    add_slots(study, arena.device, arena.workload, block, runs)


def _confirm(study: Study, arena: Arena, board: Board, there: Sequence[Board]) -> bool:
    """Queue the pairs of a board's winner, unless they are there."""
    if not study.confirms:
        return False
    analysis = board.for_advice.analysis
    if analysis.winner is None:
        return False
    winner = board.candidates[analysis.winner]
    if board.pairs_of(winner):
        return False
    # To confirm must not cost more than to find.
    most = max(LEAST_PAIRS, 2 * study.blocks)
    count = min(pairs_needed(analysis), most)
    block = _last_block(there)
    by_name = {winner.name: winner, board.baseline.name: board.baseline}
    pairs = confirmation_pairs(winner.name, board.baseline.name, count, study.seed + arena.number)
    for number, pair in enumerate(pairs, start=1):
        add_slots(
            study,
            arena.device,
            arena.workload,
            block + number,
            [(by_name[place.candidate], place.twin) for place in pair],
            purpose=SlotPurpose.CONFIRMATION,
        )
    return True


def _last_block(there: Iterable[Board]) -> int:
    return max(
        (slot.block for board in there for slot in (*board.slots, *board.confirmations)),
        default=0,
    )
