"""Jobs done here and now, as the worker's task does them; False when there was nothing to do.

Most of what these tests cost is reading rows: what is only looked at is read alone.
"""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

from benchmarks.jobs import probes, runs
from benchmarks.jobs.engine import execute
from benchmarks.jobs.locks import this_process
from benchmarks.measurement.crash_test import Recovered
from benchmarks.measurement.measure import measure as really_measure
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.models import Run, RunState
from benchmarks.outcomes import CutRule
from benchmarks.probe.result import ProbeResult
from benchmarks.probe.run import probe_device
from tuning.models import Slot, Study
from tuning.studies.jobs import StudyCrashTestKind, StudyRunKind
from tuning.studies.preparation import PreparationKind

Measure = Callable[..., Measurement]
CutRuleFor = Callable[[Run], CutRule | None]
#: The claim of a process of another home.
ELSEWHERE = "another-boot.1.2.3.4"


def dead_claim() -> str:
    """The claim of another process of this home: it is dead while nobody holds the home's lock."""
    return f"{this_process()}0"


def next_run(study: Study) -> int | None:
    """The key of the run that the study measures next; None if none is queued."""
    queued = Run.objects.filter(slot__study=study, state=RunState.QUEUED).order_by("slot__order")
    return queued.values_list("pk", flat=True).first()


def purpose_of(plan: Plan) -> str:
    """What the run is for that is measured by this plan."""
    slots = Slot.objects.filter(run=int(plan.name.removeprefix("run-")))
    return slots.values_list("purpose", flat=True).get()


def never_cut(_: Run) -> CutRule | None:
    return None


def execute_run(
    run_id: int, *, measure: Measure = really_measure, cut_rule: CutRuleFor = never_cut
) -> bool:
    with (
        patch.object(runs, "measure", measure),
        patch.object(StudyRunKind, "cut_rule", staticmethod(cut_rule)),
    ):
        return execute(StudyRunKind(), run_id)


def execute_probe(probe_id: int, *, look: Callable[..., ProbeResult] = probe_device) -> bool:
    with patch.object(probes, "probe_device", look):
        return execute(probes.ProbeKind(), probe_id)


def prepare_study(study_id: int) -> bool:
    return execute(PreparationKind(), study_id)


def execute_crash_test(test_id: int, kill: Callable[..., list[Recovered]]) -> bool:
    with patch.object(runs, "crash_test", kill):
        return execute(StudyCrashTestKind(), test_id)
