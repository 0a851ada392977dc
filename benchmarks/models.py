"""Hosts, devices, servers, workloads, configs, runs and probes. The row of a run is the job."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Final

from django.conf import settings
from django.db import models

from benchmarks.counted import counted
from benchmarks.datasets.source import source_of
from benchmarks.drivers import protocol
from benchmarks.drivers.workloads import TPCC, unit_of, workload_of
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.outcomes import Outcome
from benchmarks.probe.result import ProbeResult
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.kinds import kind_words
from benchmarks.storage.layout import DeviceLayout
from benchmarks.telemetry.usage import USAGE_FIGURES
from benchmarks.telemetry.write_debt import WriteDebt


class Host(models.Model):
    """A machine with a measuring worker: one queue, one benchmark at a time."""

    name = models.CharField(max_length=255, unique=True)
    worker_seen_at = models.DateTimeField(null=True, blank=True)
    drained_at = models.DateTimeField(
        null=True, blank=True, help_text="since when it takes nothing new; null: it does"
    )
    drained_by = models.CharField(max_length=150, blank=True)
    drain_reason = models.CharField(max_length=200, blank=True)
    worker = models.CharField(
        max_length=255, blank=True, help_text="the process that is its worker; empty: it has none"
    )
    code_version = models.CharField(max_length=80, blank=True, help_text="that of its worker")
    idle_reason = models.TextField(
        blank=True, help_text="why its worker takes no work; empty: it does"
    )
    retired_at = models.DateTimeField(
        null=True, blank=True, help_text="since when it takes no studies; null: it does"
    )
    retired_by = models.CharField(max_length=150, blank=True)
    retire_reason = models.CharField(max_length=200, blank=True)
    inventory = models.JSONField(
        default=dict, blank=True, help_text="benchmarks.inventory.host.HostInventory"
    )
    inspected_at = models.DateTimeField(
        null=True, blank=True, help_text="when the inventory was made; null: never"
    )
    datasets = models.JSONField(
        default=list,
        blank=True,
        help_text="its golden datasets: benchmarks.datasets.shelf.Shelved and their device",
    )

    def __str__(self) -> str:
        return self.name

    @property
    def is_drained(self) -> bool:
        """Whether it starts nothing new; its current job may still be finishing."""
        return self.drained_at is not None

    @property
    def is_retired(self) -> bool:
        """Whether it is out of use; its history stays."""
        return self.retired_at is not None

    @property
    def queue(self) -> str:
        return f"bench.{self.name}"


class Release(models.Model):
    """The version of the code that brought this database up to date; one row at most."""

    version = models.CharField(max_length=80)
    migrated_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.version


class ListedPath(models.Model):
    """A program that may be started or a directory that may be measured on a host.

    Beside those that the host finds itself and those of its ADVISOR_SERVERS and ADVISOR_DEVICES.
    """

    class Subject(models.TextChoices):
        SERVER = "server", "Server"
        DEVICE = "device", "Device"

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="listed_paths")
    subject = models.CharField(max_length=16, choices=Subject)
    path = models.CharField(max_length=1024)
    added_at = models.DateTimeField(auto_now_add=True)
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        help_text="null: with a command on the host",
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["host", "subject", "path"], name="one_row_per_listed_path"
            )
        ]

    def __str__(self) -> str:
        return f"{self.subject} {self.path}"


class Device(models.Model):
    """Where the data is on a host: a directory, optionally one for the redo logs, and limits.

    A row always stands for the same device, and its limits never change. If another disk is found
    behind the directory, the row retires, and the disk gets a row of its own.
    """

    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="devices")
    kind = models.CharField(max_length=16, help_text="the kind that is used")
    discovered_kind = models.CharField(max_length=16, blank=True)
    kind_correction = models.CharField(max_length=16, blank=True, help_text="set by a user")
    data_dir = models.CharField(max_length=1024)
    log_dir = models.CharField(
        max_length=1024, blank=True, help_text="for redo logs; empty: with the data"
    )
    block_device = models.CharField(max_length=64, blank=True)
    log_block_device = models.CharField(max_length=64, blank=True)
    model = models.CharField(max_length=255, blank=True)
    file_system = models.CharField(max_length=32, blank=True)
    scheduler = models.CharField(max_length=32, blank=True)
    identity = models.JSONField(
        default=dict, blank=True, help_text="benchmarks.storage.identity.DeviceIdentity"
    )
    log_identity = models.JSONField(default=dict, blank=True, help_text="that of log_dir")
    emulation = models.JSONField(
        null=True, blank=True, help_text="benchmarks.emulation.profile.EmulationProfile"
    )
    emulation_label = models.CharField(
        max_length=200, blank=True, help_text="the limits in words; empty: not emulated"
    )
    retired_at = models.DateTimeField(
        null=True, blank=True, help_text="when another device was found in its place"
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["host", "data_dir", "log_dir", "emulation_label"],
                condition=models.Q(retired_at=None),
                name="one_device_per_place_and_limits",
            )
        ]

    def __str__(self) -> str:
        logs = f" with redo logs at {self.log_dir}" if self.log_dir else ""
        memory = self.memory_limit_bytes
        limit = f" with {memory / 1e6:.0f} MB of memory" if memory is not None else ""
        return f"{self.what}{limit} at {self.data_dir}{logs}"

    @property
    def what(self) -> str:
        """ "NVMe", "emulated HDD"."""
        if profile := self.profile:
            return profile.what
        # The kind of a virtual disk is "other"; its model name says more.
        return self.model if self.kind == "other" and self.model else kind_words(self.kind)

    @property
    def profile(self) -> EmulationProfile | None:
        """The limits of an emulated device; None for a real device."""
        return EmulationProfile(**self.emulation) if self.emulation else None

    @property
    def memory_limit_bytes(self) -> int | None:
        """Bytes of memory that a server may use there; None where nothing limits it."""
        return self.profile.memory_bytes if self.profile else None

    @property
    def is_throttled(self) -> bool:
        """Whether it emulates a slower device, and not only less memory."""
        return self.profile is not None and self.profile.throttles

    @property
    def found(self) -> DeviceIdentity | None:
        """The identity of the data device, as detected last."""
        return _identity(self.identity)

    @property
    def found_for_logs(self) -> DeviceIdentity | None:
        """The identity of the redo log's device, if it has a directory of its own."""
        return _identity(self.log_identity)

    @property
    def layout(self) -> DeviceLayout:
        """Our directories on it."""
        return DeviceLayout(Path(self.data_dir), Path(self.log_dir) if self.log_dir else None)


