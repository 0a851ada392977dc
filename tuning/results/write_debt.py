"""Which ranked runs put their flushing off, and whether the winner's runs were long enough.

The rule for one run is in `benchmarks.telemetry.write_debt`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.counted import counted, percent
from benchmarks.models import RunState
from tuning.models import Candidate, SlotPurpose
from tuning.results.boards import Board
from tuning.results.slot_rows import RunRow

# The pairs that confirm a winner may be longer than the blocks; the seconds of runs vary slightly.
_AS_LONG = 0.9
# Candidates that a sentence names.
_MAX_NAMED = 4


@dataclass(frozen=True)
class Debtor:
    """A candidate on one board: `marked` of its `runs` put their flushing off.

    `put_off` is the median share of the writes that its marked runs left for later.
    `seconds_to_settle` is how long a run would have to be, None if unknown; `is_settled` whether
    its longest runs were long enough.
    """

    candidate: Candidate
    marked: int
    runs: int
    put_off: float
    seconds_to_settle: float | None
    is_settled: bool


def debtors_of(board: Board) -> list[Debtor]:
    """The candidates with marked runs in blocks or pairs, in the order of the study."""
    runs: dict[int, list[RunRow]] = defaultdict(list)
    for slot in (*board.slots, *board.pair_slots):
        if slot.run.state == RunState.OK:
            runs[slot.candidate_id].append(slot.run)
    return [
        _debtor(candidate, runs[candidate.pk])
        for candidate in board.candidates.values()
        if any(run.debt_grew for run in runs[candidate.pk])
    ]


def debt_of_reduced(board: Board, reduced: Candidate) -> list[Debtor]:
    """The same of a winner without some of its lines, by its own fresh rounds."""
    measured = reduced.merged_into or reduced
    runs = [
        slot.run
        for slot in board.apart_slots
        if slot.purpose == SlotPurpose.REDUCED
        and slot.candidate == measured
        and slot.run.state == RunState.OK
    ]
    return [_debtor(reduced, runs)] if any(run.debt_grew for run in runs) else []


def debt_sentence(debtors: Sequence[Debtor]) -> str:
    """For the verdict and below a ranking; "" without a marked run."""
    if not debtors:
        return ""
    marked = sum(one.marked for one in debtors)
    named = [
        f"{one.candidate.name} {one.marked} of {counted(one.runs, 'run')} "
        f"({percent(one.put_off)} of its writes)"
        for one in debtors[:_MAX_NAMED]
    ]
    if more := len(debtors) - len(named):
        named.append(f"and {counted(more, 'other config')}")
    return (
        f"{counted(marked, 'run')} of this ranking ended with a growing write "
        f"debt, so that flushing came after the measurement: {', '.join(named)}. Longer runs may "
        "rank them lower."
    )


def settling_sentence(mine: Debtor) -> str:
    """Return whether the config was measured long enough."""
    name = mine.candidate.name
    if mine.is_settled:
        return (
            f"{name} was also measured in runs so long that its write debt stopped "
            "growing or its redo log was filled twice."
        )
    length = (
        f"; with runs of {_length(mine.seconds_to_settle)} it would have filled its redo log twice"
        if mine.seconds_to_settle is not None
        else ""
    )
    return (
        f"{name} was not measured long enough: its write debt was still growing when "
        f"its runs ended{length}. Its lead may shrink in longer use."
    )


def _length(seconds: float) -> str:
    """As 200 s, from two hours on as 136 h."""
    return f"{seconds:.0f} s" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def _debtor(candidate: Candidate, runs: Sequence[RunRow]) -> Debtor:
    marked = [run for run in runs if run.debt_grew]
    longest = max(run.measured_seconds or 0.0 for run in runs)
    long_runs = [run.owes for run in runs if (run.measured_seconds or 0.0) >= _AS_LONG * longest]
    known = [owes for run in marked if (owes := run.owes) is not None]
    needs = [needed for owes in known if (needed := owes.seconds_to_settle) is not None]
    return Debtor(
        candidate=candidate,
        marked=len(marked),
        runs=len(runs),
        put_off=median(owes.put_off_most for owes in known),
        seconds_to_settle=median(needs) if needs else None,
        # One run that ended in the middle of a flush does not decide.
        is_settled=sum(owes is not None and owes.is_settled for owes in long_runs)
        > len(long_runs) / 2,
    )
