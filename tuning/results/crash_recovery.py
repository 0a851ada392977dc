"""How long configs took to serve again after a kill under load, in words and against a limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite

from benchmarks.counted import counted
from benchmarks.models import CrashTest, JobState
from benchmarks.outcomes import Outcome
from tuning.statistics.aim import recovery_limit_text

# What the config may have caused; a driver that failed or a device that was gone is not its fault.
_FAULTS = (
    Outcome.NO_START,
    Outcome.CRASHED,
    Outcome.OUT_OF_MEMORY,
    Outcome.DISK_FULL,
    Outcome.TIMED_OUT,
)


def not_recovered(tests: Mapping[str, CrashTest], limit_s: float | None) -> dict[str, str]:
    """By candidate why its crash recovery rules it out; `tests` have ended.

    A server that did not come back is never advice. With a limit nor is one that took longer even
    once, or whose recovery could not be timed: nothing shows that it keeps the limit.
    """
    found = {}
    for name, test in tests.items():
        if test.state == JobState.FAILED and test.reason_code in _FAULTS:
            found[name] = f"after a kill under load: {test.reason}"
        elif limit_s is not None:
            slowest = max(test.seconds, default=float("inf"))
            if slowest > limit_s:
                figure = f"{slowest:.1f} s" if isfinite(slowest) else "no figure"
                found[name] = f"{recovery_limit_text(limit_s)}: {figure}"
    return found


def was_timed(tests: Mapping[str, CrashTest], name: str) -> bool:
    """Whether there are seconds of that candidate."""
    return name in tests and bool(tests[name].seconds)


def recovery_sentences(tests: Mapping[str, CrashTest], names: Iterable[str]) -> list[str]:
    """One for each of these candidates that has a test."""
    return [recovery_sentence(name, tests[name]) for name in names if name in tests]


def recovery_sentence(name: str, test: CrashTest) -> str:
    """As `Killed under load 3 times, X served again after 2.1 to 3.4 s (...).`"""
    if not test.seconds:
        return f"The crash recovery of {name} could not be timed: {test.reason}."
    low, high = min(test.seconds), max(test.seconds)
    times = len(test.seconds)
    span = f"{low:.1f} s" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f} to {high:.1f} s"
    return (
        f"Killed under load {counted(times, 'time')}, {name} served again after "
        f"{span}{_redo(test)}."
    )


def _redo(test: CrashTest) -> str:
    """How much redo there was to apply; a full log takes longer."""
    ages = [age for kill in test.kills if (age := kill["checkpoint_age_bytes"]) is not None]
    sizes = [size for kill in test.kills if (size := kill["redo_capacity_bytes"]) is not None]
    if not ages:
        return ""
    of = f" of {max(sizes) / 1e6:,.0f} MB that its log holds" if sizes else ""
    return f", with up to {max(ages) / 1e6:,.0f} MB of redo to apply{of}"
