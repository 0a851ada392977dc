"""Jobs done here and now, as the worker's task does them; False when there was nothing to do."""

from __future__ import annotations

from benchmarks.jobs.claimant import claimant
from benchmarks.jobs.crash_tests import CrashTestKind, Kill
from benchmarks.jobs.engine import execute
from benchmarks.jobs.probes import Look, ProbeKind
from benchmarks.jobs.runs import CutRuleFor, Measure, RunKind, never_cut
from benchmarks.measurement.measure import measure as really_measure
from benchmarks.probe.run import probe_device
from tuning.studies.preparation import PreparationKind


def dead_claim() -> str:
    """The claim of a process that is dead: our pid, but started at another time."""
    us, _, started = claimant().rpartition(".")
    return f"{us}.{int(started) - 1}"


def execute_run(
    run_id: int, *, measure: Measure = really_measure, cut_rule: CutRuleFor = never_cut
) -> bool:
    return execute(RunKind(measure, cut_rule), run_id)


def execute_probe(probe_id: int, *, look: Look = probe_device) -> bool:
    return execute(ProbeKind(look), probe_id)


def prepare_study(study_id: int) -> bool:
    return execute(PreparationKind(), study_id)


def execute_crash_test(test_id: int, kill: Kill) -> bool:
    return execute(CrashTestKind(kill), test_id)
