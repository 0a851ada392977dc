"""The kind of job that measures: one config once, on one device with one workload."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.fields.json import KT

from benchmarks.datasets.source import source_of
from benchmarks.drivers.protocol import Driver, Load
from benchmarks.drivers.select import find_driver
from benchmarks.drivers.tpcc_mysql import NOT_ENCRYPTED
from benchmarks.inventory.in_place import unchanged_server
from benchmarks.jobs.kinds import Ending, Failure, Job, JobKind, Values
from benchmarks.jobs.leftovers import RUN_PREFIX
from benchmarks.jobs.load_desk import LoadDesk, LoadHostFailed, load_desk
from benchmarks.jobs.provenance import code_commit
from benchmarks.measurement.early_stop import CutRule
from benchmarks.measurement.measure import measure
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.models import CrashTest, Run, Sample
from benchmarks.remote_load.driver import RemoteDriver
from benchmarks.servers.reach import Reach
from benchmarks.telemetry.disturbance import USUAL_RUNS, Limits, steal_limit

Measure = Callable[..., Measurement]
#: Returns the rule by which a run is cut short, called when the run begins; None: never.
CutRuleFor = Callable[[Run], CutRule | None]


#: Called with the key of a host that has something new to do.
Wake = Callable[[int], None]


def nobody(_: int) -> None:
    """Every host finds its work by itself, seconds later."""


def never_cut(_: Run) -> CutRule | None:
    """No run is cut short."""
    return None


@dataclass(frozen=True)
class RunKind(JobKind[Run]):
    """Runs. A late result is accepted as long as the run has not been queued again."""

    name = "run"
    task = "tuning.execute"
    passing: ClassVar[Values] = {"live": None}
    measure: Measure = measure
    cut_rule: CutRuleFor = never_cut
    wake: Wake = nobody

    @property
    def rows(self) -> QuerySet[Run]:
        return Run.objects.select_related("device", "server", "workload__load_host", "config")

    def work(self, job: Job[Run]) -> Ending:
        with planned(job, f"{RUN_PREFIX}{job.row.pk}", self.wake) as plan:
            measured = self.measure(
                replace(
                    plan,
                    cut_rule=self.cut_rule(job.row),
                    tell_live=lambda seconds: job.report(live=seconds),
                ),
                report=lambda step: job.report(step=step),
                should_stop=job.should_stop,
                keep=lambda measured: job.keep(ending_of(measured)),
            )
            return ending_of(measured)

    def failed(self, row: Run, failure: Failure) -> Ending:
        state, reason, log_tail = failure.outcome.value, failure.reason, failure.log_tail
        return Ending({"state": state, "step": "", "reason": reason, "log_tail": log_tail})

    def store_details(self, row_id: int, details: list[Values]) -> None:
        """The seconds of its telemetry."""
        Sample.objects.bulk_create(Sample(run_id=row_id, **second) for second in details)


def ending_of(measured: Measurement) -> Ending:
    """Return the columns of the run's row, its state among them, and the rows of its samples.

    Every figure of Metrics has its column. A disturbed run gets no figure that could be ranked,
    one that was cut short a bound instead of a figure.
    """
    debt, latency = measured.write_debt, measured.latency
    values = {
        "state": measured.outcome.value,
        "step": "",
        "reason": measured.reason,
        "driver_version": measured.driver_version,
        "code_commit": code_commit(),
        "comparability_key": measured.comparability_key,
        "fingerprint": measured.fingerprint,
        "variables": measured.variables,
        "step_seconds": measured.step_seconds,
        "conditions": measured.conditions,
        "disturbances": [found.as_document() for found in measured.disturbances],
        "log_tail": measured.log_tail,
        "write_debt": debt and debt.as_json(),
        "load_side": measured.load_side and measured.load_side.as_json(),
        "debt_grew": debt is not None and debt.is_marked,
        **(asdict(measured.metrics) if measured.metrics else {}),
        "latency": latency and latency.as_json(),
        "redo_mb_s": measured.redo_mb_s,
        "trend_pct": measured.trend_pct,
        "still_warming": measured.still_warming,
        "throughput_at_most": measured.throughput_at_most,
    }
    return Ending(values, list(measured.samples))


@contextmanager
def planned(
    job: Job[Run] | Job[CrashTest], name: str, wake: Callable[[int], None]
) -> Iterator[Plan]:
    """The plan of a job's row, with its load host for the length of the block if it has one.

    Raises what `plan_for` and `load_desk` raise.
    """
    load_host = job.row.workload.load_host
    if load_host is None:
        yield plan_for(job.row, name)
        return
    job.report(step="waiting for the load host")

    def take() -> AbstractContextManager[LoadDesk]:
        return load_desk(job.row, load_host, wake=wake, should_stop=job.should_stop)

    with take() as desk:
        hello = desk.hello
        reach = Reach(
            settings.LOAD_ADDRESS,
            hello.address,
            encrypted=settings.LOAD_TLS,
            port=settings.LOAD_PORT,
        )
        if reach.encrypted and not hello.encrypts:
            raise LoadHostFailed(f"load host {desk.host}: {NOT_ENCRYPTED}")
        # The fingerprint names the host by its key, because its name can be changed.
        facts = {
            "load_host": f"host {load_host.pk}",
            "load_encrypted": "yes" if reach.encrypted else "no",
        }
        driver = RemoteDriver(desk, take, watches_stalls=bool(settings.STALL_LIMIT_PCT))
        plan = plan_for(job.row, name, driver)
        yield replace(plan, reach=reach, load_facts=hello.facts | facts)


def _earlier_steal_pct(row: Run | CrashTest) -> list[float]:
    """Return the steal time of the host's newest runs, void ones too, in % of its CPU time."""
    runs = Run.objects.filter(host=row.host_id, conditions__has_key="steal_pct").order_by("-pk")
    texts = runs.values_list(KT("conditions__steal_pct"), flat=True)
    return [float(text) for text in texts[:USUAL_RUNS]]


def plan_for(run: Run | CrashTest, name: str, driver: Driver | None = None) -> Plan:
    """The input of `measure`, read from the row; `name` is that of its directory.

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
