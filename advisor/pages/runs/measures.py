"""A run's figures with their names and units, grouped as the run page shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from advisor.wording.formatting import decimals, gigahertz, kilobytes, megacycles, significant
from benchmarks.models import Run


@dataclass(frozen=True)
class Measure:
    """One line: name, value as text, unit; `term` is the key of its definition, "" without one."""

    name: str
    value: str
    unit: str
    term: str = ""


@dataclass(frozen=True)
class MeasureGroup:
    title: str
    measures: list[Measure]


Format = Callable[[float | None], str]


def _whole(value: float | None) -> str:
    return decimals(value, 0)


GROUPS: tuple[tuple[str, tuple[tuple[str, str, Format, str], ...]], ...] = (
    (
        "Throughput and response time",
        (
            ("Throughput", "throughput", significant, "transactions/min"),
            ("p95 response time of transactions", "p95_ms", significant, "ms"),
            ("p99 response time of transactions", "p99_ms", significant, "ms"),
            ("Slowest transaction", "max_ms", significant, "ms"),
            ("Transactions completed", "completed", _whole, ""),
            ("Transactions failed", "failed", _whole, ""),
            ("Transactions retried", "retried", _whole, ""),
            ("Measured interval", "measured_seconds", decimals, "s"),
        ),
    ),
    (
        "CPU",
        (
            ("Server path length", "server_path_length", megacycles, "Mcycles/transaction"),
            ("Host path length", "host_path_length", megacycles, "Mcycles/transaction"),
            ("CPU used by the server", "server_cores", significant, "cores"),
            ("User", "cpu_user_pct", decimals, "% of all CPUs"),
            ("System", "cpu_sys_pct", decimals, "% of all CPUs"),
            ("I/O wait", "cpu_iowait_pct", decimals, "% of all CPUs"),
            ("Steal", "cpu_steal_pct", decimals, "% of all CPUs"),
            ("Clock rate used for path lengths", "cpu_hz", gigahertz, "GHz"),
            (
                "CPU used by the driver",
                "driver_cpu_ms_per_transaction",
                significant,
                "ms/transaction",
            ),
        ),
    ),
    (
        "Storage",
        (
            ("Bytes written per transaction", "bytes_written_per_transaction", kilobytes, "kB"),
            ("Redo log written", "redo_mb_s", significant, "MB/s"),
            ("Data device, reads", "data_read_iops", significant, "IOPS"),
            ("Data device, writes", "data_write_iops", significant, "IOPS"),
            ("Data device, read", "data_read_mb_s", significant, "MB/s"),
            ("Data device, written", "data_write_mb_s", significant, "MB/s"),
            ("Log device, reads", "log_read_iops", significant, "IOPS"),
            ("Log device, writes", "log_write_iops", significant, "IOPS"),
            ("Log device, read", "log_read_mb_s", significant, "MB/s"),
            ("Log device, written", "log_write_mb_s", significant, "MB/s"),
        ),
    ),
)

# By key of a definition the fields that it explains.
_TERMS = {
    "throughput": ("throughput",),
    "p95": ("p95_ms", "p99_ms", "max_ms"),
    "path-length": ("server_path_length", "host_path_length"),
    "cpu-shares": ("cpu_user_pct", "cpu_sys_pct", "cpu_iowait_pct", "cpu_steal_pct"),
    "bytes-written-per-transaction": ("bytes_written_per_transaction",),
    "iops": ("data_read_iops", "data_write_iops", "log_read_iops", "log_write_iops"),
}
TERM_OF = {field: key for key, fields in _TERMS.items() for field in fields}
#: By field: name, format and unit.
FIGURES = {field: (name, form, unit) for _, lines in GROUPS for name, field, form, unit in lines}


def measures_of(run: Run, throughput_unit: str) -> list[MeasureGroup]:
    """The figures of the run; one that was not measured has no line."""
    units = {"throughput": throughput_unit}
    groups = []
    for title, lines in GROUPS:
        measures = [
            Measure(name, form(value), units.get(field, unit), TERM_OF.get(field, ""))
            for name, field, form, unit in lines
            if (value := getattr(run, field)) is not None
        ]
        if measures:
            groups.append(MeasureGroup(title, measures))
    return groups
