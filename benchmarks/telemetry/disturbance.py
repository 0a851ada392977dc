"""Whether a run was disturbed: its conditions compared with stated limits.

The limits are set so that runs on a quiet host pass: there the foreign CPU share was at most
1.1 % and the foreign I/O share at most 0.7 %; with one looping process on 2 CPUs the first was
34 %, with one `dd` the second 27 to 82 %. What a hypervisor takes from each run is usual, and no
disturbance. See docs/explanation/disturbances.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from statistics import median

from benchmarks.drivers.protocol import LoadSide
from benchmarks.telemetry.conditions import Conditions


class Kind(StrEnum):
    """Kinds of load that take resources from a run."""

    STEAL = "steal"
    FOREIGN_CPU = "foreign_cpu"
    FOREIGN_IO = "foreign_io"
    STALL = "stall"
    SUSPENDED = "suspended"
    SWAP = "swap"
    THROTTLED = "throttled"
    # The host's configuration changed during the run.
    HOST_CHANGED = "host_changed"
    # Telemetry did not cover the driver's interval.
    INTERVAL = "interval"
    # The load host had no CPU left: the client was the limit.
    CLIENT = "client"


@dataclass(frozen=True)
class Limits:
    """The limits above which a run is void; 0 switches a check off.

    `*_pct` are percent as in Conditions. `stall_pct` is of the measured interval, and less than
    MIN_STALL_S never counts. `swap_mb_s` is 10^6 bytes per second. `load_cpu_pct` and
    `load_steal_pct` are of a load host's CPU time.
    """

    steal_pct: float = 5.0
    foreign_cpu_pct: float = 10.0
    foreign_io_pct: float = 10.0
    stall_pct: float = 2.0
    swap_mb_s: float = 1.0
    throttled_pct: float = 1.0
    load_cpu_pct: float = 90.0
    load_steal_pct: float = 5.0


#: So many of a host's newest runs show which steal time is usual there; fewer than three do not.
USUAL_RUNS = 9
_MIN_USUAL_RUNS = 3
# Whatever is usual, no run counts with more than so many times the limit of a quiet host.
_MAX_STEAL_TIMES = 4

MIN_STALL_S = 1.0
#: Telemetry of a run that is driven elsewhere may begin this much before or after its driver.
MAX_LATE_S = 1.0
#: The clocks of two hosts may drift apart by that much and this share of the time: while they are
#: set right they run by up to half of it faster or slower.
_DRIFT_SHARE = 0.001
# A disk that is busy all the time with few small requests: others with less than this do not
# make the difference, whatever their share.
MIN_FOREIGN_IO_MB_S = 1.0

_STEAL = "steal time: the hypervisor took {value:.1f} % of the CPU time"
#: The checks that compare a figure of Conditions with the limit of its name: kind, name for
#: people, unit and sentence.
_CHECKS = {
    "steal_pct": (Kind.STEAL, "steal", "%", _STEAL),
    "foreign_cpu_pct": (
        *(Kind.FOREIGN_CPU, "foreign CPU", "%"),
        "other programs used {value:.1f} % of the host's CPU time",
    ),
    "foreign_io_pct": (
        *(Kind.FOREIGN_IO, "foreign I/O", "%"),
        "other programs moved {mb_s:.0f} MB/s, which kept the disk busy {value:.0f} % of the time",
    ),
    "swap_mb_s": (Kind.SWAP, "swapping", "MB/s", "the host swapped {value:.1f} MB/s"),
    "throttled_pct": (
        *(Kind.THROTTLED, "throttling", "%"),
        "a CPU was throttled because of its temperature for {value:.1f} % of the time",
    ),
}


@dataclass(frozen=True)
class Disturbance:
    """One exceeded limit. `text` is one line: what, how much, the limit, and the main cause."""

    kind: Kind
    value: float
    limit: float
    unit: str
    text: str

    def as_document(self) -> dict[str, str | float]:
        """Ready for JSON."""
        return {**asdict(self), "kind": self.kind.value, "value": round(self.value, 2)}


def find_disturbances(conditions: Conditions, limits: Limits) -> list[Disturbance]:
    """Return every exceeded limit, the most serious kind of disturbance first."""
    mb_s = conditions.foreign_io_mb_s or 0.0
    asleep_limit = MIN_STALL_S if limits.stall_pct else 0.0
    asleep = "the machine was suspended for {value:.1f} s"
    found = [
        _check(Kind.SUSPENDED, conditions.asleep_s, asleep_limit, "s", asleep),
        _stall("the host", conditions.stalled_s, conditions.seconds, limits),
    ]
    for figure, (kind, _, unit, text) in _CHECKS.items():
        value, tail = getattr(conditions, figure), ""
        if kind is Kind.FOREIGN_CPU:
            tail = _by(conditions.by_cpu, "%", value)
        elif kind is Kind.FOREIGN_IO:
            tail = _by(conditions.by_io, "MB/s")
            value = value if mb_s >= MIN_FOREIGN_IO_MB_S else None
        limit = getattr(limits, figure)
        found.append(_check(kind, value, limit, unit, text, tail=tail, mb_s=mb_s))
    return [one for one in found if one is not None]


def steal_limit(limit_pct: float, earlier_pct: Sequence[float]) -> float:
    """Return the limit of a run's steal time in %: `limit_pct` more than is usual on its host.

    `earlier_pct` is the steal time of its newest runs, void ones too: usual is their median, which
    a burst does not move. 0, "off", stays 0.
    """
    if len(earlier_pct) < _MIN_USUAL_RUNS:
        return limit_pct
    usual_pct = min(median(earlier_pct), (_MAX_STEAL_TIMES - 1) * limit_pct)
    return round(limit_pct + usual_pct, 1) if limit_pct else 0.0


def host_changed(before: Mapping[str, str], after: Mapping[str, str]) -> Disturbance | None:
    """Return the change of the host's fingerprint during the run, if any."""
    names = sorted(
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    )
    changes = ", ".join(f"{n} {before.get(n, 'none')} -> {after.get(n, 'none')}" for n in names)
    text = f"the host changed while measuring: {changes}"
    return Disturbance(Kind.HOST_CHANGED, len(names), 0, "", text) if names else None


