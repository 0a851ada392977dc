"""What the host did while a run was measured: CPU, the server process and its devices."""

from __future__ import annotations

from benchmarks.telemetry.cpu import cpu_frequency_hz, logical_cpus
from benchmarks.telemetry.sampler import MEASURE_END, MEASURE_START, Sampler
from benchmarks.telemetry.series import Second, merge_new_orders
from benchmarks.telemetry.snapshot import DiskCounters, Snapshot

__all__ = [
    "MEASURE_END",
    "MEASURE_START",
    "DiskCounters",
    "Sampler",
    "Second",
    "Snapshot",
    "cpu_frequency_hz",
    "logical_cpus",
    "merge_new_orders",
]
