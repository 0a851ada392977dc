"""The result of a driven run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.drivers.protocol import LoadSide
from benchmarks.drivers.response_times import LatencyHistogram
from benchmarks.measurement.metrics import Metrics
from benchmarks.outcomes import Outcome
from benchmarks.telemetry.disturbance import Disturbance
from benchmarks.telemetry.write_debt import WriteDebt

#: One second of a run by the names of the columns of its samples.
SampleRow = dict[str, float | int | None]


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A run that was driven, whether or not it has a figure that can be ranked.

    outcome: OK; DISTURBED, when other load on the host made the run void; CUT_SHORT, when its
        first seconds were too slow. `reason` says why it is not OK, `disturbances` every exceeded
        limit, `conditions` those on the host (`conditions_document`).
    samples: the seconds of the run. variables: the server's own as read back. step_seconds: the
        wall time of each step. log_tail: the end of the server's error log.
    load_side: the load host. write_debt: what the server put off.
    metrics, latency (how response times are spread), redo_mb_s (redo log written, 10^6 bytes per
        second), trend_pct (change of throughput over the measured interval, None if that is too
        short) and still_warming (the change is significant): only of a run that is OK.
    throughput_at_most: only of a run that was cut short.
    """

    outcome: Outcome = Outcome.OK
    reason: str = ""
    samples: Sequence[SampleRow]
    variables: dict[str, str]
    fingerprint: dict[str, str]
    comparability_key: str
    driver_version: str
    step_seconds: dict[str, float]
    conditions: dict[str, object] = field(default_factory=dict)
    disturbances: Sequence[Disturbance] = ()
    log_tail: str = ""
    write_debt: WriteDebt | None = None
    load_side: LoadSide | None = None
    metrics: Metrics | None = None
    latency: LatencyHistogram | None = None
    redo_mb_s: float | None = None
    trend_pct: float | None = None
    still_warming: bool = False
    throughput_at_most: float | None = None
