"""The result of a driven run: a measurement, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.drivers.protocol import LoadSide
from benchmarks.drivers.response_times import LatencyHistogram
from benchmarks.errors import RunFailed
from benchmarks.measurement.early_stop import Cut
from benchmarks.measurement.metrics import Metrics
from benchmarks.outcomes import Outcome
from benchmarks.telemetry.disturbance import Disturbance, reason
from benchmarks.telemetry.write_debt import WriteDebt

#: One second of a run by the names of the columns of its samples.
SampleRow = dict[str, float | int | None]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The evidence of a run, whether or not it has a figure that can be ranked.

    `samples` are its seconds, `variables` the server's own as read back, `step_seconds` the wall
    time of each step, `conditions` those on the host as in `conditions_document`, `write_debt`
    what the server put off, `log_tail` the end of the server's error log, `load_sides` the
    load hosts.
    """

    samples: list[SampleRow]
    variables: dict[str, str]
    fingerprint: dict[str, str]
    comparability_key: str
    driver_version: str
    step_seconds: dict[str, float]
    conditions: dict[str, object] = field(default_factory=dict)
    disturbances: list[Disturbance] = field(default_factory=list)
    log_tail: str = ""
    write_debt: WriteDebt | None = None
    load_sides: tuple[LoadSide, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Measurement(Evidence):
    """A successful run.

    `latency` is how its response times are spread.
    `redo_mb_s` is the redo log that the server wrote, in 10^6 bytes per second.
    `trend_pct` is the change of throughput over the measured interval, None if it is too short;
    `still_warming` if the change is significant and more than a few percent.
    """

    metrics: Metrics
    latency: LatencyHistogram | None = None
    redo_mb_s: float | None = None
    trend_pct: float | None = None
    still_warming: bool = False


class Disturbed(RunFailed):
    """The run was completed, but other load on the host made it void."""

    def __init__(self, evidence: Evidence) -> None:
        why = reason(evidence.disturbances)
        super().__init__(Outcome.DISTURBED, why, log_tail=evidence.log_tail)
        self.evidence = evidence


class CutShort(RunFailed):
    """The run was stopped early because its first seconds were too slow."""

    def __init__(self, cut: Cut, evidence: Evidence) -> None:
        super().__init__(Outcome.CUT_SHORT, cut.reason, log_tail=evidence.log_tail)
        self.tpmP_at_most = cut.tpmP_at_most
        self.evidence = evidence


#: The possible endings of a run that has samples.
Ended = Measurement | Disturbed | CutShort
