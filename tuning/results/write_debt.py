"""Which ranked runs put their flushing off, and whether the winner's runs were long enough.

The rule for one run is in `benchmarks.telemetry.write_debt`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median

from benchmarks.counted import WERE, counted, percent
from benchmarks.models import RunState
from benchmarks.telemetry.write_debt import WriteDebt
from tuning.models import Candidate, SlotPurpose
from tuning.results.board import Board
from tuning.results.document import Debtor, RunFacts, finite

# The pairs that confirm a winner may be longer than the blocks; the seconds of runs vary slightly.
_AS_LONG = 0.9
# Candidates that a sentence names.
_MAX_NAMED = 4


def debtors_of(board: Board) -> list[Debtor]:
    """Return the candidates with marked runs in blocks or pairs, in the order of the study."""
    runs: dict[int, list[RunFacts]] = defaultdict(list)
    for slot in (*board.slots, *board.pair_slots):
        if slot.run.state == RunState.OK:
            runs[slot.candidate_id].append(slot.run)
    found = (_debtor(one, runs[one.pk]) for one in board.candidates.values())
    return [one for one in found if one is not None]


def debt_of_reduced(board: Board, reduced: Candidate) -> Debtor | None:
    """Return the debt of a winner without some of its lines, by its own fresh rounds."""
    measured = reduced.merged_into or reduced
    runs = [
        slot.run
        for slot in board.ablation_slots
        if slot.purpose == SlotPurpose.REDUCED
        and slot.candidate == measured
        and slot.run.state == RunState.OK
    ]
    return _debtor(reduced, runs)


def debt_sentence(debtors: Sequence[Debtor], names: Mapping[int, str]) -> str:
    """For the verdict and below a ranking; "" without a marked run."""
    if not debtors:
        return ""
    marked = sum(one.marked for one in debtors)
    named = [
        f"{names[one.candidate_id]} {one.marked} of {counted(one.runs, 'run')} "
        f"({percent(one.put_off)} of its writes)"
        for one in debtors[:_MAX_NAMED]
    ]
    if more := len(debtors) - len(named):
        named.append(f"and {counted(more, 'other config')}")
    return (
        f"{counted(marked, 'run', WERE)} too short for this ranking: disk writes were "
        f"postponed until after the measurement. {', '.join(named)}. Longer runs may rank them "
        "lower."
    )


def _debtor(candidate: Candidate, runs: Sequence[RunFacts]) -> Debtor | None:
    marked = [run for run in runs if run.debt_grew]
    if not marked:
        return None
    longest = max(run.measured_s or 0.0 for run in runs)
    long_runs = [_owes(run) for run in runs if (run.measured_s or 0.0) >= _AS_LONG * longest]
    known = [owes for run in marked if (owes := _owes(run)) is not None]
    needs = [needed for owes in known if (needed := owes.seconds_to_settle) is not None]
    needed_s = finite(median(needs)) if needs else None
    # One run that ended in the middle of a flush does not decide.
    settled = sum(owes is not None and owes.is_settled for owes in long_runs)
    is_settled = settled > len(long_runs) / 2
    return Debtor(
        candidate_id=candidate.pk,
        marked=len(marked),
        runs=len(runs),
        put_off=median(owes.put_off_most for owes in known),
        seconds_to_settle=needed_s,
        is_settled=is_settled,
    )


def _owes(run: RunFacts) -> WriteDebt | None:
    return WriteDebt.from_json(run.write_debt) if run.write_debt else None
