"""Several hosts of one advisor: real PostgreSQL, Redis, web server, workers and servers, each host
in a network and a PID namespace of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.tests.fleet import centre, scene
from advisor.tests.fleet.centre import Fleet
from advisor.tests.harness import wait_for
from benchmarks.servers.binary import ServerBinary

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(why := centre.why_not()), reason=why),
]


@pytest.fixture(scope="module")
def place(server_session_tmp: Path, shared_folder: Path) -> Iterator[Fleet]:
    folder = server_session_tmp / "fleet"
    folder.mkdir(mode=0o755)
    shared = shared_folder / "datasets"
    with centre.fleet(["db1", "db2"], folder, settings=centre.SHORT, datasets=shared) as made:
        yield made


HOLD_A_ROW = """
import time
from django.db import OperationalError, connection, transaction
from benchmarks.models import Host
Host.objects.create(name="db1")
try:
    with transaction.atomic():
        Host.objects.select_for_update().get(name="db1")
        print("it is held", flush=True)
        while True:
            Host.objects.get(name="db1")
            time.sleep(0.1)
except OperationalError:
    print("gave up", flush=True)
"""


def test_a_host_that_is_cut_off_in_a_transaction_gives_its_rows_back(place: Fleet) -> None:
    """Else who cancels its study, and the host when it is back, would wait for TCP: for hours."""
    place.start("db1", "shell", "-v", "0", "-c", HOLD_A_ROW)
    host = place.hosts["db1"]
    wait_for(lambda: "it is held" in host.log("shell"), 30, host.log("shell"))
    host.cut_off()
    try:
        place.rows("select name from benchmarks_host for update")
        wait_for(lambda: "gave up" in host.log("shell"), 30, "the host still waits for an answer")
    finally:
        host.reconnect()


def test_two_hosts_measure_at_once_while_one_worker_is_killed_and_one_host_cut_off(
    place: Fleet, mariadb_binary: ServerBinary
) -> None:
    place.servers = [mariadb_binary.path]
    for name in place.hosts:
        place.start_worker(name)
    place.wait_for_workers(*place.hosts)
    for name in place.hosts:
        scene.request_study(place, name, mariadb_binary, driver="sysbench", measure_s=4, blocks=1)
    scene.kill_and_cut_off(place, "db1", "db2", seconds=8)
    scene.wait_for_verdicts(place)
    scene.check_runs(place)
    assert any(run["state"] == "lost" and run["host"] == "db1" for run in scene.runs(place))
    scene.check_nothing_is_left(place)
    scene.check_hosts_are_named(place)
    scene.check_connections_are_kept(place)