def _identity(document: dict[str, Any]) -> DeviceIdentity | None:
    return DeviceIdentity.from_json(document) if document else None


class Server(models.Model):
    """One mysqld binary."""

    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="servers")
    flavour = models.CharField(max_length=16)
    version = models.CharField(max_length=64)
    path = models.CharField(max_length=1024)
    digest = models.CharField(max_length=64)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["host", "path", "digest"], name="one_server_per_binary"
            )
        ]

    def __str__(self) -> str:
        names = {"mysql": "MySQL", "percona": "Percona Server", "mariadb": "MariaDB"}
        return f"{names.get(self.flavour, self.flavour)} {self.version}"


_SIZES = (
    *("name", "driver", "warehouses", "tables", "table_size"),
    *("connections", "warmup_s", "measure_s"),
)


class Workload(models.Model):
    """The load on the server, and for how long."""

    name = models.CharField(max_length=32, default=TPCC)
    driver = models.CharField(max_length=32)
    warehouses = models.PositiveIntegerField(default=0, help_text="of TPC-C, else 0")
    tables = models.PositiveIntegerField(default=0, help_text="of sysbench's scripts, else 0")
    table_size = models.PositiveIntegerField(default=0, help_text="rows of each of the tables")
    connections = models.PositiveIntegerField()
    warmup_s = models.PositiveIntegerField()
    measure_s = models.PositiveIntegerField()
    load_host = models.ForeignKey(
        Host,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="driven_workloads",
        help_text="where the driver runs; null: beside the server",
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=[*_SIZES, "load_host"],
                name="one_row_per_driven_workload",
            ),
            # NULLs differ from each other in a unique constraint.
            models.UniqueConstraint(
                fields=_SIZES,
                condition=models.Q(load_host=None),
                name="one_row_per_workload",
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
        return {
            name: getattr(self, name) for name in ("name", "warehouses", "tables", "table_size")
        }

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
    """A set of knob values. Identical sets share one row, so repeats group by themselves."""

    hash = models.CharField(max_length=64, unique=True)
    knobs = models.JSONField(default=dict, help_text="variable name to value, both text")

    def __str__(self) -> str:
        return self.hash[:12]


class JobRow(models.Model):
    """A row that is a job (`benchmarks.jobs`): one process claims it and sends heartbeats."""

    claimed_by = models.CharField(
        max_length=255, blank=True, help_text="the process that does it and may store its ending"
    )
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    stop_request = models.CharField(max_length=32, blank=True, help_text="why it should end early")
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


class JobState(models.TextChoices):
    """State of a probe, crash test, inspection or load: `queued`, `running`, then how it ended.

    A failed one has its outcome as `reason_code`.
    """

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    OK = "ok", "OK"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"
    LOST = "lost", "Lost"


ACTIVE_JOB_STATES = (JobState.QUEUED, JobState.RUNNING)


class QueuedJob(JobRow):
    """A job that waits for its turn on a host and ends in one of the `JobState`s."""

    state = models.CharField(max_length=16, choices=JobState, default=JobState.QUEUED)
    step = models.CharField(max_length=64, blank=True)
    queued_at = models.DateTimeField(auto_now_add=True)
    reason_code = models.CharField(max_length=64, blank=True)
    reason = models.TextField(blank=True)
    log_tail = models.TextField(blank=True)

    class Meta:
        abstract = True

    @property
    def is_finished(self) -> bool:
        return self.state not in ACTIVE_JOB_STATES


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
# Of runs that are not finished, or never were.
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


class UsageColumns(models.Model):
    """A column for each figure of `benchmarks.telemetry.usage.Usage`, null where unknown."""

    class Meta:
        abstract = True


for _figure in USAGE_FIGURES:
    UsageColumns.add_to_class(_figure, models.FloatField(null=True, blank=True))


class Run(JobRow, UsageColumns):
    """One config measured once on one device with one workload. Finished runs never change."""

    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="runs")
    device = models.ForeignKey(Device, on_delete=models.PROTECT, related_name="runs")
    server = models.ForeignKey(Server, on_delete=models.PROTECT, related_name="runs")
    workload = models.ForeignKey(Workload, on_delete=models.PROTECT, related_name="runs")
    config = models.ForeignKey(Config, on_delete=models.PROTECT, related_name="runs")
    retry_of = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="retries"
    )
    seed = models.BigIntegerField()
    logs_with_data = models.BooleanField(
        default=False, help_text="keeps the redo log with the data although there is a log_dir"
    )
    binary_log = models.CharField(
        max_length=8, choices=BinaryLog, default=BinaryLog.DEFAULT, help_text="what was asked for"
    )
    applied = models.JSONField(
        default=dict, blank=True, help_text="options that every run of its study sets"
    )

    state = models.CharField(max_length=16, choices=RunState, default=RunState.QUEUED)
    step = models.CharField(max_length=32, blank=True, help_text="its current step while running")
    live = models.JSONField(
        null=True,
        blank=True,
        help_text="its last minute while it is driven: benchmarks.telemetry.live.LiveSecond",
    )
    queued_at = models.DateTimeField(auto_now_add=True)
    reason = models.TextField(blank=True, help_text="one line on why it failed")
    log_tail = models.TextField(blank=True)

    throughput = models.FloatField(null=True, blank=True)
    throughput_at_most = models.FloatField(
        null=True,
        blank=True,
        help_text="upper bound of a run that was cut short, instead of throughput",
    )
    p95_ms = models.FloatField(null=True, blank=True)
    p99_ms = models.FloatField(null=True, blank=True)
    max_ms = models.FloatField(null=True, blank=True)
    latency = models.JSONField(
        null=True, blank=True, help_text="benchmarks.drivers.response_times.LatencyHistogram"
    )
    server_path_length = models.FloatField(null=True, blank=True)
    host_path_length = models.FloatField(null=True, blank=True)
    cpu_hz = models.FloatField(null=True, blank=True)
    bytes_written_per_transaction = models.FloatField(null=True, blank=True)
    bytes_written_source = models.CharField(max_length=16, blank=True)
    redo_mb_s = models.FloatField(
        null=True, blank=True, help_text="redo log that the server wrote, in 10^6 bytes per second"
    )
    completed = models.PositiveIntegerField(null=True, blank=True)
    failed = models.PositiveIntegerField(null=True, blank=True)
    retried = models.PositiveIntegerField(null=True, blank=True)
    measured_seconds = models.FloatField(null=True, blank=True)
    driver_cpu_ms_per_transaction = models.FloatField(null=True, blank=True)

    disturbances = models.JSONField(
        default=list, blank=True, help_text="why it is void: [{kind, value, limit, unit, text}]"
    )
    conditions = models.JSONField(
        default=dict, blank=True, help_text="other load during the run; benchmarks.telemetry"
    )
    trend_pct = models.FloatField(
        null=True, blank=True, help_text="change of throughput over the measured interval"
    )
    still_warming = models.BooleanField(default=False)
    write_debt = models.JSONField(
        null=True, blank=True, help_text="benchmarks.telemetry.write_debt.WriteDebt"
    )
    debt_grew = models.BooleanField(
        default=False, help_text="put off much of its flushing until after the measurement"
    )

    driver_version = models.CharField(max_length=64, blank=True)
    code_commit = models.CharField(max_length=64, blank=True)
    comparability_key = models.CharField(max_length=64, blank=True)
    fingerprint = models.JSONField(default=dict, blank=True)
    variables = models.JSONField(default=dict, blank=True, help_text="read back after the start")
    step_seconds = models.JSONField(default=dict, blank=True, help_text="wall time of each step")
    load_side = models.JSONField(
        null=True,
        blank=True,
        help_text="benchmarks.drivers.protocol.LoadSide; null: driven beside the server",
    )

    class Meta:
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
        """The options of its server: its config, and what its study decides."""
        return {**self.applied, **self.config.knobs, **BinaryLog(self.binary_log).options}

    @property
    def is_finished(self) -> bool:
        return self.state not in ACTIVE_RUN_STATES

    @property
    def owes(self) -> WriteDebt | None:
        """Its write debt; None for a run that was not measured."""
        return WriteDebt.from_json(self.write_debt) if self.write_debt else None

    @property
    def overhead_seconds(self) -> float | None:
        """Wall time less warm-up and measured time, in seconds; None until it is finished."""
        if self.started_at is None or self.finished_at is None:
            return None
        wall = (self.finished_at - self.started_at).total_seconds()
        return wall - self.workload.warmup_s - self.workload.measure_s


