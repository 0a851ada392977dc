"""The tables of a new database at once: what the migrations that it replaces do one by one.

Those stay for databases of older versions, whose rows they change as well.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("benchmarks", "0001_initial"),
        ("benchmarks", "0002_run_conditions"),
        ("benchmarks", "0003_runs_are_cut_short"),
        ("benchmarks", "0004_devices_and_probes"),
        ("benchmarks", "0005_p95_of_each_second"),
        ("benchmarks", "0006_usage_columns_are_declared_once"),
        ("benchmarks", "0007_rows_that_are_jobs"),
        ("benchmarks", "0008_plain_help_texts"),
        ("benchmarks", "0009_runs_know_their_redo_rate"),
        ("benchmarks", "0010_runs_know_their_write_debt"),
        ("benchmarks", "0011_crash_tests"),
        ("benchmarks", "0012_host_can_be_drained"),
        ("benchmarks", "0013_hosts_have_an_inventory"),
        ("benchmarks", "0014_hosts_know_their_worker"),
        ("benchmarks", "0015_a_load_host_can_drive"),
        ("benchmarks", "0016_runs_keep_how_their_response_times_are_spread"),
        ("benchmarks", "0017_runs_tell_their_last_minute"),
        ("benchmarks", "0018_hosts_from_elsewhere"),
        ("benchmarks", "0019_hosts_note_their_datasets"),
        ("benchmarks", "0020_several_load_hosts_can_drive"),
        ("benchmarks", "0021_workloads_have_no_single_load_host"),
        ("benchmarks", "0022_load_hosts_are_told_when_to_begin"),
        ("benchmarks", "0023_runs_know_their_binary_log"),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Config",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("hash", models.CharField(max_length=64, unique=True)),
                (
                    "knobs",
                    models.JSONField(default=dict, help_text="variable name to value, both text"),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Host",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=255, unique=True)),
                ("worker_seen_at", models.DateTimeField(blank=True, null=True)),
                (
                    "drained_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="since when it takes nothing new; null: it does",
                        null=True,
                    ),
                ),
                ("drained_by", models.CharField(blank=True, max_length=150)),
                ("drain_reason", models.CharField(blank=True, max_length=200)),
                (
                    "worker",
                    models.CharField(
                        blank=True,
                        help_text="the process that is its worker; empty: it has none",
                        max_length=255,
                    ),
                ),
                (
                    "machine",
                    models.CharField(
                        blank=True,
                        help_text="where its worker ran last; empty: not known",
                        max_length=64,
                    ),
                ),
                (
                    "code_version",
                    models.CharField(blank=True, help_text="that of its worker", max_length=80),
                ),
                (
                    "idle_reason",
                    models.TextField(
                        blank=True, help_text="why its worker takes no work; empty: it does"
                    ),
                ),
                (
                    "retired_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="since when it takes no studies; null: it does",
                        null=True,
                    ),
                ),
                ("retired_by", models.CharField(blank=True, max_length=150)),
                ("retire_reason", models.CharField(blank=True, max_length=200)),
                (
                    "inventory",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="benchmarks.inventory.host.HostInventory",
                    ),
                ),
                (
                    "imported",
                    models.JSONField(
                        blank=True,
                        help_text="of a host elsewhere, what its bundle says: tuning.bundles; null: of this installation",
                        null=True,
                    ),
                ),
                (
                    "inspected_at",
                    models.DateTimeField(
                        blank=True, help_text="when the inventory was made; null: never", null=True
                    ),
                ),
                (
                    "datasets",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="its golden datasets: benchmarks.datasets.shelf.Shelved and their device",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Release",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.CharField(max_length=80)),
                ("migrated_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Device",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(help_text="the kind that is used", max_length=16)),
                ("discovered_kind", models.CharField(blank=True, max_length=16)),
                (
                    "kind_correction",
                    models.CharField(blank=True, help_text="set by a user", max_length=16),
                ),
                ("data_dir", models.CharField(max_length=1024)),
                (
                    "log_dir",
                    models.CharField(
                        blank=True,
                        help_text="for redo logs; empty: with the data",
                        max_length=1024,
                    ),
                ),
                ("block_device", models.CharField(blank=True, max_length=64)),
                ("log_block_device", models.CharField(blank=True, max_length=64)),
                ("model", models.CharField(blank=True, max_length=255)),
                ("file_system", models.CharField(blank=True, max_length=32)),
                ("scheduler", models.CharField(blank=True, max_length=32)),
                (
                    "identity",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="benchmarks.storage.identity.DeviceIdentity",
                    ),
                ),
                (
                    "log_identity",
                    models.JSONField(blank=True, default=dict, help_text="that of log_dir"),
                ),
                (
                    "emulation",
                    models.JSONField(
                        blank=True,
                        help_text="benchmarks.emulation.profile.EmulationProfile",
                        null=True,
                    ),
                ),
                (
                    "emulation_label",
                    models.CharField(
                        blank=True,
                        help_text="the limits in words; empty: not emulated",
                        max_length=200,
                    ),
                ),
                (
                    "retired_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="when another device was found in its place",
                        null=True,
                    ),
                ),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="devices",
                        to="benchmarks.host",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="CrashTest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "claimed_by",
                    models.CharField(
                        blank=True,
                        help_text="the process that does it and may store its ending",
                        max_length=255,
                    ),
                ),
                ("heartbeat_at", models.DateTimeField(blank=True, null=True)),
                (
                    "stop_request",
                    models.CharField(
                        blank=True, help_text="why it should end early", max_length=32
                    ),
                ),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("ok", "OK"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                            ("lost", "Lost"),
                        ],
                        default="queued",
                        max_length=16,
                    ),
                ),
                ("step", models.CharField(blank=True, max_length=64)),
                ("queued_at", models.DateTimeField(auto_now_add=True)),
                ("reason_code", models.CharField(blank=True, max_length=64)),
                ("reason", models.TextField(blank=True)),
                ("seed", models.BigIntegerField()),
                ("logs_with_data", models.BooleanField(default=False)),
                (
                    "load_s",
                    models.PositiveIntegerField(help_text="seconds of load before each kill"),
                ),
                ("log_tail", models.TextField(blank=True)),
                (
                    "kills",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="one per kill: benchmarks.measurement.crash_test.Recovered",
                    ),
                ),
                ("code_commit", models.CharField(blank=True, max_length=64)),
                (
                    "config",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="crash_tests",
                        to="benchmarks.config",
                    ),
                ),
                (
                    "device",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="crash_tests",
                        to="benchmarks.device",
                    ),
                ),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="crash_tests",
                        to="benchmarks.host",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Inspection",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "claimed_by",
                    models.CharField(
                        blank=True,
                        help_text="the process that does it and may store its ending",
                        max_length=255,
                    ),
                ),
                ("heartbeat_at", models.DateTimeField(blank=True, null=True)),
                (
                    "stop_request",
                    models.CharField(
                        blank=True, help_text="why it should end early", max_length=32
                    ),
                ),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("ok", "OK"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                            ("lost", "Lost"),
                        ],
                        default="queued",
                        max_length=16,
                    ),
                ),
                ("step", models.CharField(blank=True, max_length=64)),
                ("queued_at", models.DateTimeField(auto_now_add=True)),
                ("reason_code", models.CharField(blank=True, max_length=64)),
                ("reason", models.TextField(blank=True)),
                (
                    "subject",
                    models.CharField(
                        choices=[
                            ("host", "Host"),
                            ("server", "Server"),
                            ("device", "Device"),
                            ("datasets", "Datasets"),
                        ],
                        default="host",
                        max_length=16,
                    ),
                ),
                ("path", models.CharField(blank=True, max_length=1024)),
                ("log_dir", models.CharField(blank=True, max_length=1024)),
                ("emulate", models.CharField(blank=True, max_length=40)),
                ("memory_bytes", models.BigIntegerField(blank=True, null=True)),
                (
                    "lists",
                    models.BooleanField(
                        default=False,
                        help_text="an administrator named it: what is found may be used from then on",
                    ),
                ),
                (
                    "reason_field",
                    models.CharField(
                        blank=True,
                        help_text="the field that the reason is about: server, path",
                        max_length=64,
                    ),
                ),
                (
                    "answer",
                    models.JSONField(
                        blank=True, help_text="the server or the device as it was found", null=True
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="inspections",
                        to="benchmarks.host",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ListedPath",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "subject",
                    models.CharField(
                        choices=[("server", "Server"), ("device", "Device")], max_length=16
                    ),
                ),
                ("path", models.CharField(max_length=1024)),
                ("added_at", models.DateTimeField(auto_now_add=True)),
                (
                    "added_by",
                    models.ForeignKey(
                        blank=True,
                        help_text="null: with a command on the host",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="listed_paths",
                        to="benchmarks.host",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Probe",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "claimed_by",
                    models.CharField(
                        blank=True,
                        help_text="the process that does it and may store its ending",
                        max_length=255,
                    ),
                ),
                ("heartbeat_at", models.DateTimeField(blank=True, null=True)),
                (
                    "stop_request",
                    models.CharField(
                        blank=True, help_text="why it should end early", max_length=32
                    ),
                ),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("ok", "OK"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                            ("lost", "Lost"),
                        ],
                        default="queued",
                        max_length=16,
                    ),
                ),
                ("queued_at", models.DateTimeField(auto_now_add=True)),
                ("reason_code", models.CharField(blank=True, max_length=64)),
                ("reason", models.TextField(blank=True)),
                ("seconds", models.FloatField(help_text="planned duration")),
                ("fraction", models.FloatField(default=0.0, help_text="progress, 0 to 1")),
                (
                    "step",
                    models.CharField(
                        blank=True, help_text="its current measurement", max_length=64
                    ),
                ),
                ("random_read_iops", models.FloatField(blank=True, null=True)),
                ("random_write_iops", models.FloatField(blank=True, null=True)),
                ("read_mb_s", models.FloatField(blank=True, null=True)),
                ("write_mb_s", models.FloatField(blank=True, null=True)),
                ("commit_p50_us", models.FloatField(blank=True, null=True)),
                ("commit_p99_us", models.FloatField(blank=True, null=True)),
                ("io_capacity_low", models.PositiveIntegerField(blank=True, null=True)),
                ("io_capacity_high", models.PositiveIntegerField(blank=True, null=True)),
                ("code_commit", models.CharField(blank=True, max_length=64)),
                (
                    "result",
                    models.JSONField(
                        blank=True, help_text="benchmarks.probe.result.ProbeResult", null=True
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "device",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="probes",
                        to="benchmarks.device",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "claimed_by",
                    models.CharField(
                        blank=True,
                        help_text="the process that does it and may store its ending",
                        max_length=255,
                    ),
                ),
                ("heartbeat_at", models.DateTimeField(blank=True, null=True)),
                (
                    "stop_request",
                    models.CharField(
                        blank=True, help_text="why it should end early", max_length=32
                    ),
                ),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("cpu_user_pct", models.FloatField(blank=True, null=True)),
                ("cpu_sys_pct", models.FloatField(blank=True, null=True)),
                ("cpu_iowait_pct", models.FloatField(blank=True, null=True)),
                ("cpu_steal_pct", models.FloatField(blank=True, null=True)),
                ("server_cores", models.FloatField(blank=True, null=True)),
                ("data_read_iops", models.FloatField(blank=True, null=True)),
                ("data_write_iops", models.FloatField(blank=True, null=True)),
                ("data_read_mb_s", models.FloatField(blank=True, null=True)),
                ("data_write_mb_s", models.FloatField(blank=True, null=True)),
                ("log_read_iops", models.FloatField(blank=True, null=True)),
                ("log_write_iops", models.FloatField(blank=True, null=True)),
                ("log_read_mb_s", models.FloatField(blank=True, null=True)),
                ("log_write_mb_s", models.FloatField(blank=True, null=True)),
                ("seed", models.BigIntegerField()),
                (
                    "logs_with_data",
                    models.BooleanField(
                        default=False,
                        help_text="keeps the redo log with the data although there is a log_dir",
                    ),
                ),
                (
                    "binary_log",
                    models.CharField(
                        choices=[
                            ("default", "as each server does by default"),
                            ("on", "on"),
                            ("off", "off"),
                        ],
                        default="default",
                        help_text="what was asked for",
                        max_length=8,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("ok", "OK"),
                            ("invalid_config", "Invalid config"),
                            ("no_start", "Server did not start"),
                            ("crashed", "Server crashed"),
                            ("out_of_memory", "Out of memory"),
                            ("disk_full", "Disk full"),
                            ("timed_out", "Timed out"),
                            ("zero_work", "No work done"),
                            ("driver_failed", "Driver failed"),
                            ("disturbed", "Disturbed"),
                            ("cut_short", "Cut short"),
                            ("cancelled", "Cancelled"),
                            ("lost", "Lost"),
                            ("setup_failed", "Could not be set up"),
                            ("internal_error", "Internal error"),
                        ],
                        default="queued",
                        max_length=16,
                    ),
                ),
                (
                    "step",
                    models.CharField(
                        blank=True, help_text="its current step while running", max_length=32
                    ),
                ),
                (
                    "live",
                    models.JSONField(
                        blank=True,
                        help_text="its last minute while it is driven: benchmarks.telemetry.live.LiveSecond",
                        null=True,
                    ),
                ),
                ("queued_at", models.DateTimeField(auto_now_add=True)),
                ("reason", models.TextField(blank=True, help_text="one line on why it failed")),
                ("log_tail", models.TextField(blank=True)),
                ("tpmP", models.FloatField(blank=True, null=True)),
                (
                    "tpmP_at_most",
                    models.FloatField(
                        blank=True,
                        help_text="upper bound of a run that was cut short, instead of tpmP",
                        null=True,
                    ),
                ),
                ("p95_ms", models.FloatField(blank=True, null=True)),
                ("p99_ms", models.FloatField(blank=True, null=True)),
                ("max_ms", models.FloatField(blank=True, null=True)),
                (
                    "latency",
                    models.JSONField(
                        blank=True,
                        help_text="benchmarks.drivers.latency.LatencyHistogram",
                        null=True,
                    ),
                ),
                ("server_path_length", models.FloatField(blank=True, null=True)),
                ("host_path_length", models.FloatField(blank=True, null=True)),
                ("cpu_hz", models.FloatField(blank=True, null=True)),
                ("bytes_written_per_new_order", models.FloatField(blank=True, null=True)),
                ("bytes_written_source", models.CharField(blank=True, max_length=16)),
                (
                    "redo_mb_s",
                    models.FloatField(
                        blank=True,
                        help_text="redo log that the server wrote, in 10^6 bytes per second",
                        null=True,
                    ),
                ),
                ("new_orders", models.PositiveIntegerField(blank=True, null=True)),
                ("failed", models.PositiveIntegerField(blank=True, null=True)),
                ("retried", models.PositiveIntegerField(blank=True, null=True)),
                ("measured_seconds", models.FloatField(blank=True, null=True)),
                ("driver_cpu_ms_per_new_order", models.FloatField(blank=True, null=True)),
                (
                    "disturbances",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="why it is void: [{kind, value, limit, unit, text}]",
                    ),
                ),
                (
                    "conditions",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="other load during the run; benchmarks.telemetry",
                    ),
                ),
                (
                    "trend_pct",
                    models.FloatField(
                        blank=True,
                        help_text="change of throughput over the measured interval",
                        null=True,
                    ),
                ),
                ("still_warming", models.BooleanField(default=False)),
                (
                    "write_debt",
                    models.JSONField(
                        blank=True,
                        help_text="benchmarks.telemetry.write_debt.WriteDebt",
                        null=True,
                    ),
                ),
                (
                    "debt_grew",
                    models.BooleanField(
                        default=False,
                        help_text="put off much of its flushing until after the measurement",
                    ),
                ),
                ("driver_version", models.CharField(blank=True, max_length=64)),
                ("code_commit", models.CharField(blank=True, max_length=64)),
                ("comparability_key", models.CharField(blank=True, db_index=True, max_length=64)),
                ("fingerprint", models.JSONField(blank=True, default=dict)),
                (
                    "variables",
                    models.JSONField(
                        blank=True, default=dict, help_text="read back after the start"
                    ),
                ),
                (
                    "step_seconds",
                    models.JSONField(blank=True, default=dict, help_text="wall time of each step"),
                ),
                (
                    "load_side",
                    models.JSONField(
                        blank=True,
                        help_text="a list of benchmarks.drivers.protocol.LoadSide, one for each load host; null: driven beside the server. Before there could be several: just that of the one",
                        null=True,
                    ),
                ),
                (
                    "config",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="benchmarks.config",
                    ),
                ),
                (
                    "device",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="benchmarks.device",
                    ),
                ),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="benchmarks.host",
                    ),
                ),
                (
                    "retry_of",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="retries",
                        to="benchmarks.run",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="LoadJob",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "claimed_by",
                    models.CharField(
                        blank=True,
                        help_text="the process that does it and may store its ending",
                        max_length=255,
                    ),
                ),
                ("heartbeat_at", models.DateTimeField(blank=True, null=True)),
                (
                    "stop_request",
                    models.CharField(
                        blank=True, help_text="why it should end early", max_length=32
                    ),
                ),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("ok", "OK"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                            ("lost", "Lost"),
                        ],
                        default="queued",
                        max_length=16,
                    ),
                ),
                ("step", models.CharField(blank=True, max_length=64)),
                ("queued_at", models.DateTimeField(auto_now_add=True)),
                ("reason_code", models.CharField(blank=True, max_length=64)),
                ("reason", models.TextField(blank=True)),
                (
                    "address",
                    models.CharField(help_text="on which the server is offered", max_length=64),
                ),
                ("hello", models.JSONField(blank=True, null=True)),
                ("sealed_order", models.TextField(blank=True)),
                (
                    "begin_at",
                    models.FloatField(
                        blank=True,
                        help_text="the measured host's time of day, seconds since 1970, at which several begin",
                        null=True,
                    ),
                ),
                ("phases", models.JSONField(blank=True, null=True)),
                (
                    "result",
                    models.JSONField(
                        blank=True, help_text="null again once it is read", null=True
                    ),
                ),
                ("log_tail", models.TextField(blank=True)),
                (
                    "crash_test",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="load_jobs",
                        to="benchmarks.crashtest",
                    ),
                ),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="load_jobs",
                        to="benchmarks.host",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="load_jobs",
                        to="benchmarks.run",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Sample",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("cpu_user_pct", models.FloatField(blank=True, null=True)),
                ("cpu_sys_pct", models.FloatField(blank=True, null=True)),
                ("cpu_iowait_pct", models.FloatField(blank=True, null=True)),
                ("cpu_steal_pct", models.FloatField(blank=True, null=True)),
                ("server_cores", models.FloatField(blank=True, null=True)),
                ("data_read_iops", models.FloatField(blank=True, null=True)),
                ("data_write_iops", models.FloatField(blank=True, null=True)),
                ("data_read_mb_s", models.FloatField(blank=True, null=True)),
                ("data_write_mb_s", models.FloatField(blank=True, null=True)),
                ("log_read_iops", models.FloatField(blank=True, null=True)),
                ("log_write_iops", models.FloatField(blank=True, null=True)),
                ("log_read_mb_s", models.FloatField(blank=True, null=True)),
                ("log_write_mb_s", models.FloatField(blank=True, null=True)),
                ("second", models.IntegerField()),
                ("elapsed_s", models.FloatField(blank=True, null=True)),
                ("new_orders", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "commits",
                    models.PositiveIntegerField(
                        blank=True, help_text="as counted by the server", null=True
                    ),
                ),
                (
                    "p95_ms",
                    models.FloatField(
                        blank=True,
                        help_text="of the New-Orders that ended in this second",
                        null=True,
                    ),
                ),
                ("server_rss_bytes", models.BigIntegerField(blank=True, null=True)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="samples",
                        to="benchmarks.run",
                    ),
                ),
            ],
            options={
                "ordering": ["second"],
            },
        ),
        migrations.CreateModel(
            name="Server",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("flavour", models.CharField(max_length=16)),
                ("version", models.CharField(max_length=64)),
                ("path", models.CharField(max_length=1024)),
                ("digest", models.CharField(max_length=64)),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="servers",
                        to="benchmarks.host",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="run",
            name="server",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="runs",
                to="benchmarks.server",
            ),
        ),
        migrations.AddField(
            model_name="crashtest",
            name="server",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="crash_tests",
                to="benchmarks.server",
            ),
        ),
        migrations.CreateModel(
            name="Workload",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("driver", models.CharField(max_length=32)),
                ("warehouses", models.PositiveIntegerField()),
                ("connections", models.PositiveIntegerField()),
                ("warmup_s", models.PositiveIntegerField()),
                ("measure_s", models.PositiveIntegerField()),
                (
                    "load_key",
                    models.CharField(
                        blank=True,
                        help_text='the ids of the load hosts in ascending order, as "3+7"; empty without any',
                        max_length=255,
                    ),
                ),
                (
                    "load_hosts",
                    models.ManyToManyField(
                        blank=True,
                        help_text="where the driver runs; none: beside the server",
                        related_name="driven_workloads",
                        to="benchmarks.host",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="run",
            name="workload",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="runs",
                to="benchmarks.workload",
            ),
        ),
        migrations.AddField(
            model_name="crashtest",
            name="workload",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="crash_tests",
                to="benchmarks.workload",
            ),
        ),
        migrations.AddConstraint(
            model_name="device",
            constraint=models.UniqueConstraint(
                condition=models.Q(("retired_at", None)),
                fields=("host", "data_dir", "log_dir", "emulation_label"),
                name="one_device_per_place_and_limits",
            ),
        ),
        migrations.AddIndex(
            model_name="inspection",
            index=models.Index(fields=["host", "state"], name="benchmarks__host_id_9417fa_idx"),
        ),
        migrations.AddConstraint(
            model_name="listedpath",
            constraint=models.UniqueConstraint(
                fields=("host", "subject", "path"), name="one_row_per_listed_path"
            ),
        ),
        migrations.AddConstraint(
            model_name="probe",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", ("queued", "running"))),
                fields=("device",),
                name="one_unfinished_probe_per_device",
            ),
        ),
        migrations.AddIndex(
            model_name="loadjob",
            index=models.Index(fields=["host", "state"], name="benchmarks__host_id_a564a6_idx"),
        ),
        migrations.AddConstraint(
            model_name="loadjob",
            constraint=models.CheckConstraint(
                condition=models.Q(("run", None), ("crash_test", None), _connector="XOR"),
                name="a_load_is_of_one_measurement",
            ),
        ),
        migrations.AddConstraint(
            model_name="sample",
            constraint=models.UniqueConstraint(
                fields=("run", "second"), name="one_sample_per_second"
            ),
        ),
        migrations.AddConstraint(
            model_name="server",
            constraint=models.UniqueConstraint(
                fields=("host", "path", "digest"), name="one_server_per_binary"
            ),
        ),
        migrations.AddConstraint(
            model_name="workload",
            constraint=models.UniqueConstraint(
                fields=(
                    "driver",
                    "warehouses",
                    "connections",
                    "warmup_s",
                    "measure_s",
                    "load_key",
                ),
                name="one_row_per_workload",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["host", "state"], name="benchmarks__host_id_635cba_idx"),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "running")),
                fields=("host",),
                name="one_running_run_per_host",
            ),
        ),
    ]
