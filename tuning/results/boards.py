"""The boards of a study: its slots by device, workload and durability class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from benchmarks.models import RunState
from tuning.models import VARIANT_PURPOSES, Candidate, DurabilityClass, SlotPurpose
from tuning.results.board import Board
from tuning.results.document import RunFacts
from tuning.results.run_lines import SlotRow
from tuning.results.study_rows import StudyRows
from tuning.statistics.data import Observation
from tuning.strategy.racing import conclusion_alpha

_NO_BOARDS = {*VARIANT_PURPOSES, SlotPurpose.GATE}


def boards_of(rows: StudyRows) -> list[Board]:
    """Return a board per device, workload and durability class with a slot.

    Candidates that the config check refused have no slot but a line on the boards of their class.
    Configs that a search only screened are on no board; before a race has begun there is only the
    baseline. Variants of a winner are on no board either.
    """
    found: dict[tuple[int, int], list[SlotRow]] = {}
    for slot in rows.slots:
        found.setdefault(slot.place, []).append(slot)
    return [
        _board(rows, there, ranked, durability)
        for _, there in sorted(found.items())
        for ranked in [_for_boards(there)]
        for durability in _classes(ranked)
    ]


def _is_given(candidate: Candidate) -> bool:
    """Return whether the candidate was in the study from its start."""
    return not candidate.found_by_search and candidate.taken_from_id is None


def _for_boards(slots: Sequence[SlotRow]) -> list[SlotRow]:
    """The slots that make boards.

    Slots of variants, and of candidates that a search took no further, do not.
    """
    slots = [slot for slot in slots if slot.purpose not in _NO_BOARDS]
    raced = {s.candidate_id for s in slots if s.purpose != SlotPurpose.SEARCH}
    return [slot for slot in slots if slot.candidate_id in raced or slot.candidate.is_baseline]


def _classes(slots: Iterable[SlotRow]) -> list[DurabilityClass]:
    """The classes of the candidates, safest first; that of the baseline if there is no other."""
    candidates = {slot.candidate_id: slot.candidate for slot in slots}.values()
    found = {c.durability for c in candidates if not c.is_baseline}
    found = found or {c.durability for c in candidates}
    return [DurabilityClass(durability) for durability in sorted(found)]


def _belongs(candidate: Candidate, durability: DurabilityClass) -> bool:
    return candidate.is_baseline or candidate.durability == durability


def _owner(slot: SlotRow) -> Candidate:
    """The winner that a variant was made from, else the candidate itself."""
    return slot.candidate.taken_from or slot.candidate


def _board(
    rows: StudyRows,
    there: Sequence[SlotRow],
    ranked: Sequence[SlotRow],
    durability: DurabilityClass,
) -> Board:
    """Make the board of a class: of its slots `there` only the `ranked` make boards."""
    slots = [slot for slot in ranked if _belongs(slot.candidate, durability)]
    first = slots[0]
    refused = [
        one
        for one in rows.candidates.values()
        if one.refusal and one.durability == durability and _is_given(one)
    ]
    in_order = sorted((*(slot.candidate for slot in slots), *refused), key=lambda c: c.position)
    candidates = {candidate.name: candidate for candidate in in_order}
    in_blocks = [slot for slot in slots if slot.purpose == SlotPurpose.BLOCK]
    key = _comparable_key([slot for slot in slots if slot.purpose != SlotPurpose.SEARCH])
    ended = [slot for slot in in_blocks if slot.run.is_done]
    variants = [slot for slot in there if slot.purpose in VARIANT_PURPOSES]
    return Board(
        device=first.device,
        workload=first.workload,
        durability=durability,
        candidates=candidates,
        baseline=next(c for c in candidates.values() if c.is_baseline),
        observations=[slot.observation for slot in ended if not _is_excluded(slot.run, key)],
        slots=in_blocks,
        pair_slots=[slot for slot in slots if slot.purpose == SlotPurpose.CONFIRMATION],
        eliminations={
            rows.candidates[one.candidate_id].name: one
            for one in rows.eliminations
            if (one.device_id, one.workload_id) == first.place
            and rows.candidates[one.candidate_id].name in candidates
        },
        excluded=[slot.run.id for slot in ended if _is_excluded(slot.run, key)],
        alpha=conclusion_alpha(rows.study.conclusions),
        screening=[slot for slot in slots if slot.purpose == SlotPurpose.SEARCH],
        ablation_slots=[slot for slot in variants if _belongs(_owner(slot), durability)],
        aim=rows.aim,
        crash_tests={
            one.candidate.name: one.test
            for one in rows.crash_slots
            if one.test.is_finished and (one.device_id, one.workload_id) == first.place
        },
        confirms=rows.study.confirms,
    )


def screened_runs(slots: Iterable[SlotRow]) -> list[Observation]:
    """The ended runs of a search in one place, as far as they can be compared, in their order."""
    there = [slot for slot in slots if slot.purpose == SlotPurpose.SEARCH]
    key = _comparable_key(there)
    ended = [slot for slot in there if slot.run.is_finished]
    return [slot.observation for slot in ended if not _is_excluded(slot.run, key)]


def _comparable_key(slots: Sequence[SlotRow]) -> str:
    """The comparability key by which most runs can be ranked; in a tie that of the newest run.

    A run can be ranked if the baseline of its block has the same key: a key that most runs share
    is of no use if the baseline has another.
    """
    ok = [slot for slot in slots if slot.run.state == RunState.OK]
    baselines = {
        (slot.block, slot.run.comparability_key) for slot in ok if slot.candidate.is_baseline
    }
    keys = [slot.run.comparability_key for slot in sorted(ok, key=lambda slot: slot.order)]
    rankable = Counter(
        slot.run.comparability_key
        for slot in ok
        if (slot.block, slot.run.comparability_key) in baselines
    )
    last = {key: index for index, key in enumerate(keys)}
    return max(last, key=lambda key: (rankable[key], keys.count(key), last[key]), default="")


def _is_excluded(run: RunFacts, key: str) -> bool:
    has_figures = run.state in (RunState.OK, RunState.CUT_SHORT)
    return has_figures and run.comparability_key != key
