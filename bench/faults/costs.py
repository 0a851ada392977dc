"""What the faults cost: seconds of a host in which nothing was measured that counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from statistics import median

from bench.faults.checks import RUNS
from bench.faults.storm import Storm, Strike
from bench.faults.watch import Seen
from bench.tables import markdown

_COLUMNS = ("ok", "lost", "cancelled", "disk_full", "disturbed")
_HEAD = ("fault", "times", *_COLUMNS, "seconds lost for each")


@dataclass(frozen=True)
class _Cycle:
    """A run that has ended, and the time since the one before it on its host."""

    state: str
    began: float
    ended: float

    @property
    def seconds(self) -> float:
        return self.ended - self.began


def table(storm: Storm, heading: str) -> str:
    """A line for each kind of fault: how often, how the runs ended that it hit, seconds lost.

    A run was hit by what began or lasted on its host, or the centre, since the run before it
    ended. All of that time is lost if the run does not count; else what is beyond the usual, which
    is what it took before the first fault. Faults that hit the same run share what it lost, and it
    is listed with the last of them. What no run follows, and the preparation of a study, belong to
    the next run.
    """
    states = {run["id"]: run["state"] for run in storm.scene.place.rows(RUNS)}
    first = storm.strikes[0].began if storm.strikes else inf
    ended: dict[str, Counter[str]] = defaultdict(Counter)
    lost: dict[str, float] = defaultdict(float)
    for host in storm.scene.asks:
        cycles = _cycles(storm.watch.runs, states, host)
        usual = _usual(cycles, first)
        for cycle in cycles:
            hits = [one for one in storm.strikes if one.hits(host) and _touches(one, cycle)]
            if not hits:
                continue
            ended[hits[-1].fault.name][cycle.state] += 1
            seconds = max(0.0, cycle.seconds - (usual if cycle.state == "ok" else 0.0))
            for one in hits:
                lost[one.fault.name] += seconds / len(hits)
    times = Counter(strike.fault.name for strike in storm.strikes)
    lines = [_line(name, n, ended[name], lost[name]) for name, n in sorted(times.items())]
    everything = sum(ended.values(), Counter[str]())
    lines.append(_line("all", len(storm.strikes), everything, sum(lost.values())))
    return markdown(heading, _HEAD, lines)


def _line(name: str, number: int, ended: Counter[str], lost: float) -> list[str]:
    each = f"{lost / number:.1f}" if number else ""
    return [name, str(number), *(str(ended[state] or "") for state in _COLUMNS), each]


def _cycles(runs: dict[int, Seen], states: dict[int, str], host: str) -> list[_Cycle]:
    """Those of a host in the order in which they ended."""
    there = [(seen, number) for number, seen in runs.items() if seen.host == host]
    done = sorted((seen.ended, seen.began, number) for seen, number in there if seen.ended)
    before = [None, *(ended for ended, *_ in done)]
    return [
        _Cycle(states[number], began if last is None else last, ended)
        for (ended, began, number), last in zip(done, before, strict=False)
    ]


def _usual(cycles: Sequence[_Cycle], first: float) -> float:
    """Seconds from run to run before the first fault, else of all that count."""
    counted = [cycle for cycle in cycles if cycle.state == "ok"]
    quiet = [cycle.seconds for cycle in counted if cycle.ended < first]
    return median(quiet or [cycle.seconds for cycle in counted] or [0.0])


def _touches(strike: Strike, cycle: _Cycle) -> bool:
    return strike.began <= cycle.ended and strike.began + strike.fault.seconds >= cycle.began
