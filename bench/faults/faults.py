"""What goes wrong: each fault begins when its moment has come."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

import psutil

from bench.faults.clock import STEP_S
from bench.faults.scene import Scene

CENTRE = "centre"
ALL = "all"


@dataclass(frozen=True)
class Fault:
    """A kind of fault. `begin` says whether there was something to hit; `where` is "host" for one
    of the hosts, CENTRE or ALL. With `end` it lasts for `seconds`.
    """

    name: str
    where: str
    begin: Callable[[Scene, str], bool]
    end: Callable[[Scene, str], object] | None = None
    seconds: float = 0
    is_long: bool = False


def faults(patience: float) -> list[Fault]:
    """Every kind; those that last do so for their usual time by `patience` (1: as documented)."""
    return [
        Fault("run process killed", "host", _kill_run_process),
        Fault("worker killed", "host", _kill_worker),
        Fault("driver killed", "host", lambda scene, host: _kill(scene.named(host, "sysbench"))),
        Fault("server killed", "host", _kill_server),
        Fault("worker ended while a result is stored", "host", _end_while_storing),
        Fault("worker stopped", "host", _stop_worker, _go_on, 60 * patience, is_long=True),
        Fault("network cut", "host", _cut_off, _reconnect, 40 * patience, is_long=True),
        Fault("disk filled", "host", _fill, _free, 10 * patience),
        Fault("web server killed", CENTRE, _kill_there("gunicorn")),
        Fault("Redis killed", CENTRE, _kill_there("redis-server")),
        Fault("Redis killed and emptied", CENTRE, _empty_redis),
        Fault("PostgreSQL restarted", CENTRE, _restart_postgres),
        Fault("PostgreSQL killed", CENTRE, _kill_there("postgres")),
        Fault("everything stopped", ALL, _stop_everything(30 * patience), is_long=True),
        Fault("clock of a host stepped", "host", _step, _step_back, 12 * patience),
        Fault("clock of the database stepped", CENTRE, _step, _step_back, 12 * patience),
    ]


def _kill(processes: Iterable[psutil.Process], number: signal.Signals = signal.SIGKILL) -> bool:
    """Send them a signal; whether there were any."""
    was_there = False
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)
            was_there = True
    return was_there


def _is_busy(scene: Scene, host: str) -> bool:
    return bool(scene.named(host, scene.server.path.name))


def _kill_server(scene: Scene, host: str) -> bool:
    return _kill(scene.named(host, scene.server.path.name))


def _kill_run_process(scene: Scene, host: str) -> bool:
    """The process of a worker that does its jobs: the worker forks another one."""
    workers = scene.workers(host)
    return _is_busy(scene, host) and _kill(one for one in workers if one.parent() in workers)


def _kill_worker(scene: Scene, host: str) -> bool:
    return _is_busy(scene, host) and _kill(scene.workers(host))


def _end_while_storing(scene: Scene, host: str) -> bool:
    """Killed or asked to end, and started again like every worker that is gone."""
    number = scene.random.choice([signal.SIGKILL, signal.SIGTERM])
    return bool(scene.notes(host)) and _kill(scene.workers(host), number)


def _stop_worker(scene: Scene, host: str) -> bool:
    return _is_busy(scene, host) and _kill(scene.workers(host), signal.SIGSTOP)


def _go_on(scene: Scene, host: str) -> None:
    _kill(scene.workers(host), signal.SIGCONT)


def _cut_off(scene: Scene, host: str) -> bool:
    scene.place.hosts[host].cut_off()
    return True


def _reconnect(scene: Scene, host: str) -> None:
    scene.place.hosts[host].reconnect()


def _fill(scene: Scene, host: str) -> bool:
    if not _is_busy(scene, host):
        return False
    disk = scene.disks[host]
    disk.fill()
    if not disk.has_no_room:  # something was deleted at this very moment
        disk.free()
    return disk.is_filled


def _free(scene: Scene, host: str) -> None:
    scene.disks[host].free()


def _kill_there(name: str) -> Callable[[Scene, str], bool]:
    return lambda scene, _: _kill(scene.place.centre.processes(name))


def _empty_redis(scene: Scene, _: str) -> bool:
    centre = scene.place.centre
    if not _kill(centre.processes("redis-server")):
        return False
    for path in [*centre.folder.glob("appendonlydir/*"), *centre.folder.glob("dump.rdb")]:
        path.unlink()
    return True


def _restart_postgres(scene: Scene, _: str) -> bool:
    """Restart PostgreSQL as an administrator does: connections end, commits are kept."""
    return _kill(scene.place.centre.processes("postgres -D"), signal.SIGINT)


def _stop_everything(seconds: float) -> Callable[[Scene, str], bool]:
    def stop(scene: Scene, _: str) -> bool:
        machines = [scene.place.centre, *scene.place.hosts.values()]
        stopped = [one for machine in machines for one in machine.processes()]
        _kill(stopped, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            _kill(stopped, signal.SIGCONT)
        return True

    return stop


def _step(scene: Scene, target: str) -> bool:
    clock, place = scene.clocks[_clock(target)], scene.place
    there = place.centre.processes("postgres -D") if target == CENTRE else scene.workers(target)
    if not there or not all(clock.is_that_of(process) for process in there):
        return False
    clock.step(scene.random.choice([-STEP_S, STEP_S]))
    return True


def _step_back(scene: Scene, target: str) -> None:
    scene.clocks[_clock(target)].step(0)


def _clock(target: str) -> str:
    return "database" if target == CENTRE else target
