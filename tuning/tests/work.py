"""Jobs done here and now, as the worker's task does them; False when there was nothing to do.

Most of what these tests cost is reading rows: what is only looked at is read alone.
"""

from __future__ import annotations

from benchmarks.jobs.claimant import claimant
from benchmarks.jobs.crash_tests import Kill
from benchmarks.jobs.engine import execute
from benchmarks.jobs.probes import Look, ProbeKind
from benchmarks.jobs.runs import CutRuleFor, Measure, never_cut
from benchmarks.measurement.measure import measure as really_measure
from benchmarks.measurement.plan import Plan
from benchmarks.models import Run, RunState
from benchmarks.probe.run import probe_device
from tuning.models import Slot, Study
from tuning.studies.jobs import StudyCrashTestKind, StudyRunKind
from tuning.studies.preparation import PreparationKind

#: The claim of a process of another home.
ELSEWHERE = "another-boot.1.2.3.4"


def dead_claim() -> str:
    """The claim of another process of this home: it is dead while nobody holds the home's lock."""
    return f"{claimant()}0"


def next_run(study: Study) -> int | None:
    """The key of the run that the study measures next; None if none is queued."""
    queued = Run.objects.filter(slot__study=study, state=RunState.QUEUED).order_by("slot__order")
    return queued.values_list("pk", flat=True).first()


def purpose_of(plan: Plan) -> str:
    """What the run is for that is measured by this plan."""
    slots = Slot.objects.filter(run=int(plan.name.removeprefix("run-")))
    return slots.values_list("purpose", flat=True).get()


def execute_run(
    run_id: int, *, measure: Measure = really_measure, cut_rule: CutRuleFor = never_cut
) -> bool:
    return execute(StudyRunKind(measure, cut_rule), run_id)


def execute_probe(probe_id: int, *, look: Look = probe_device) -> bool:
    return execute(ProbeKind(look), probe_id)


def prepare_study(study_id: int) -> bool:
    return execute(PreparationKind(), study_id)


def execute_crash_test(test_id: int, kill: Kill) -> bool:
    return execute(StudyCrashTestKind(kill), test_id)
