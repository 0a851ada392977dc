"""The kinds of jobs that measure one config on one device: runs and crash tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.fields.json import KT

from benchmarks.datasets.source import source_of
from benchmarks.drivers.protocol import Driver, Load
from benchmarks.drivers.select import find_driver
from benchmarks.errors import BenchmarkError
from benchmarks.inventory.in_place import unchanged_server
from benchmarks.jobs.heartbeat import Job
from benchmarks.jobs.kinds import JobKind, ended
from benchmarks.jobs.load_host import take_load_host
from benchmarks.jobs.unstored import Values
from benchmarks.jobs.versions import code_commit
from benchmarks.measurement.crash_test import crash_test
from benchmarks.measurement.measure import measure
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.models import CrashTest, Run, Sample
from benchmarks.outcomes import CutRule
from benchmarks.telemetry.disturbance import USUAL_RUNS, Limits, steal_limit

#: The columns of a run that have the name and the content of a measurement's field.
_AS_MEASURED = (
    *("reason", "driver_version", "comparability_key", "fingerprint", "variables"),
    *("step_seconds", "conditions", "log_tail", "redo_mb_s", "trend_pct", "still_warming"),
    "throughput_at_most",
)


class RunKind(JobKind[Run]):
    """Runs. A late result is accepted as long as the run has not been queued again."""

    name = "run"
    task = "tuning.execute"

    @property
    def rows(self) -> QuerySet[Run]:
        return Run.objects.select_related("device", "server", "workload__load_host", "config")

    def cut_rule(self, run: Run) -> CutRule | None:
        """Return the rule by which a run is cut short; None: never."""
        return None

    def work(self, job: Job[Run]) -> Values:
        with _planned(self, job) as plan:
            measured = measure(
                replace(
                    plan,
                    cut_rule=self.cut_rule(job.row),
                    tell_live=lambda seconds: job.report(live=seconds),
                ),
                report=lambda step: job.report(step=step),
                should_stop=job.should_stop,
                keep=lambda measured: job.keep(columns_of(measured)),
            )
            return columns_of(measured)

    def failed(self, row: Run, error: BenchmarkError) -> Values:
        return ended(error.outcome.value, reason=str(error), log_tail=error.log_tail)

    def write(self, row_id: int, ending: Values) -> None:
        """Write the run's row and the seconds of its telemetry."""
        columns = {"live": None, **ending}
        samples = columns.pop("samples", ())
        super().write(row_id, columns)
        Sample.objects.bulk_create(Sample(run_id=row_id, **second) for second in samples)


class CrashTestKind(JobKind[CrashTest]):
    """Crash tests: a server is killed under load, and its recovery is timed.

    A server that somebody else killed makes the test lost, not failed.
    """

    name = "crash-test"
    task = "benchmarks.crash_test"

    @property
    def rows(self) -> QuerySet[CrashTest]:
        return CrashTest.objects.select_related(
            "device", "server", "workload__load_host", "config"
        )

    def work(self, job: Job[CrashTest]) -> Values:
        with _planned(self, job) as plan:
            kills = crash_test(
                plan,
                load_s=float(job.row.load_s),
                report=lambda step: job.report(step=step[:64]),
                should_stop=job.should_stop,
            )
        return ended("ok", kills=[kill.as_json() for kill in kills], code_commit=code_commit())


def columns_of(measured: Measurement) -> Values:
    """Return the columns of the run's row, and as `samples` those of its samples.

    Every figure of Metrics has its column. A disturbed run gets no figure that could be ranked,
    one that was cut short a bound instead of a figure.
    """
    debt, latency, side = measured.write_debt, measured.latency, measured.load_side
    return ended(
        measured.outcome.value,
        code_commit=code_commit(),
        disturbances=[found.as_document() for found in measured.disturbances],
        write_debt=debt and debt.as_json(),
        debt_grew=debt is not None and debt.is_marked,
        latency=latency and latency.as_json(),
        load_side=side and side.as_json(),
        samples=list(measured.samples),
        **{name: getattr(measured, name) for name in _AS_MEASURED},
        **(asdict(measured.metrics) if measured.metrics else {}),
    )


@contextmanager
def _planned(kind: RunKind | CrashTestKind, job: Job[Run] | Job[CrashTest]) -> Iterator[Plan]:
    """Yield the plan of a job's row, with its load host for the length of the block if it has one.

    Raises what `plan_for` and `take_load_host` raise.
    """
    row, name, host = job.row, f"{kind.name}-{job.row.pk}", job.row.workload.load_host
    if host is None:
        yield plan_for(row, name)
        return
    job.report(step="waiting for the load host")
    with take_load_host(row, host, should_stop=job.should_stop) as load:
        plan = plan_for(row, name, load)
        yield replace(plan, reach=load.reach(), load_facts=load.facts())


def _earlier_steal_pct(row: Run | CrashTest) -> list[float]:
    """Return the steal time of the host's newest runs, void ones too, in % of its CPU time."""
    runs = Run.objects.filter(host=row.host_id, conditions__has_key="steal_pct").order_by("-pk")
    texts = runs.values_list(KT("conditions__steal_pct"), flat=True)
    return [float(text) for text in texts[:USUAL_RUNS]]


def plan_for(run: Run | CrashTest, name: str, driver: Driver | None = None) -> Plan:
    """Return the input of `measure`, read from the row; `name` is that of its directory.

    `driver` is by default the one beside the server.

    Raises NotAServer, ServerChanged, NoDriver, DeviceUnusable or another BenchmarkError if
    something no longer exists.
    """
    binary = unchanged_server(run.server)
    workload, device = run.workload, run.device
    return Plan(
        name=name,
        binary=binary,
        driver=driver or find_driver(workload.driver),
        load=Load(
            workload.kind,
            connections=workload.connections,
            warmup_s=workload.warmup_s,
            measure_s=workload.measure_s,
            seed=run.seed,
        ),
        source=source_of(workload.kind),
        options=run.options,
        applied=run.applied,
        layout=device.layout,
        emulation=device.profile,
        logs_with_data=run.logs_with_data,
        expected=(device.found, device.found_for_logs),
        limits=Limits(
            steal_pct=steal_limit(settings.STEAL_LIMIT_PCT, _earlier_steal_pct(run)),
            foreign_cpu_pct=settings.FOREIGN_CPU_LIMIT_PCT,
            foreign_io_pct=settings.FOREIGN_IO_LIMIT_PCT,
            stall_pct=settings.STALL_LIMIT_PCT,
            swap_mb_s=settings.SWAP_LIMIT_MB_S,
            load_cpu_pct=settings.LOAD_CPU_LIMIT_PCT,
            load_steal_pct=settings.STEAL_LIMIT_PCT,
        ),
    )
