"""The fleet that the storm goes over, and what is asked of it meanwhile."""

from __future__ import annotations

import http.client
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from random import Random
from typing import Any

import psutil
import psycopg

from advisor.tests.fleet import centre
from advisor.tests.fleet.centre import Fleet, Refused
from bench.faults import clock
from bench.faults.clock import Clock
from bench.faults.disk import SmallDisk
from benchmarks.servers.binary import ServerBinary

SETTINGS = "bench.faults.settings"
#: In the scene's folder: the temporary directory of all its hosts.
SCRATCH = "tmp"
RESTART_AFTER_S = 2.0
_TAIL = 4000
_WAITING = """
select host.name, host.idle_reason, host.worker_seen_at, clock_timestamp() as now,
  array(select (run.id, run.state, run.heartbeat_at)::text from benchmarks_run run
        where run.host_id = host.id and run.state not in ('ok', 'queued')) as runs,
  array(select (study.id, study.state, study.claimed_by, study.heartbeat_at)::text
        from tuning_study study where study.host_id = host.id) as studies,
  array(select (one.id, one.state, one.heartbeat_at)::text from benchmarks_inspection one
        where one.host_id = host.id) as inspections
from benchmarks_host host
"""
_CARED_EVERY_S = 0.5
_WORKER = "manage.py worker"
#: A config that is the baseline by another name, and one that is far faster.
CONFIGS = {
    "A/A": "[mysqld]\ninnodb_io_capacity = 210\n",
    "A/B": "[mysqld]\ninnodb_flush_log_at_trx_commit = 0\n",
}
#: Servers of the one are in control groups, which have to go as well.
REAL_DEVICES = {"A/B": [{"memory_mb": 600}]}


@dataclass
class Scene:
    """The fleet with its disks and clocks; `asks` has for each host what its studies compare."""

    place: Fleet
    server: ServerBinary
    asks: Mapping[str, str]
    blocks: int
    random: Random
    disks: dict[str, SmallDisk]
    clocks: dict[str, Clock]
    #: Hosts that start no servers, see `fake_worker`.
    fakes: Collection[str]
    #: What was asked in vain while something of the centre was away, by answer.
    refusals: Counter[str] = field(default_factory=Counter)
    #: Answers that nobody may get, whatever is away.
    wrong_answers: Counter[str] = field(default_factory=Counter)
    _gone_since: dict[str, float] = field(default_factory=dict)
    _cared: float = 0.0

    def workers(self, host: str) -> list[psutil.Process]:
        return self.place.hosts[host].processes(_WORKER)

    def named(self, host: str, *names: str) -> list[psutil.Process]:
        """Processes of a host by the names of their programs, which a loader may have started."""
        return [one for one in self.place.hosts[host].processes() if _runs(one, names)]

    def notes(self, host: str) -> list[Path]:
        """Endings of jobs that the host has not stored yet."""
        return [*(self.place.folder / host / "home" / "run" / "unstored").glob("run-*.json")]

    def start_what_is_gone(self) -> None:
        """Start ended programs of the centre and workers again, as systemd does.

        To look for them means to look at all processes of this machine.
        """
        if time.monotonic() - self._cared < _CARED_EVERY_S:
            return
        self._cared = time.monotonic()
        centre = self.place.centre
        for name, start in self.place.programs.items():
            self._start_again(name, is_there=bool(centre.processes(name)), start=start)
        for host in self.place.hosts:
            start = partial(self.place.start_worker, host)
            self._start_again(host, is_there=bool(self.workers(host)), start=start)

    def _start_again(self, name: str, *, is_there: bool, start: Callable[[], None]) -> None:
        if is_there:
            self._gone_since.pop(name, None)
        elif time.monotonic() - self._gone_since.setdefault(name, time.monotonic()) > (
            RESTART_AFTER_S
        ):
            del self._gone_since[name]
            start()

    def rows(self, query: str) -> list[dict[str, Any]] | None:
        """Return the rows of a query; None while the database does not answer."""
        try:
            return self.place.rows(query)
        except psycopg.Error:
            return None

    def last_words(self) -> str:
        """What each host is waiting for, and the end of its worker's log."""
        said = [f"{row}" for row in self.rows(_WAITING) or ()]
        said += [f"{name}: {self.place.hosts[name].log('worker')[-_TAIL:]}" for name in self.asks]
        return "\n".join([*said, f"refused: {self.refusals}"])

    def request_study(self, host: str) -> None:
        """Ask for the host's study; whether it came to be is in the database.

        Where that is refused, such as for a disk that was full when the host looked at it last,
        up to a minute ago, let it look again.
        """
        kind = self.asks[host]
        devices = None if host in self.fakes else REAL_DEVICES.get(kind)
        asked = self._post(
            "studies/",
            {
                "template": "compare",
                "name": kind,
                "configs": [{"name": "mine", "text": CONFIGS[kind]}],
                "host": host,
                "server": str(self.server.path),
                "driver": "sysbench",
                **{"warehouses": 1, "connections": [1], "warmup_s": 0, "measure_s": 2},
                **{"blocks": self.blocks, "races": False, "confirms": False},
                "durability": "D1",
                **({"devices": devices} if devices else {}),
            },
        )
        found = self.rows(f"select id from benchmarks_host where name = '{host}'")
        if not asked and found:
            self._post(f"hosts/{found[0]['id']}/actions/inspect/", {})

    def resume(self, study: int) -> None:
        """Resume the study, as somebody does who has made room."""
        self._post(f"studies/{study}/actions/resume/", {})

    def _post(self, path: str, body: object) -> bool:
        """Whether it was accepted, or may have been."""
        try:
            self.place.api(path, body, timeout=10)
        except Refused as refused:
            self._count(refused.status, f"{refused}", is_bug=refused.status >= 500)
            return refused.status >= 500
        except (OSError, http.client.HTTPException) as error:
            self.refusals[f"{path} {type(error).__name__}"] += 1
        return True

    def visit(self, path: str) -> None:
        """Open a page as an administrator; one that is there is shown, or why not for now."""
        try:
            status, text = self.place.visit(path, timeout=10)
        except (OSError, http.client.HTTPException) as error:
            self.refusals[f"{path} {type(error).__name__}"] += 1
            return
        if status != HTTPStatus.OK:
            self._count(status, f"GET {path}: {status} {text}", is_bug=True)

    def _count(self, status: int, text: str, *, is_bug: bool) -> None:
        """What came instead of what was asked for."""
        is_away = status == HTTPStatus.SERVICE_UNAVAILABLE
        counter = self.wrong_answers if is_bug and not is_away else self.refusals
        counter[" ".join(text.split())[:200]] += 1


