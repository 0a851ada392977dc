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
    SLOWER_CLOCK = "slower_clock"
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
    slower_clock_pct: float = 15.0
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
    """Every exceeded limit, the most serious kind of disturbance first."""
    seen = conditions
    others = "other programs used {value:.1f} % of the host's CPU time"
    mb_s = seen.foreign_io_mb_s or 0.0
    busy = "which kept the disk busy {value:.0f} % of the time"
    moved = f"other programs moved {mb_s:.0f} MB/s, {busy}"
    slower = "the CPU clock rate fell by {value:.0f} %"
    hot = "a CPU was throttled because of its temperature for {value:.1f} % of the time"
    io_pct = seen.foreign_io_pct if mb_s >= MIN_FOREIGN_IO_MB_S else None
    asleep = "the machine was suspended for {value:.1f} s"
    checks = (
        _check(
            Kind.SUSPENDED, seen.asleep_s, MIN_STALL_S if limits.stall_pct else 0.0, "s", asleep
        ),
        _stall("the host", seen.stalled_s, seen.seconds, limits),
        _check(Kind.STEAL, seen.steal_pct, limits.steal_pct, "%", _STEAL),
        _check(
            Kind.FOREIGN_CPU,
            seen.foreign_cpu_pct,
            limits.foreign_cpu_pct,
            "%",
            others,
            tail=_by(seen.by_cpu, "%", seen.foreign_cpu_pct),
        ),
        _check(
            Kind.FOREIGN_IO,
            io_pct,
            limits.foreign_io_pct,
            "%",
            moved,
            tail=_by(seen.by_io, "MB/s"),
        ),
        _check(
            Kind.SWAP,
            seen.swap_mb_s,
            limits.swap_mb_s,
            "MB/s",
            "the host swapped {value:.1f} MB/s",
        ),
        _check(Kind.THROTTLED, seen.throttled_pct, limits.throttled_pct, "%", hot),
        _check(Kind.SLOWER_CLOCK, seen.slower_clock_pct, limits.slower_clock_pct, "%", slower),
    )
    return [found for found in checks if found is not None]


def steal_limit(limit_pct: float, earlier_pct: Sequence[float]) -> float:
    """The limit of a run's steal time in %: `limit_pct` more than is usual on its host.

    `earlier_pct` is the steal time of its newest runs, void ones too: usual is their median, which
    a burst does not move. 0, "off", stays 0.
    """
    if len(earlier_pct) < _MIN_USUAL_RUNS:
        return limit_pct
    usual_pct = min(median(earlier_pct), (_MAX_STEAL_TIMES - 1) * limit_pct)
    return round(limit_pct + usual_pct, 1) if limit_pct else 0.0


def host_changed(before: Mapping[str, str], after: Mapping[str, str]) -> Disturbance | None:
    """A change of the host's fingerprint during the run."""
    names = sorted(
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    )
    if not names:
        return None
    changes = ", ".join(f"{n} {before.get(n, 'none')} -> {after.get(n, 'none')}" for n in names)
    return Disturbance(
        Kind.HOST_CHANGED, len(names), 0, "", f"the host changed while measuring: {changes}"
    )


def wrong_interval(measured_s: float, seen_s: float) -> Disturbance | None:
    """Telemetry covers less than the driver's interval, because the host stalled.

    Allowed are 1 s and 1 % of the measured interval, but never half of it.
    """
    gap = abs(seen_s - measured_s)
    allowed = min(1.0 + 0.01 * measured_s, 0.5 * measured_s)
    if gap <= allowed:
        return None
    return Disturbance(
        Kind.INTERVAL,
        gap,
        allowed,
        "s",
        f"telemetry covers {seen_s:.1f} s of a measured interval of {measured_s:.1f} s",
    )


def load_host_troubles(side: LoadSide, limits: Limits, seconds: float) -> list[Disturbance]:
    """Exceeded limits of a run's load host; what it did not report exceeds none.

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
    """One line for all of them."""
    return "; ".join(disturbance.text for disturbance in disturbances)


#: Why something is not monitored although the host reports it.
SWITCHED_OFF = "switched off"


def switched_off(unwatched: Iterable[str]) -> list[str]:
    """The names in `unwatched` whose check is off because the limit is 0."""
    parts = (line.partition(": ") for line in unwatched)
    return [name for name, _, why in parts if why == SWITCHED_OFF]


def unwatched(conditions: Conditions, limits: Limits) -> list[str]:
    """Say what could not or should not be monitored, one line each."""
    figures = {
        "steal": (limits.steal_pct, conditions.steal_pct),
        "foreign CPU": (limits.foreign_cpu_pct, conditions.foreign_cpu_pct),
        "foreign I/O": (limits.foreign_io_pct, conditions.foreign_io_pct),
        "stalls": (limits.stall_pct, conditions.stalled_s),
        "swapping": (limits.swap_mb_s, conditions.swap_mb_s),
        "a falling clock": (limits.slower_clock_pct, conditions.slower_clock_pct),
        "throttling": (limits.throttled_pct, conditions.throttled_pct),
    }
    lines = []
    for name, (limit, value) in figures.items():
        if not limit:
            lines.append(f"{name}: {SWITCHED_OFF}")
        elif value is None:
            lines.append(f"{name}: not reported by this host")
    return lines


def conditions_document(conditions: Conditions, limits: Limits) -> dict[str, object]:
    """The conditions with the limits they were compared with, ready for JSON."""
    figures: dict[str, object] = {
        name: round(value, 3) if isinstance(value, float) else value
        for name, value in asdict(conditions).items()
    }
    for name in ("by_cpu", "by_io"):
        most: tuple[tuple[str, float], ...] = getattr(conditions, name)
        figures[name] = [[program, round(amount, 2)] for program, amount in most]
    return {
        **figures,
        "limits": asdict(limits),
        "unwatched": unwatched(conditions, limits),
    }


_STEAL = "steal time: the hypervisor took {value:.1f} % of the CPU time"


def _check(
    kind: Kind, value: float | None, limit: float, unit: str, text: str, *, tail: str = ""
) -> Disturbance | None:
    if not limit or value is None or value <= limit:
        return None
    line = f"{text.format(value=value)} (limit {limit:g} {unit}){tail}"
    return Disturbance(kind, value, limit, unit, line)


def _stall(
    who: str, stalled_s: float | None, seconds: float, limits: Limits
) -> Disturbance | None:
    limit = max(MIN_STALL_S, limits.stall_pct / 100 * seconds) if limits.stall_pct else 0.0
    text = f"{who} stalled for {{value:.1f}} of {seconds:.0f} s"
    return _check(Kind.STALL, stalled_s, round(limit, 1), "s", text)


def _by(most: tuple[tuple[str, float], ...], unit: str, of: float | None = None) -> str:
    """The program that used the most, if any is known.

    Where those that were counted used less than half of all (`of`), others may have used more:
    in other containers, or ended too soon to be counted.
    """
    if not most:
        return ""
    name, amount = most[0]
    is_most = not of or 2 * sum(amount for _, amount in most) >= of
    whose = "most" if is_most else "of those that are seen most"
    return f", {whose} by {name} ({amount:.1f} {unit})"
