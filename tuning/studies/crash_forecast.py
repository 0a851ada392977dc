"""How long the crash tests of a study still take, from plain columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from benchmarks.measurement.crash_test import KILLS
from benchmarks.models import ACTIVE_JOB_STATES, JobState, Workload
from tuning.models import Study
from tuning.requests.sizes import Sizes
from tuning.statistics.aim import Aim

#: Seconds of load before each kill: at least the first, at most the second.
MIN_LOAD_S, MAX_LOAD_S = 30, 300
# What a test takes beside its load, until one has shown it: a clone, the first start, and for each
# kill a start with the files out of the page cache. MySQL 9.7 with 1 GB on a virtio disk.
_OVERHEAD_S = 10.0
_RESTART_S = 10.0


@dataclass(frozen=True)
class CrashForecast:
    """`done` tests have ended, `left` may follow at most; `each_s` are the seconds of one.

    is_under_way: one is queued or running; nothing else is to be measured then.
    """

    done: int = 0
    left: int = 0
    each_s: float = 0.0
    is_under_way: bool = False

    @property
    def seconds(self) -> float:
        """The time of those that are left."""
        return self.left * self.each_s


def has_crash_tests(study: Study) -> bool:
    """Whether any may follow. A study whose user wants the answer now tests only for a limit."""
    if not study.crash_tests or study.concluded_at is None:
        return study.crash_tests
    return Aim.from_json(study.search or {}).max_recovery_s is not None


def load_seconds(sizes: Workload | Sizes) -> int:
    """Of load before each kill."""
    return min(max(sizes.warmup_s + sizes.measure_s, MIN_LOAD_S), MAX_LOAD_S)


def crash_test_s(sizes: Workload | Sizes) -> float:
    """Estimated seconds of one test, before another has shown it."""
    return _OVERHEAD_S + KILLS * (load_seconds(sizes) + _RESTART_S)


def crash_forecast(
    study: Study, workloads: Sequence[Workload], *, winners: int, confirmed: int
) -> CrashForecast:
    """On each place the baseline is tested, and every winner.

    `workloads`: one per place; `winners`: how many there may be on all of them, `confirmed` those
    that have pairs. Once tests have begun there are no others.
    """
    if not has_crash_tests(study):
        return CrashForecast()
    tests = list(
        study.crash_slots.values_list("test__state", "test__started_at", "test__finished_at")
    )
    done = sum(state not in ACTIVE_JOB_STATES for state, _, _ in tests)
    took = [
        (end - begin).total_seconds()
        for state, begin, end in tests
        if state == JobState.OK and begin is not None and end is not None
    ]
    planned = len(workloads) + (confirmed if tests and study.confirms else winners)
    return CrashForecast(
        done=done,
        left=max(planned, len(tests)) - done,
        each_s=median(took) if took else fmean(map(crash_test_s, workloads)),
        is_under_way=done < len(tests),
    )
