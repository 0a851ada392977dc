"""Rows of what is measured: workloads, configs, runs and their seconds, crash tests, loads."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.db import models

from benchmarks.counted import counted
from benchmarks.datasets.source import source_of
from benchmarks.drivers import protocol
from benchmarks.drivers.workloads import TPCC, unit_of, workload_of
from benchmarks.models.hosts import Device, Host, Server
from benchmarks.models.jobs import JobRow, JobState, QueuedJob
from benchmarks.outcomes import Outcome
from benchmarks.telemetry.write_debt import WriteDebt

_WORK = ("name", "warehouses", "tables", "table_size")
_SIZES = (*_WORK, "driver", "connections", "warmup_s", "measure_s")


class Workload(models.Model):
    """The load on the server, and for how long.

    warehouses: the size of TPC-C, else 0. tables, table_size (rows of each): the size of
        sysbench's scripts, else 0. warmup_s, measure_s: seconds.
    load_host: where the driver runs; null: beside the server.
    """

    name = models.CharField(max_length=32, default=TPCC)
    driver = models.CharField(max_length=32)
    warehouses = models.PositiveIntegerField(default=0)
    tables = models.PositiveIntegerField(default=0)
    table_size = models.PositiveIntegerField(default=0)
    connections = models.PositiveIntegerField()
    warmup_s = models.PositiveIntegerField()
    measure_s = models.PositiveIntegerField()
    load_host = models.ForeignKey(
        Host, null=True, on_delete=models.PROTECT, related_name="driven_workloads"
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=[*_SIZES, "load_host"], name="one_row_per_driven_workload"
            ),
            # NULLs differ from each other in a unique constraint.
            models.UniqueConstraint(
                fields=_SIZES, condition=models.Q(load_host=None), name="one_row_per_workload"
            ),
        ]

    def __str__(self) -> str:
        connections = counted(self.connections, "connection")
        return (
            f"{self.driver}, {self.title}, {connections}, "
            f"{self.warmup_s} s warm-up, {self.measure_s} s measured"
            f"{f', driven by {self.load_host}' if self.load_host else ''}"
        )

    @property
    def sizes(self) -> dict[str, Any]:
        """The columns that say which work is done on which data."""
        return {name: getattr(self, name) for name in _WORK}

    @property
    def kind(self) -> protocol.Workload:
        """The workload as its driver takes it."""
        return workload_of(**self.sizes)

    @property
    def title(self) -> str:
        """The work and its size: "10 warehouses", "oltp_read_write, 8 tables of 500,000 rows"."""
        size = source_of(self.kind).title
        return size if self.name == TPCC else f"{self.name}, {size}"

    @property
    def unit(self) -> str:
        """The unit of its throughput."""
        return unit_of(self.name)

    @property
    def data_bytes(self) -> int:
        """Estimated bytes of its tables and indexes."""
        return source_of(self.kind).data_bytes


class Config(models.Model):
    """A set of knob values, by variable and as text. Identical sets share one row."""

    hash = models.CharField(max_length=64, unique=True)
    knobs = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.hash[:12]


class RunState(models.TextChoices):
    """`queued` and `running`, then one of the outcomes, which are final."""

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    OK = Outcome.OK.value, "OK"
    INVALID_CONFIG = Outcome.INVALID_CONFIG.value, "Invalid config"
    NO_START = Outcome.NO_START.value, "Server did not start"
    CRASHED = Outcome.CRASHED.value, "Server crashed"
    OUT_OF_MEMORY = Outcome.OUT_OF_MEMORY.value, "Out of memory"
    DISK_FULL = Outcome.DISK_FULL.value, "Disk full"
    TIMED_OUT = Outcome.TIMED_OUT.value, "Timed out"
    ZERO_WORK = Outcome.ZERO_WORK.value, "No work done"
    DRIVER_FAILED = Outcome.DRIVER_FAILED.value, "Driver failed"
    DISTURBED = Outcome.DISTURBED.value, "Disturbed"
    CUT_SHORT = Outcome.CUT_SHORT.value, "Cut short"
    CANCELLED = Outcome.CANCELLED.value, "Cancelled"
    LOST = Outcome.LOST.value, "Lost"
    SETUP_FAILED = Outcome.SETUP_FAILED.value, "Could not be set up"
    INTERNAL_ERROR = Outcome.INTERNAL_ERROR.value, "Internal error"


ACTIVE_RUN_STATES = (RunState.QUEUED, RunState.RUNNING)
# States of runs that are not finished, or never were.
UNDONE_RUN_STATES = (*ACTIVE_RUN_STATES, RunState.CANCELLED)


class BinaryLog(models.TextChoices):
    """Whether a server writes a binary log. No config says that: it is a study's to decide."""

    DEFAULT = "default", "as each server does by default"
    ON = "on", "on"
    OFF = "off", "off"

    @property
    def is_on(self) -> bool | None:
        """None: it depends on the server."""
        return None if self is BinaryLog.DEFAULT else self is BinaryLog.ON

    @property
    def options(self) -> dict[str, str]:
        """The options that a server is started with for it."""
        return {} if self is BinaryLog.DEFAULT else {"log_bin": self.value.upper()}


