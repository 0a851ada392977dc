"""Two hundred hosts of one advisor, simulated but for PostgreSQL, Redis and web server.

    make bench-fleet

takes about eight minutes; ONLY=simulated, without the scene of real servers, five.

In life each host has processors of its own. Where this machine has too few for all of them, they
live in slow motion: runs, heartbeats and sweeps take as many times as long. What is reported as a
minute is theirs; visits come as often as without it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import psycopg

from advisor.tests.fleet.centre import WEB_PORT, Fleet, fleet, why_not
from advisor.tests.harness import ROOT
from bench.fleet import in_full
from bench.tables import markdown

PROCESSES = 2
#: Processors that two hundred hosts at 2,000 runs per minute and their centre take together.
_CPUS_OF_ALL = 6
BUDGET_MS = 100
#: The least share of the requested runs per minute: a run may end just after the minute.
_AS_MANY = 0.97
MEMORY = "/dev/shm"
_POSTGRES = {"max_connections": "1200", "shared_buffers": "512MB"}
_STATEMENTS = {"shared_preload_libraries": "pg_stat_statements"}
_PROGRAMS = {"PostgreSQL": "postgres", "Redis": "redis-server", "web": "gunicorn"}
_HOSTS = "simulated hosts"


class Goal(NamedTuple):
    """What was promised and found; without `kept` it is only stated."""

    text: str
    found: str
    kept: bool | None = None


def main(arguments: Sequence[str]) -> int:
    """Run the bench and return its exit status."""
    parser = argparse.ArgumentParser(prog="make bench-fleet", description=__doc__)
    parser.add_argument("--only", choices=["scene", "simulated"], help="one of the two parts")
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--per-minute", type=int, default=2000, help="runs of all hosts")
    parser.add_argument("--minutes", type=float, default=3, help="for which it is measured")
    parser.add_argument(
        "--slower", type=float, default=max(1.0, _CPUS_OF_ALL / (os.cpu_count() or 1)),
        help="in slow motion, so many times as long; by default so that the processors suffice",
    )  # fmt: skip
    parser.add_argument("--samples", type=int, help="of each run; by default one a second")
    parser.add_argument("--history", type=int, default=20_000, help="runs measured before")
    parser.add_argument("--visits", type=float, default=3, help="pages and documents per second")
    parser.add_argument("--statements", action="store_true", help="which took longest")
    asked = parser.parse_args(arguments)
    if asked.samples is None:
        asked.samples = round(asked.hosts * 60 / asked.per_minute)
    if why := why_not():
        print(f"bench-fleet: {why}")
        return 1
    if asked.only != "simulated":
        in_full.main()
    if asked.only == "scene":
        return 0
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        Path(folder).chmod(0o755)
        given = _POSTGRES | (_STATEMENTS if asked.statements else {})
        with fleet(["hosts", "desk"], Path(folder), postgres=given) as place:
            return _bench(place, asked)


def _bench(place: Fleet, asked: argparse.Namespace) -> int:
    runs_each = int((asked.minutes + 1) * asked.per_minute / asked.slower / asked.hosts)
    studies, blocks = 1 + runs_each // 16, 4  # of three candidates and a replicate
    _say(
        f"{asked.hosts} hosts with {studies} studies each, {asked.history} runs before, "
        f"{asked.slower:g} times as slow as in life"
    )
    seconds = asked.hosts * 60 / asked.per_minute
    counts = (asked.hosts, studies, blocks, asked.history)
    seed = place.centre.run(
        *(sys.executable, "-m", "bench.fleet.seed", *map(str, counts)),
        env=place.environment("centre"), cwd=ROOT, timeout=1200,
    )  # fmt: skip
    session = json.loads(seed)["session"]
    if asked.statements:
        with psycopg.connect(
            host=str(place.folder / "centre"), dbname="advisor", user="postgres", autocommit=True
        ) as superuser:
            superuser.execute("create extension pg_stat_statements")
            superuser.execute("grant execute on function pg_stat_statements_reset to advisor")
    visitor = Visitor(place, session, asked.visits)
    log = place.centre.folder / "access.log"
    before = _sizes(place)
    with _simulated(place, asked, seconds) as found:
        time.sleep(15)  # connections are made, every host has begun
        visitor.visit_all()
        _say(f"measuring for {asked.minutes} minutes")
        cpu, began, done = _cpu(place), time.monotonic(), _done(place)
        skipped = len(log.read_text().splitlines())
        if asked.statements:
            place.rows("select pg_stat_statements_reset()::text")
        with visitor.visiting():
            time.sleep(60 * asked.minutes)
        minutes = (time.monotonic() - began) / 60 / asked.slower
        rate = (_done(place) - done) / minutes
        spent = {name: value - cpu[name] for name, value in _cpu(place).items()}
        connections = place.rows("select count(*) as n from pg_stat_activity")[0]["n"]
        statements = _statements(place) if asked.statements else ""
    after = _sizes(place)
    goals = [
        Goal("slow motion", f"{asked.slower:g} times, on {os.cpu_count()} processors"),
        Goal(
            f"{asked.per_minute} runs per minute of {asked.hosts} hosts",
            f"{rate:.0f}",
            rate >= _AS_MANY * asked.per_minute,
        ),
        *_claims(place, found),
        *_visits(log.read_text().splitlines()[skipped:], visitor),
        *_growth(before, after, found),
        Goal("connections to PostgreSQL", str(connections)),
        *(
            Goal(
                f"CPU of {name}",
                f"{cost / minutes:.1f} s a minute, {_per_run(cost / minutes, rate)}",
            )
            for name, cost in spent.items()
        ),
    ]
    print(statements)
    words = {True: "kept", False: "NOT KEPT", None: ""}
    rows = [[goal.text, goal.found, words[goal.kept]] for goal in goals]
    print(markdown("Goals", ["what", "found", ""], rows))
    return int(any(goal.kept is False for goal in goals))


def _per_run(cpu_s: float, runs: float) -> str:
    return f"{1000 * cpu_s / runs:.0f} ms a run" if runs else "no run"


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


@contextmanager
def _simulated(
    place: Fleet, asked: argparse.Namespace, seconds: float
) -> Iterator[list[dict[str, Any]]]:
    """The hosts at work; what each process of them saw is in the list afterwards."""
    found: list[dict[str, Any]] = []
    share = -(-asked.hosts // PROCESSES)
    variables = place.folder / "hosts" / "variables.json"
    variables.write_text(json.dumps(_variables()))
    with ExitStack() as stack:
        started = []
        for first in range(0, asked.hosts, share):
            # What a run leaves on its host until it is stored: in life each has a disk for it.
            memory = stack.enter_context(tempfile.TemporaryDirectory(dir=MEMORY))
            count = min(share, asked.hosts - first)
            numbers = (first, count, seconds, asked.slower, asked.samples)
            started.append(_start(place, [*map(str, numbers), str(variables)], Path(memory)))
        for process, log, _ in started:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n", log.read_text()
        yield found
        for process, log, output in started:
            process.communicate(timeout=120)
            assert process.returncode == 0, log.read_text()
            found.append(json.loads(output.read_text()))


def _start(
    place: Fleet, arguments: Sequence[str], home: Path
) -> tuple[subprocess.Popen[bytes], Path, Path]:
    """A process that simulates hosts, its log and what it will write at its end."""
    output, log = home / "seen.json", home / "log"
    command = [sys.executable, "-m", "bench.fleet.hosts"]
    with log.open("w") as errors:
        process = subprocess.Popen(
            place.hosts["hosts"].words(*command, *arguments, str(output), cwd=ROOT),
            env=place.environment("hosts") | {"ADVISOR_HOME": str(home)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    return process, log, output


def _variables() -> dict[str, str]:
    """Return made-up variables, as many and as long as a server's."""
    return {f"innodb_or_other_variable_{number}": f"{number * 7919}" for number in range(640)}


