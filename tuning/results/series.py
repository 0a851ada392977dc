"""Series, logs and places of single runs, which stay outside of the result document.

They are read for the few runs that a chart shows, in a fixed number of queries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from benchmarks.drivers.response_times import LatencyHistogram
from benchmarks.models import Run, Sample
from tuning.models import Slot

#: Columns that a list of runs does not need: some 26 KB per run.
BULKY = ("variables", "fingerprint", "conditions", "step_seconds", "log_tail", "latency")


@dataclass(frozen=True)
class Seconds:
    """A run second by second (negative: warm-up); None where nothing was counted."""

    second: list[int] = field(default_factory=list)
    completed: list[float | None] = field(default_factory=list)
    p95_ms: list[float | None] = field(default_factory=list)
    cpu_busy_pct: list[float | None] = field(default_factory=list)


def latencies_of(runs: Iterable[int]) -> dict[int, LatencyHistogram]:
    """Return response times by primary key; runs without stored ones are left out."""
    stored = Run.objects.filter(pk__in=list(runs)).values_list("pk", "latency")
    return {pk: LatencyHistogram.from_json(found) for pk, found in stored if found is not None}


def seconds_of(runs: Iterable[int]) -> dict[int, Seconds]:
    """Return seconds by primary key; runs whose series was deleted are left out."""
    found: dict[int, Seconds] = defaultdict(Seconds)
    columns = "run", "second", "completed", "p95_ms", "cpu_user_pct", "cpu_sys_pct"
    stored = Sample.objects.filter(run__in=list(runs)).order_by("run_id", "second")
    for run, second, completed, p95_ms, user, system in stored.values_list(*columns):
        one = found[run]
        one.second.append(second)
        one.completed.append(completed)
        one.p95_ms.append(p95_ms)
        one.cpu_busy_pct.append(None if user is None or system is None else user + system)
    return dict(found)


def middle_run(throughputs: Mapping[int, float]) -> int:
    """Return the key of the run with the median throughput, of two the slower one."""
    order = sorted(throughputs, key=lambda key: (throughputs[key], key))
    return order[(len(order) - 1) // 2]


def log_tails(runs: Collection[int]) -> dict[int, str]:
    """Return the ends of the logs by primary key, in one query at most."""
    found = Run.objects.filter(pk__in=runs).values_list("pk", "log_tail") if runs else ()
    return dict(found)


def slot_of(run: Run) -> Slot | None:
    """Return the slot of a run, even of a replaced one; None for a run without a slot."""
    newest: Run | None = run
    while newest is not None:
        slot = Slot.objects.select_related("study", "candidate").filter(run=newest).first()
        if slot is not None:
            return slot
        newest = newest.retries.first()
    return None
