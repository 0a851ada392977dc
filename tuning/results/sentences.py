"""Sentences about a board and its place: failures, crash recovery, memory and data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite

from benchmarks.counted import counted, percent
from benchmarks.drivers.workloads import TPCC
from benchmarks.models import CrashTest, Device, JobState, RunState, Workload
from benchmarks.outcomes import Outcome
from tuning.models import Candidate, Study
from tuning.scale_model.model import ScaleModel
from tuning.scale_model.sizes import size_text
from tuning.statistics.aim import recovery_limit_text

MAX_REASONS = 3
# Outcomes that a config may cause; a failed driver or a missing device is not its fault.
_FAULTS = (
    Outcome.NO_START,
    Outcome.CRASHED,
    Outcome.OUT_OF_MEMORY,
    Outcome.DISK_FULL,
    Outcome.TIMED_OUT,
)


def all_failed_text(
    baseline: str, others: Iterable[Candidate], failed: Mapping[str, tuple[str, str]]
) -> str:
    """All other candidates failed, with the first few reasons; "" if that is not the case.

    `failed`: by name of a candidate a run that its config may have broken. A refused
    candidate has no run.
    """
    reasons: dict[str, list[str]] = {}
    for one in others:
        if one.refusal:
            why = f"refused ({one.refusal})"
        elif one.name in failed:
            state, reason = failed[one.name]
            why = str(RunState(state).label).lower()
            why += f" ({reason.rstrip('.')})" if reason else ""
        else:
            return ""
        reasons.setdefault(why, []).append(one.name)
    if not failed:
        return ""
    said = [f"{', '.join(names)}: {why}" for why, names in reasons.items()]
    more = len(said) - MAX_REASONS
    said[MAX_REASONS:] = [f"{counted(more, 'other reason')}"] if more > 0 else []
    return (
        f"Nothing to compare with {baseline}: every other candidate failed. {'; '.join(said)}. "
        "Each failed run has the last lines of its log."
    )


def not_recovered(tests: Mapping[str, CrashTest], limit_s: float | None) -> dict[str, str]:
    """Return why crash recovery rules candidates out, by candidate; `tests` have ended.

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


def recovery_sentence(name: str, test: CrashTest) -> str:
    """Return `Killed under load 3 times, X served again after 2.1 to 3.4 s (...).`"""
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
    """Return how much redo there was to apply; a full log takes longer."""
    ages = [age for kill in test.kills if (age := kill["checkpoint_age_bytes"]) is not None]
    sizes = [size for kill in test.kills if (size := kill["redo_capacity_bytes"]) is not None]
    if not ages:
        return ""
    of = f" of {max(sizes) / 1e6:,.0f} MB that its log holds" if sizes else ""
    return f", with up to {max(ages) / 1e6:,.0f} MB of redo to apply{of}"


def proportion_text(study: Study, device: Device, workload: Workload) -> str:
    """Memory and data on one device in a sentence; "" for an old study that did not store it.

    A scale model says what it is a model of, other studies what was measured.
    """
    if model := ScaleModel.from_json(study.scale_model):
        return model.sentence
    limit = device.memory_limit_bytes
    memory = limit if limit is not None else study.memory_bytes
    if memory is None:
        return ""
    data = workload.data_bytes
    share = memory / data
    times = percent(share) if share < 2 else f"{share:,.0f} times the data"
    said = f"{size_text(memory)} of memory for {size_text(data)} of data ({times})."
    if workload.name != TPCC:  # no scale model is made of it
        return said
    return f"{said} Is the proportion of your server different? Enter your sizes and run again."
