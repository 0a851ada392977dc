"""`make bench-faults` in short: one fault of every kind, on hosts that start no servers."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from advisor.tests.fleet import centre
from advisor.tests.harness import wait_for
from bench.faults import clock
from bench.faults.checks import left_now, wrong_after
from bench.faults.faults import faults
from bench.faults.scene import SCRATCH, Scene, scene
from bench.faults.storm import Storm
from bench.faults.watch import Watch
from benchmarks.servers.binary import ServerBinary

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(why := centre.why_not() or clock.why_not()), reason=why),
]


@pytest.fixture
def there(
    server_session_tmp: Path,
    mariadb_binary: ServerBinary,
    migrated_postgres: Callable[[Path], None],
) -> Iterator[Scene]:
    folder = server_session_tmp / "storm"
    folder.mkdir(mode=0o755)
    asks = {"db1": "A/A", "db2": "A/B"}
    with scene(
        folder,
        mariadb_binary,
        seed=1,
        asks=asks,
        blocks=3,
        fakes=asks,
        migrated=migrated_postgres,
    ) as made:
        yield made


def test_a_fault_of_every_kind_costs_no_measurement_and_leaves_nothing(there: Scene) -> None:
    watch = Watch(there)
    # It ends before the test's time is over, so that it says what is waited for.
    storm = Storm(there, watch, faults(patience=0.1), mean_s=0.5, patience_s=100, quiet_end_s=300)
    with watch.beside():
        storm.rage(len(storm.kinds), studies=1)
    assert wrong_after(there, watch) == []
    assert {strike.fault for strike in storm.strikes} == {*storm.kinds}
    # And what would be left would be seen.
    lock = there.place.folder / "db1" / "home" / "run" / "benchmark.lock"
    planted = [f"{lock} is held", *plant(there)]

    def unseen() -> list[str]:
        found = "\n".join(left_now(there))
        return [what for what in planted if what not in found]

    with held(lock):
        wait_for(lambda: not unseen(), 30, f"not all is seen: {planted}")


def plant(there: Scene) -> list[str]:
    """Leave some of everything on a host that its worker does not know; how it is to be named."""
    host = there.place.hosts["db1"]
    host.start("sleep", "600", log="left")
    host.start("bash", "-c", "exec -a 'manage.py worker' sleep 601", log="left")
    runs = host.inside(there.disks["db1"].mounted_at) / "oltp-advisor" / "runs"
    folders = [runs / "left", there.place.folder / SCRATCH / "pymp-left"]
    for folder in folders:
        folder.mkdir()
    note = there.place.folder / "db1" / "home" / "run" / "unstored" / "left"
    note.touch()
    return ["db1: sleep 600", "db1 has 3 processes of workers", *map(str, [note, *folders])]


@contextmanager
def held(lock: Path) -> Iterator[None]:
    """As by a process that did not end."""
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
