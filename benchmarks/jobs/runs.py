"""The kind of job that measures: one config once, on one device with one workload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now

from benchmarks.drivers.protocol import Load
from benchmarks.drivers.select import find_driver
from benchmarks.inventory.in_place import unchanged_server
from benchmarks.jobs.kinds import Ending, Failure, Job, JobKind, Values
from benchmarks.jobs.leftovers import RUN_PREFIX
from benchmarks.jobs.run_values import run_values
from benchmarks.measurement.early_stop import CutRule
from benchmarks.measurement.measure import measure
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import CutShort, Disturbed, Ended, Measurement
from benchmarks.models import CrashTest, Run, RunState, Sample
from benchmarks.telemetry.disturbance import Limits

Measure = Callable[..., Measurement]
#: Returns the rule by which a run is cut short, called when the run begins; None: never.
CutRuleFor = Callable[[Run], CutRule | None]


def never_cut(_: Run) -> CutRule | None:
    """No run is cut short."""
    return None


@dataclass(frozen=True)
class RunKind(JobKind[Run]):
    """Runs. A late result is accepted as long as the run has not been queued again."""

    name = "run"
    task = "tuning.execute"
    measure: Measure = measure
    cut_rule: CutRuleFor = never_cut

    @property
    def rows(self) -> QuerySet[Run]:
        return Run.objects.all()

    def claimed(self) -> Values:
        return {"state": RunState.RUNNING, "started_at": Now()}

    def work(self, job: Job[Run]) -> Ending:
        plan = plan_for(job.row, f"{RUN_PREFIX}{job.row.pk}")
        try:
            return _driven(
                self.measure(
                    replace(plan, cut_rule=self.cut_rule(job.row)),
                    report=lambda step: job.report(step=step),
                    should_stop=job.should_stop,
                    keep=lambda ended: job.keep(_driven(ended)),
                )
            )
        except (Disturbed, CutShort) as seen:
            return _driven(seen)

    def failed(self, row: Run, failure: Failure) -> Ending:
        state, reason, log_tail = failure.outcome.value, failure.reason, failure.log_tail
        return Ending({"state": state, "step": "", "reason": reason, "log_tail": log_tail})

    def store_details(self, row_id: int, details: list[Values]) -> None:
        """The seconds of its telemetry."""
        Sample.objects.bulk_create(Sample(run_id=row_id, **second) for second in details)


def _driven(ended: Ended) -> Ending:
    values, samples = run_values(ended)
    return Ending({"step": "", "reason": "", **values}, [dict(row) for row in samples])


def plan_for(run: Run | CrashTest, name: str) -> Plan:
    """The input of `measure`, read from the row; `name` is that of its directory.

    Raises NotAServer, ServerChanged, NoDriver, DeviceUnusable or another BenchmarkError if
    something no longer exists.
    """
    binary = unchanged_server(run.server)
    workload, device = run.workload, run.device
    return Plan(
        name=name,
        binary=binary,
        driver=find_driver(workload.driver),
        load=Load(
            warehouses=workload.warehouses,
            connections=workload.connections,
            warmup_s=workload.warmup_s,
            measure_s=workload.measure_s,
            seed=run.seed,
        ),
        options=dict(run.config.knobs),
        layout=device.layout,
        emulation=device.profile,
        logs_with_data=run.logs_with_data,
        expected=(device.found, device.found_for_logs),
        registry=settings.INSTANCE_REGISTRY,
        limits=Limits(
            steal_pct=settings.STEAL_LIMIT_PCT,
            foreign_cpu_pct=settings.FOREIGN_CPU_LIMIT_PCT,
            foreign_io_pct=settings.FOREIGN_IO_LIMIT_PCT,
            stall_pct=settings.STALL_LIMIT_PCT,
            swap_mb_s=settings.SWAP_LIMIT_MB_S,
        ),
    )