class MeasuredRow(models.Model):
    """The common part of runs and crash tests: a config on a device with a workload.

    logs_with_data: keeps the redo log with the data although there is a log_dir. applied: options
    that every run of its study sets.
    """

    host = models.ForeignKey(Host, on_delete=models.PROTECT)
    device = models.ForeignKey(Device, on_delete=models.PROTECT)
    server = models.ForeignKey(Server, on_delete=models.PROTECT)
    workload = models.ForeignKey(Workload, on_delete=models.PROTECT)
    config = models.ForeignKey(Config, on_delete=models.PROTECT)
    seed = models.BigIntegerField()
    logs_with_data = models.BooleanField(default=False)
    applied = models.JSONField(default=dict)
    code_commit = models.CharField(max_length=64)

    class Meta:
        abstract = True

    @property
    def options(self) -> dict[str, str]:
        """The options of its server: its config, and what its study decides."""
        return {**self.applied, **self.config.knobs}


class UsageColumns(models.Model):
    """A column for each figure of `benchmarks.telemetry.usage.Usage`, null where unknown."""

    cpu_user_pct = models.FloatField(null=True)
    cpu_sys_pct = models.FloatField(null=True)
    cpu_iowait_pct = models.FloatField(null=True)
    cpu_steal_pct = models.FloatField(null=True)
    server_cores = models.FloatField(null=True)
    data_read_iops = models.FloatField(null=True)
    data_write_iops = models.FloatField(null=True)
    data_read_mb_s = models.FloatField(null=True)
    data_write_mb_s = models.FloatField(null=True)
    log_read_iops = models.FloatField(null=True)
    log_write_iops = models.FloatField(null=True)
    log_read_mb_s = models.FloatField(null=True)
    log_write_mb_s = models.FloatField(null=True)

    class Meta:
        abstract = True