class Visitor:
    """Asks for pages and documents, one after the other, from a machine of its own."""

    def __init__(self, place: Fleet, session: str, per_second: float) -> None:
        self._place = place
        self._headers = {
            "Cookie": f"sessionid={session}",
            "Authorization": f"Bearer {place.token}",
        }
        self._pause_s = 1 / per_second
        self._ended = threading.Event()
        self.statuses: Counter[int] = Counter()
        self.paths = _paths(place)

    def visit_all(self) -> None:
        """What is loaded by the first visit is loaded then."""
        for _ in range(3):
            self._visit_all(0.0)
        self.statuses.clear()

    @contextmanager
    def visiting(self) -> Iterator[None]:
        thread = threading.Thread(target=self._visit)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _visit(self) -> None:
        while not self._ended.is_set():
            self._visit_all(self._pause_s)

    def _visit_all(self, pause_s: float) -> None:
        desk, centre = self._place.hosts["desk"], self._place.centre
        connection = desk.http(centre.address, WEB_PORT, timeout=60)
        for path in self.paths:
            connection.request("GET", path, headers=self._headers)
            answer = connection.getresponse()
            answer.read()
            self.statuses[answer.status] += 1
            self._ended.wait(pause_s)
        connection.close()


def _paths(place: Fleet) -> list[str]:
    """Pages and documents of a running study in the middle of the fleet, and of a finished one."""
    newest = "select max(id) as id from tuning_study where state = '{}'"
    running = place.rows(newest.format("running"))[0]["id"]
    finished = place.rows(newest.format("finished"))[0]["id"]
    paths = ["/", "/devices/", "/hosts/", "/studies/new/", "/api/v1/studies/", "/api/v1/devices/"]
    for study in (running, finished):
        if study is not None:
            paths += [f"/studies/{study}/", f"/studies/{study}/live/", f"/api/v1/studies/{study}/"]
            paths += [f"/api/v1/studies/{study}/document/", f"/api/v1/runs/?study={study}"]
    return paths