def _runs(process: psutil.Process, names: Sequence[str]) -> bool:
    try:
        return any(Path(word).name in names for word in process.cmdline())
    except psutil.Error:
        return False


@contextmanager
def scene(
    folder: Path,
    server: ServerBinary,
    *,
    seed: int,
    asks: Mapping[str, str],
    blocks: int,
    fakes: Collection[str] = (),
    migrated: Callable[[Path], None] | None = None,
) -> Iterator[Scene]:
    """A fleet whose workers have started. `folder` has to be one that every user can enter.

    Workers of the hosts `fakes` start no servers, see `fake_worker`; `migrated` as of a fleet.
    """
    library = clock.build(folder)
    clocks = {name: Clock(folder / f"{name}.clock", library) for name in (*asks, "database")}
    for each in clocks.values():
        each.step(0)
    scratch = folder / SCRATCH
    scratch.mkdir(mode=0o1777)
    scratch.chmod(0o1777)  # whatever the umask
    more = {
        host: clocks[host].variables()
        | {"ADVISOR_DISK_RESERVE": "32M", "ADVISOR_STALL_LIMIT_PCT": "20"}
        | {"TMPDIR": str(scratch)}
        | ({"ADVISOR_TEST_FAKES": "yes"} if host in fakes else {})
        for host in asks
    }
    more["postgres"] = clocks["database"].variables()
    with centre.fleet([*asks], folder, settings=SETTINGS, more=more, migrated=migrated) as place:
        place.servers = [server.path]
        disks = {host: SmallDisk(place.hosts[host], folder / host / "device") for host in asks}
        for host, disk in disks.items():
            disk.mount(folder / f"{host}.ext4")
            place.start_worker(host)
        place.wait_for_workers(*place.hosts)
        yield Scene(place, server, asks, blocks, Random(seed), disks, clocks, fakes)
