"""What was stored of single runs beside their figures: response times and seconds.

Read for the few runs that a chart shows, in a fixed number of queries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from benchmarks.drivers.latency import LatencyHistogram
from benchmarks.models import Run, RunState, Sample
from tuning.results.boards import Board
from tuning.results.slot_rows import RunRow

#: Configs over each other in one chart: more cannot be told apart.
MAX_CONFIGS = 6

AnyRun = TypeVar("AnyRun", bound=Run | RunRow)


@dataclass(frozen=True)
class Seconds:
    """A run second by second (negative: warm-up); None where nothing was counted."""

    second: list[int] = field(default_factory=list)
    new_orders: list[float | None] = field(default_factory=list)
    p95_ms: list[float | None] = field(default_factory=list)
    cpu_busy_pct: list[float | None] = field(default_factory=list)


def latencies_of(runs: Iterable[int]) -> dict[int, LatencyHistogram]:
    """By primary key; runs from before they were stored are left out."""
    stored = Run.objects.filter(pk__in=list(runs)).values_list("pk", "latency")
    return {pk: LatencyHistogram.from_json(found) for pk, found in stored if found is not None}


def seconds_of(runs: Iterable[int]) -> dict[int, Seconds]:
    """By primary key; runs whose series was deleted are left out."""
    found: dict[int, Seconds] = defaultdict(Seconds)
    columns = "run", "second", "new_orders", "p95_ms", "cpu_user_pct", "cpu_sys_pct"
    stored = Sample.objects.filter(run__in=list(runs)).order_by("run_id", "second")
    for run, second, new_orders, p95_ms, user, system in stored.values_list(*columns):
        one = found[run]
        one.second.append(second)
        one.new_orders.append(new_orders)
        one.p95_ms.append(p95_ms)
        one.cpu_busy_pct.append(None if user is None or system is None else user + system)
    return dict(found)


def shown_candidates(board: Board, most: int) -> list[str]:
    """The baseline and the best others that have a successful run, best first."""
    there = [line.candidate for line in board.judgement.ranked if line.runs]
    baseline = board.baseline.name
    others = [name for name in there if name != baseline][: most - 1]
    return [name for name in there if name in others or name == baseline]


def ok_runs(board: Board, names: Sequence[str]) -> Mapping[str, list[RunRow]]:
    """By candidate the successful runs of its blocks."""
    found: dict[str, list[RunRow]] = {name: [] for name in names}
    for slot in board.slots:
        is_shown = slot.candidate.name in found
        if is_shown and slot.run.state == RunState.OK and slot.run.tpmP is not None:
            found[slot.candidate.name].append(slot.run)
    return found


def middle_run(runs: Sequence[AnyRun]) -> AnyRun:
    """The run with the median tpmP; of an even number the slower of the middle two."""
    return sorted(runs, key=lambda run: (run.tpmP or 0.0, run.pk))[(len(runs) - 1) // 2]
