"""What the faults cost: seconds of a host in which nothing was measured that counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import median

from advisor.tests.fault_storm.checks import RUNS
from advisor.tests.fault_storm.storm import Storm, Strike
from advisor.tests.fault_storm.watch import Seen
from tuning.tests.tables import markdown

_COLUMNS = ("ok", "lost", "cancelled", "disk_full", "disturbed")


def table(storm: Storm, heading: str) -> str:
    """A line for each kind of fault: how often, how the runs ended that it hit, seconds lost.

    A run is that of the last fault that hit its host, or the centre, before it ended. From the
    end of one run to the end of the next one is lost where that does not count; else only what is
    beyond the usual. What no run follows, and the preparation of a study, belong to the next run.
    """
    runs = {run["id"]: run["state"] for run in storm.scene.place.rows(RUNS)}
    ended: dict[str, Counter[str]] = defaultdict(Counter)
    lost: dict[str, float] = defaultdict(float)
    for host in storm.scene.asks:
        there = [(n, seen) for n, seen in storm.watch.runs.items() if seen.host == host]
        cycles = _cycles(sorted(there))
        whole = [cycle for number, _, cycle in cycles if runs[number] == "ok"]
        usual = median(whole) if whole else 0.0
        for number, seen, cycle in cycles:
            strike = _last_before(storm.strikes, host, seen)
            if strike is None:
                continue
            name = strike.fault.name
            ended[name][runs[number]] += 1
            lost[name] += max(0.0, cycle - usual) if runs[number] == "ok" else cycle
    times = Counter(strike.fault.name for strike in storm.strikes)
    lines = [
        [
            name,
            str(n),
            *(str(ended[name][state] or "") for state in _COLUMNS),
            _each(lost[name], n),
        ]
        for name, n in sorted(times.items())
    ]
    totals = [str(sum(ended[name][state] for name in times)) for state in _COLUMNS]
    number = len(storm.strikes)
    lines.append(["all", str(number), *totals, _each(sum(lost.values()), number)])
    return markdown(heading, ["fault", "times", *_COLUMNS, "seconds lost for each"], lines)


def _each(seconds: float, number: int) -> str:
    return f"{seconds / number:.1f}"


def _cycles(there: list[tuple[int, Seen]]) -> list[tuple[int, Seen, float]]:
    """The runs of a host with the seconds from the end of the one before to their own."""
    done = sorted((pair for pair in there if pair[1].ended), key=lambda pair: pair[1].ended or 0)
    found, before = [], None
    for number, seen in done:
        ended = seen.ended or seen.began
        found.append((number, seen, ended - (before if before is not None else seen.began)))
        before = ended
    return found


def _last_before(strikes: list[Strike], host: str, seen: Seen) -> Strike | None:
    hits = [one for one in strikes if one.hits(host) and one.began <= (seen.ended or seen.began)]
    return hits[-1] if hits else None