class CrashTest(QueuedJob):
    """A server killed under load and started again, with one config. The row is the job."""

    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="crash_tests")
    device = models.ForeignKey(Device, on_delete=models.PROTECT, related_name="crash_tests")
    server = models.ForeignKey(Server, on_delete=models.PROTECT, related_name="crash_tests")
    workload = models.ForeignKey(Workload, on_delete=models.PROTECT, related_name="crash_tests")
    config = models.ForeignKey(Config, on_delete=models.PROTECT, related_name="crash_tests")
    seed = models.BigIntegerField()
    logs_with_data = models.BooleanField(default=False)
    applied = models.JSONField(
        default=dict, blank=True, help_text="options that every run of its study sets"
    )
    load_s = models.PositiveIntegerField(help_text="seconds of load before each kill")

    kills = models.JSONField(
        default=list,
        blank=True,
        help_text="one per kill: benchmarks.measurement.crash_test.Recovered",
    )
    code_commit = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"crash test {self.pk} ({self.get_state_display()})"

    @property
    def options(self) -> dict[str, str]:
        """The options of its server."""
        return {**self.applied, **self.config.knobs}

    @property
    def seconds(self) -> list[float]:
        """Until the server took connections again, one per kill; empty unless it is OK."""
        return [kill["seconds"] for kill in self.kills] if self.state == "ok" else []