def _cpu(place: Fleet) -> dict[str, float]:
    """Processor seconds of the centre's programs, the ended ones of PostgreSQL included."""
    found: dict[str, float] = {}
    programs = [(place.centre, name, word) for name, word in _PROGRAMS.items()]
    programs.append((place.hosts["hosts"], _HOSTS, "bench.fleet.hosts"))
    for machine, name, word in programs:
        total = 0.0
        for process in machine.processes(word):
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += times.user + times.system + times.children_user + times.children_system
        found[name] = total
    return found


def _done(place: Fleet) -> int:
    return int(place.rows("select count(*) as n from benchmarks_run where state = 'ok'")[0]["n"])


def _sizes(place: Fleet) -> dict[str, int]:
    """Bytes of each table with its indexes."""
    rows = place.rows(
        "select relname, pg_total_relation_size(oid) as bytes from pg_class "
        "where relkind = 'r' and relnamespace = 'public'::regnamespace"
    )
    return {row["relname"]: row["bytes"] for row in rows}


def _claims(place: Fleet, found: Sequence[Mapping[str, Any]]) -> list[Goal]:
    """Each run was measured once and stored, whatever became of the messages."""
    measured = Counter(run for part in found for run in part["measured"])
    messages = sum((Counter(part["messages"]) for part in found), Counter())
    sweeps = sorted(second for part in found for second in part["sweeps"])
    errors = Counter(error for part in found for error in part["errors"])
    rows = place.rows("select state, count(*) as n from benchmarks_run group by 1")
    states = {row["state"]: row["n"] for row in rows}
    for error, number in errors.items():
        print(f"{number} x {error}")
    twice = len(measured) - _once(measured)
    amiss = {name: n for name, n in states.items() if name not in ("ok", "queued", "running")}
    said = ", ".join(f"{number} {word}" for word, number in messages.items())
    return [
        Goal("runs measured, each once", f"{len(measured)}, {twice} more than once", not twice),
        Goal("none that did not end well", f"{amiss or 'none'}", not amiss),
        Goal("no error of a host", f"{errors.total()}", not errors),
        Goal("messages", said),
        Goal("a sweep, median and p95", f"{_ms(sweeps, 0.5)} and {_ms(sweeps, 0.95)} ms"),
    ]


def _ms(seconds: Sequence[float], share: float) -> str:
    return f"{_at(seconds, share) * 1000:.0f}"


def _once(measured: Counter[int]) -> int:
    return sum(count == 1 for count in measured.values())


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


def _visits(lines: Sequence[str], visitor: Visitor) -> list[Goal]:
    """Times of the web server itself, by address."""
    times: dict[str, list[float]] = defaultdict(list)
    for line in lines:
        _, path, _, microseconds = line.split()
        times[path].append(int(microseconds) / 1000)
    rows, p95s = [], {}
    for path in visitor.paths:
        ordered = sorted(times[path])
        p95s[path] = _at(ordered, 0.95)
        rows.append([path, str(len(ordered)), f"{_at(ordered, 0.5):.0f}", f"{p95s[path]:.0f}"])
    print(markdown("Visits", ["address", "visits", "median ms", "p95 ms"], rows))
    goals = []
    for what, is_api in (("a page", False), ("a document of the API", True)):
        worst = {path: ms for path, ms in p95s.items() if path.startswith("/api/") is is_api}
        path = max(worst, key=worst.__getitem__)
        late = sum(ms > BUDGET_MS for ms in worst.values())
        goals.append(
            Goal(
                f"{what} within {BUDGET_MS} ms at p95",
                f"{worst[path]:.0f} ms at most ({path}), {late} of {len(worst)} late",
                not late,
            )
        )
    wrong = {status: n for status, n in visitor.statuses.items() if status != 200}
    seen = visitor.statuses.total()
    return [*goals, Goal("every answer is 200", f"{seen}, others {wrong or 'none'}", not wrong)]


def _growth(
    before: Mapping[str, int], after: Mapping[str, int], found: Sequence[Mapping[str, Any]]
) -> list[Goal]:
    runs = sum(len(part["measured"]) for part in found) or 1
    samples = sum(part["samples"] for part in found) or 1
    grown = {name: size - before.get(name, 0) for name, size in after.items()}
    rows = [
        [name, f"{size / 1e6:.1f}", f"{size / runs:.0f}"]
        for name, size in sorted(grown.items(), key=lambda item: -item[1])
        if size
    ]
    print(markdown("Growth", ["table", "grown by MB", "bytes per run"], rows))
    of_samples = grown["benchmarks_sample"]
    others = sum(grown.values()) - of_samples
    return [
        Goal("the database grows for each run by", f"{others / runs / 1000:.1f} kB"),
        Goal("and for each second of it by", f"{of_samples / samples:.0f} bytes"),
    ]


def _statements(place: Fleet) -> str:
    rows = place.rows(
        "select calls, total_exec_time as ms, mean_exec_time as mean, left(query, 160) as query "
        "from pg_stat_statements order by total_exec_time desc limit 25"
    )
    lines = [[str(r["calls"]), f"{r['ms']:.0f}", f"{r['mean']:.2f}", r["query"]] for r in rows]
    return markdown("Statements", ["calls", "ms", "mean", "statement"], lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
