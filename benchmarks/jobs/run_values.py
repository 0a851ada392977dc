"""The stored values of a measured run, by the columns of its row."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from benchmarks.jobs.provenance import code_commit
from benchmarks.measurement.result import CutShort, Ended, Measurement, SampleRow
from benchmarks.outcomes import Outcome


def run_values(ended: Ended) -> tuple[dict[str, Any], list[SampleRow]]:
    """The columns of the run's row, its state among them, and the rows of its samples.

    Every figure of Metrics has its column. A disturbed run gets no figure that could be ranked,
    one that was cut short a bound instead of a figure.
    """
    seen = ended if isinstance(ended, Measurement) else ended.evidence
    values: dict[str, Any] = {
        "driver_version": seen.driver_version,
        "code_commit": code_commit(),
        "comparability_key": seen.comparability_key,
        "fingerprint": seen.fingerprint,
        "variables": seen.variables,
        "step_seconds": seen.step_seconds,
        "conditions": seen.conditions,
        "disturbances": [found.as_document() for found in seen.disturbances],
        "log_tail": seen.log_tail,
        "write_debt": seen.write_debt and seen.write_debt.as_json(),
        "load_side": [side.as_json() for side in seen.load_sides] or None,
        "debt_grew": seen.write_debt is not None and seen.write_debt.is_marked,
    }
    if isinstance(ended, Measurement):
        values |= {
            **asdict(ended.metrics),
            "state": Outcome.OK.value,
            "latency": ended.latency and ended.latency.as_json(),
            "redo_mb_s": ended.redo_mb_s,
            "trend_pct": ended.trend_pct,
            "still_warming": ended.still_warming,
        }
    else:
        values |= {"state": ended.outcome.value, "reason": str(ended)}
    if isinstance(ended, CutShort):
        values["tpmP_at_most"] = ended.tpmP_at_most
    return values, seen.samples