class Inspection(QueuedJob):
    """A host's look at itself, or at one server or device that was typed in. The row is the job.

    What it finds becomes part of the host's inventory. One about datasets deletes that of the name
    `path`, or without one those that the host's policy lets go.
    """

    class Subject(models.TextChoices):
        HOST = "host", "Host"
        SERVER = "server", "Server"
        DEVICE = "device", "Device"
        DATASETS = "datasets", "Datasets"

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="inspections")
    subject = models.CharField(max_length=16, choices=Subject, default=Subject.HOST)
    path = models.CharField(max_length=1024, blank=True)
    log_dir = models.CharField(max_length=1024, blank=True)
    emulate = models.CharField(max_length=40, blank=True)
    memory_bytes = models.BigIntegerField(null=True, blank=True)
    lists = models.BooleanField(
        default=False,
        help_text="an administrator named it: what is found may be used from then on",
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )

    reason_field = models.CharField(
        max_length=64, blank=True, help_text="the field that the reason is about: server, path"
    )
    answer = models.JSONField(
        null=True, blank=True, help_text="the server or the device as it was found"
    )

    class Meta:
        indexes: ClassVar = [models.Index(fields=["host", "state"])]

    def __str__(self) -> str:
        return f"inspection {self.pk} ({self.get_state_display()})"