class Run(MeasuredRow, JobRow, UsageColumns):
    """One config measured once on one device with one workload. Finished runs never change.

    binary_log: what was asked for. step: its current step while running. live: its last minute
        while it is driven, `benchmarks.telemetry.live.LiveSecond`.
    reason: one line on why it failed. variables: read back after the start. step_seconds: wall
        time of each step.
    throughput: transactions that count, per minute. throughput_at_most: its upper bound for a run
        that was cut short. server_path_length, host_path_length: CPU cycles per transaction. All
        figures are defined in `benchmarks.measurement.result.Metrics`.
    latency: `benchmarks.drivers.response_times.LatencyHistogram`. redo_mb_s: redo log that the
        server wrote, in 10^6 bytes per second.
    disturbances: why it is void, [{kind, value, limit, unit, text}]. conditions: other load during
        the run. trend_pct: change of throughput over the measured interval.
    write_debt: `benchmarks.telemetry.write_debt.WriteDebt`; debt_grew: it put off much of its
        flushing until after the measurement.
    load_side: `benchmarks.drivers.protocol.LoadSide`; null: driven beside the server.
    """

    retry_of = models.ForeignKey(
        "self", null=True, on_delete=models.PROTECT, related_name="retries"
    )
    binary_log = models.CharField(max_length=8, choices=BinaryLog, default=BinaryLog.DEFAULT)

    state = models.CharField(max_length=16, choices=RunState, default=RunState.QUEUED)
    step = models.CharField(max_length=32)
    live = models.JSONField(null=True)
    queued_at = models.DateTimeField(auto_now_add=True)
    reason = models.TextField()
    log_tail = models.TextField()

    throughput = models.FloatField(null=True)
    throughput_at_most = models.FloatField(null=True)
    p95_ms = models.FloatField(null=True)
    p99_ms = models.FloatField(null=True)
    max_ms = models.FloatField(null=True)
    latency = models.JSONField(null=True)
    server_path_length = models.FloatField(null=True)
    host_path_length = models.FloatField(null=True)
    cpu_hz = models.FloatField(null=True)
    bytes_written_per_transaction = models.FloatField(null=True)
    bytes_written_source = models.CharField(max_length=16)
    redo_mb_s = models.FloatField(null=True)
    completed = models.PositiveIntegerField(null=True)
    failed = models.PositiveIntegerField(null=True)
    retried = models.PositiveIntegerField(null=True)
    measured_seconds = models.FloatField(null=True)
    driver_cpu_ms_per_transaction = models.FloatField(null=True)

    disturbances = models.JSONField(default=list)
    conditions = models.JSONField(default=dict)
    trend_pct = models.FloatField(null=True)
    still_warming = models.BooleanField(default=False)
    write_debt = models.JSONField(null=True)
    debt_grew = models.BooleanField(default=False)

    driver_version = models.CharField(max_length=64)
    comparability_key = models.CharField(max_length=64)
    fingerprint = models.JSONField(default=dict)
    variables = models.JSONField(default=dict)
    step_seconds = models.JSONField(default=dict)
    load_side = models.JSONField(null=True)

    class Meta:
        default_related_name = "runs"
        constraints: ClassVar = [
            # One benchmark at a time on a host, even with duplicate messages or two workers.
            models.UniqueConstraint(
                fields=["host"],
                condition=models.Q(state="running"),
                name="one_running_run_per_host",
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["host", "state"]),
            # All by which years of runs are counted (tuning.comparison.run_sets): the rows
            # themselves, some of 20 KB, are not read for that.
            models.Index(
                fields=[
                    *("comparability_key", "host", "device", "server", "workload"),
                    *("config", "logs_with_data", "state", "throughput", "id"),
                ],
                name="runs_alike",
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.pk} ({self.get_state_display()})"

    @property
    def options(self) -> dict[str, str]:
        """Return the options of its server, binary log included."""
        return super().options | BinaryLog(self.binary_log).options

    @property
    def is_finished(self) -> bool:
        return self.state not in ACTIVE_RUN_STATES

    @property
    def owes(self) -> WriteDebt | None:
        """Return its write debt; None for a run that was not measured."""
        return WriteDebt.from_json(self.write_debt) if self.write_debt else None

    @property
    def overhead_seconds(self) -> float | None:
        """Wall time less warm-up and measured time, in seconds; None until it is finished."""
        if self.started_at is None or self.finished_at is None:
            return None
        wall = (self.finished_at - self.started_at).total_seconds()
        return wall - self.workload.warmup_s - self.workload.measure_s


class CrashTest(MeasuredRow, QueuedJob):
    """A server killed under load and started again, with one config.

    load_s: seconds of load before each kill. kills: one per kill,
    `benchmarks.measurement.crash_test.Recovered`.
    """

    load_s = models.PositiveIntegerField()
    kills = models.JSONField(default=list)

    class Meta:
        default_related_name = "crash_tests"

    def __str__(self) -> str:
        return f"crash test {self.pk} ({self.get_state_display()})"

    @property
    def seconds(self) -> list[float]:
        """Return the seconds that each recovery took; empty unless the test is OK."""
        return [kill["seconds"] for kill in self.kills] if self.state == JobState.OK else []


class LoadJob(QueuedJob):
    """The driver's part of a run or crash test, done by another host.

    `hello`, `phases` and `result` are messages of `benchmarks.remote_load.messages`. The order,
    which has a password, is only ever here sealed, and no longer than until it is read; the result
    is null again once it is read. `address`: on which the server is offered.
    """

    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE)
    crash_test = models.ForeignKey(CrashTest, null=True, on_delete=models.CASCADE)
    host = models.ForeignKey(Host, on_delete=models.PROTECT)
    address = models.CharField(max_length=64)
    hello = models.JSONField(null=True)
    sealed_order = models.TextField()
    phases = models.JSONField(null=True)
    result = models.JSONField(null=True)

    class Meta:
        default_related_name = "load_jobs"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(run=None) ^ models.Q(crash_test=None),
                name="a_load_is_of_one_measurement",
            )
        ]
        indexes: ClassVar = [models.Index(fields=["host", "state"])]

    def __str__(self) -> str:
        return f"load {self.pk} ({JobState(self.state).label})"

    @property
    def measured(self) -> Run | CrashTest:
        """The run or crash test that is being driven."""
        found = self.run or self.crash_test
        assert found is not None  # noqa: S101 - a constraint of the table
        return found


class Sample(UsageColumns):
    """One second of a run's telemetry. Seconds before 0 are warm-up.

    completed, commits: transactions that ended in this second, counted by the driver and by the
        server. p95_ms: response time of those that the driver counted.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="samples")
    second = models.IntegerField()
    elapsed_s = models.FloatField(null=True)
    completed = models.PositiveIntegerField(null=True)
    commits = models.PositiveIntegerField(null=True)
    p95_ms = models.FloatField(null=True)
    server_rss_bytes = models.BigIntegerField(null=True)

    class Meta:
        ordering: ClassVar = ["second"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "second"], name="one_sample_per_second")
        ]

    def __str__(self) -> str:
        return f"run {self.run_id} second {self.second}"


#: The columns of a run's series, its second first.
SERIES_COLUMNS: Final = (
    "second",
    *(one.name for one in Sample._meta.fields if one.name not in ("id", "run", "second")),
)
