"""Reads a study's rows into ranked boards: one per device, workload and durability class.

What is not comparable is never mixed: a config that may lose commits is not "faster" than one
that may not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.models import Device, Run, RunState, Workload
from tuning.models import BULKY_OF_A_RUN, Candidate, DurabilityClass, Slot, Study
from tuning.ranking import Observation, Ranked, rank


@dataclass(frozen=True)
class Row:
    """A candidate's line on a board. Units as in `tuning.ranking.Ranked`; None is "no figure"."""

    candidate: Candidate
    ranked: Ranked


@dataclass(frozen=True)
class Board:
    """The ranking of one durability class on one device with one workload.

    The baseline is on every board: what the others are compared with, whatever its own class.
    """

    device: Device
    workload: Workload
    durability: DurabilityClass
    rows: list[Row]
    slots: list[Slot]
    # OK runs of another fingerprint, server, driver or dataset: shown, never ranked here.
    excluded_runs: int


def boards(study: Study) -> list[Board]:
    """The study's boards as they stand now, also while it runs."""
    slots = list(
        study.slots.select_related(
            "run", "candidate", "candidate__config", "device", "workload"
        ).defer(*BULKY_OF_A_RUN)
    )
    found = []
    for key in sorted({(slot.device_id, slot.workload_id) for slot in slots}):
        there = [slot for slot in slots if (slot.device_id, slot.workload_id) == key]
        for durability in _classes(there):
            found.append(_board([s for s in there if _belongs(s, durability)], durability))
    return found


def _classes(slots: Iterable[Slot]) -> list[DurabilityClass]:
    """The classes of the candidates, safest first; that of the baseline where it is alone."""
    candidates = {slot.candidate for slot in slots}
    found = {c.durability for c in candidates if not c.is_baseline}
    found = found or {c.durability for c in candidates}
    return [DurabilityClass(durability) for durability in sorted(found)]


def _belongs(slot: Slot, durability: DurabilityClass) -> bool:
    return slot.candidate.is_baseline or slot.candidate.durability == durability


def _board(slots: list[Slot], durability: DurabilityClass) -> Board:
    in_order = sorted((slot.candidate for slot in slots), key=lambda c: c.position)
    candidates = {candidate.name: candidate for candidate in in_order}
    baseline = next(c.name for c in candidates.values() if c.is_baseline)
    key = _comparable_key(slots)
    ended = [slot for slot in slots if slot.run.is_finished]
    ranked_slots = [slot for slot in ended if not _is_excluded(slot.run, key)]
    ranked = rank(
        [_observation(slot) for slot in ranked_slots],
        baseline=baseline,
        candidates=list(candidates),
    )
    return Board(
        device=slots[0].device,
        workload=slots[0].workload,
        durability=durability,
        rows=[Row(candidate=candidates[line.candidate], ranked=line) for line in ranked],
        slots=slots,
        excluded_runs=len(ended) - len(ranked_slots),
    )


def _comparable_key(slots: Sequence[Slot]) -> str:
    """The comparability key by which most runs can be ranked; of equals that of the newest run.

    A run can be ranked where the baseline of its block has the same key: what most runs share is
    of no use while the baseline is of another kind.
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
    last = {key: place for place, key in enumerate(keys)}
    return max(last, key=lambda key: (rankable[key], keys.count(key), last[key]), default="")


def _is_excluded(run: Run, key: str) -> bool:
    return run.state == RunState.OK and run.comparability_key != key


def _observation(slot: Slot) -> Observation:
    run = slot.run
    return Observation(
        candidate=slot.candidate.name,
        block=slot.block,
        outcome=run.state,
        tpmP=run.tpmP,
        p95_ms=run.p95_ms,
        p99_ms=run.p99_ms,
        max_ms=run.max_ms,
        server_path_length=run.server_path_length,
        host_path_length=run.host_path_length,
    )