class LoadJob(QueuedJob):
    """The driver's part of a run or crash test, done by another host. The row is the job.

    `hello`, `phases` and `result` are messages of `benchmarks.remote_load.messages`. The order,
    which has a password, is only ever here sealed, and no longer than until it is read.
    """

    run = models.ForeignKey(
        Run, null=True, blank=True, on_delete=models.CASCADE, related_name="load_jobs"
    )
    crash_test = models.ForeignKey(
        CrashTest, null=True, blank=True, on_delete=models.CASCADE, related_name="load_jobs"
    )
    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="load_jobs")
    address = models.CharField(max_length=64, help_text="on which the server is offered")

    hello = models.JSONField(null=True, blank=True)
    sealed_order = models.TextField(blank=True)
    phases = models.JSONField(null=True, blank=True)
    result = models.JSONField(null=True, blank=True, help_text="null again once it is read")

    class Meta:
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
    """One second of a run's telemetry. Seconds before 0 are warm-up."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="samples")
    second = models.IntegerField()
    elapsed_s = models.FloatField(null=True, blank=True)
    completed = models.PositiveIntegerField(null=True, blank=True)
    commits = models.PositiveIntegerField(
        null=True, blank=True, help_text="as counted by the server"
    )
    p95_ms = models.FloatField(
        null=True, blank=True, help_text="of the transactions that ended in this second"
    )
    server_rss_bytes = models.BigIntegerField(null=True, blank=True)

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


class Probe(QueuedJob):
    """One measurement of a device with fio. The row is the job, as with runs."""

    device = models.ForeignKey(Device, on_delete=models.PROTECT, related_name="probes")
    seconds = models.FloatField(help_text="planned duration")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )

    fraction = models.FloatField(default=0.0, help_text="progress, 0 to 1")
    step = models.CharField(max_length=64, blank=True, help_text="its current measurement")

    random_read_iops = models.FloatField(null=True, blank=True)
    random_write_iops = models.FloatField(null=True, blank=True)
    read_mb_s = models.FloatField(null=True, blank=True)
    write_mb_s = models.FloatField(null=True, blank=True)
    commit_p50_us = models.FloatField(null=True, blank=True)
    commit_p99_us = models.FloatField(null=True, blank=True)
    io_capacity_low = models.PositiveIntegerField(null=True, blank=True)
    io_capacity_high = models.PositiveIntegerField(null=True, blank=True)
    code_commit = models.CharField(max_length=64, blank=True)
    result = models.JSONField(
        null=True, blank=True, help_text="benchmarks.probe.result.ProbeResult"
    )

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["device"],
                condition=models.Q(state__in=("queued", "running")),
                name="one_unfinished_probe_per_device",
            )
        ]

    def __str__(self) -> str:
        return f"probe {self.pk} ({self.get_state_display()})"

    @property
    def found(self) -> ProbeResult | None:
        """All that it measured; None unless it succeeded."""
        return ProbeResult.from_json(self.result) if self.result else None
