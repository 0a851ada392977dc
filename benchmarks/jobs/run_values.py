"""The stored values of a measured run, by the columns of its row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.jobs.provenance import code_commit
from benchmarks.measurement.result import Measurement, SampleRow


def run_values(measured: Measurement) -> tuple[dict[str, Any], Sequence[SampleRow]]:
    """Return the columns of the run's row, its state among them, and the rows of its samples.

    Every figure of Metrics has its column. A disturbed run gets no figure that could be ranked,
    one that was cut short a bound instead of a figure.
    """
    debt, latency = measured.write_debt, measured.latency
    return {
        "state": measured.outcome.value,
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
    }, measured.samples
