"""Whether a search that raced nothing found what its user's limits allow, by its short runs."""

from __future__ import annotations

from collections.abc import Iterable

from tuning.results.boards import Board, observation_of
from tuning.results.crash_recovery import recovery_sentences
from tuning.results.slot_rows import SlotRow
from tuning.statistics.aim import limit_text, missed_texts
from tuning.statistics.data import Observation


def limit_sentences(board: Board, screened: Iterable[SlotRow]) -> list[str]:
    """How many configs kept the limits, whether the baseline did, and how long it took to recover.

    `screened`: all short runs there. Nothing where there is no limit and no crash test.
    """
    aim, baseline = board.aim, board.baseline.name
    runs: dict[str, list[Observation]] = {}
    for slot in screened:
        run = observation_of(slot)
        if slot.run.is_finished and run.counts:
            runs.setdefault(run.candidate, []).append(run)
    texts = []
    others = [seen for name, seen in runs.items() if name != baseline]
    if aim.keep and others:
        kept = sum(not aim.missed(seen) for seen in others)
        limits = " and ".join(limit_text(metric, bound) for metric, bound in aim.keep.items())
        texts.append(f"In short runs {kept} of {len(others)} configs kept {limits}.")
    missed = [*missed_texts(aim, runs.get(baseline, []))]
    if late := board.not_recovered.get(baseline):
        missed.append(late)
    if missed:
        texts.append(f"{baseline} itself misses {'; '.join(missed)}.")
    return [*texts, *recovery_sentences(board.crash_tests, [baseline])]