def wrong_interval(measured_s: float, seen_s: float) -> Disturbance | None:
    """Return a disturbance if telemetry covers another interval than the driver: a host stalled.

    Allowed are 1 s and 1 % of the measured interval, but never half of it.
    """
    gap = abs(seen_s - measured_s)
    allowed = min(1.0 + 0.01 * measured_s, 0.5 * measured_s)
    text = f"telemetry covers {seen_s:.1f} s of a measured interval of {measured_s:.1f} s"
    return Disturbance(Kind.INTERVAL, gap, allowed, "s", text) if gap > allowed else None


def load_host_troubles(side: LoadSide, limits: Limits, seconds: float) -> list[Disturbance]:
    """Return the exceeded limits of a run's load host; what it did not report exceeds none.

    Telemetry's interval has so many `seconds`. The clocks of a host that is suspended stand still.
    """
    host, used = f"load host {side.host}", side.cpu
    late_s, drift_s = abs(side.late_ms) / 1000, abs(side.clock_drift_ms) / 1000
    when = "after" if side.late_ms > 0 else "before"
    client = f"the client was the limit: {host} used {{value:.0f}} % of its CPU time"
    late = f"telemetry began {{value:.1f}} s {when} the driver on {host}"
    drifted = f"the clocks of this host and of {host} drifted {{value:.1f}} s apart"
    allowed_s = MAX_LATE_S + _DRIFT_SHARE * seconds
    found = [
        _stall(host, used.get("stalled_s"), seconds, limits),
        _check(Kind.CLIENT, used.get("busy_pct"), limits.load_cpu_pct, "%", client),
        _check(Kind.STEAL, used.get("steal_pct"), limits.load_steal_pct, "%", f"{host}: {_STEAL}"),
        _check(Kind.INTERVAL, late_s, MAX_LATE_S, "s", late),
        _check(Kind.INTERVAL, drift_s, allowed_s, "s", drifted),
    ]
    return [one for one in found if one is not None]


def reason(disturbances: Iterable[Disturbance]) -> str:
    """Return one line for all of them."""
    return "; ".join(disturbance.text for disturbance in disturbances)


#: Why something is not monitored although the host reports it.
_SWITCHED_OFF = "switched off"


def switched_off(unwatched: Iterable[str]) -> list[str]:
    """Return the names in `unwatched` whose check is off because the limit is 0."""
    parts = (line.partition(": ") for line in unwatched)
    return [name for name, _, why in parts if why == _SWITCHED_OFF]


def unwatched(conditions: Conditions, limits: Limits) -> list[str]:
    """Say what could not or should not be monitored, one line each."""
    watched = {
        name: (getattr(limits, figure), getattr(conditions, figure))
        for figure, (_, name, _, _) in _CHECKS.items()
    }
    watched["stalls"] = limits.stall_pct, conditions.stalled_s
    return [
        f"{name}: {'not reported by this host' if limit else _SWITCHED_OFF}"
        for name, (limit, value) in watched.items()
        if not limit or value is None
    ]


def conditions_document(conditions: Conditions, limits: Limits) -> dict[str, object]:
    """Return the conditions with the limits they were compared with, ready for JSON."""
    figures: dict[str, object] = {
        name: round(value, 3) if isinstance(value, float) else value
        for name, value in asdict(conditions).items()
    }
    for name, most in (("by_cpu", conditions.by_cpu), ("by_io", conditions.by_io)):
        figures[name] = [[program, round(amount, 2)] for program, amount in most]
    return {**figures, "limits": asdict(limits), "unwatched": unwatched(conditions, limits)}


def _check(
    kind: Kind,
    value: float | None,
    limit: float,
    unit: str,
    text: str,
    *,
    tail: str = "",
    **figures: float,
) -> Disturbance | None:
    if not limit or value is None or value <= limit:
        return None
    line = f"{text.format(value=value, **figures)} (limit {limit:g} {unit}){tail}"
    return Disturbance(kind, value, limit, unit, line)


def _stall(
    who: str, stalled_s: float | None, seconds: float, limits: Limits
) -> Disturbance | None:
    limit = max(MIN_STALL_S, limits.stall_pct / 100 * seconds) if limits.stall_pct else 0.0
    text = f"{who} stalled for {{value:.1f}} of {seconds:.0f} s"
    return _check(Kind.STALL, stalled_s, round(limit, 1), "s", text)


def _by(most: tuple[tuple[str, float], ...], unit: str, of: float | None = None) -> str:
    """Name the program that used the most, if any is known.

    If the counted programs used less than half of all (`of`), others may have used more: programs
    in other containers, or programs that ended too soon to be counted.
    """
    if not most:
        return ""
    name, amount = most[0]
    is_most = not of or 2 * sum(amount for _, amount in most) >= of
    whose = "most" if is_most else "of the programs counted, most"
    return f", {whose} by {name} ({amount:.1f} {unit})"
