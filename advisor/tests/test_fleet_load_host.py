"""A host measured while another drives, each in a network and PID namespace of its own.

The driver is measured as well, and offers its servers without TLS, for which tpcc_start cannot be
asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from advisor.tests.fleet import centre, scene
from advisor.tests.fleet.centre import Fleet
from advisor.tests.harness import wait_for
from benchmarks.drivers.tpcc_mysql import find_tpcc_start
from benchmarks.servers.binary import ServerBinary

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(bool(why := centre.why_not()), reason=why),
]


@pytest.fixture(scope="module")
def place(
    server_session_tmp: Path,
    mariadb_binary: ServerBinary,
    migrated_postgres: Callable[[Path], None],
    shared_folder: Path,
) -> Iterator[Fleet]:
    folder = server_session_tmp / "load-fleet"
    folder.mkdir(mode=0o755)
    with centre.fleet(
        ["db1", "driver1"],
        folder,
        settings=centre.SHORT,
        migrated=migrated_postgres,
        datasets=shared_folder / "datasets",
        more={"driver1": {"ADVISOR_LOAD_TLS": "false"}},
    ) as made:
        made.servers = [mariadb_binary.path]
        for name in made.hosts:
            made.start_worker(name)
        made.wait_for_workers(*made.hosts)
        yield made


_RUNS = """
select run.id, run.state, run.step, run.reason, run."throughput", run.load_side, run.fingerprint,
       run.host_path_length, run.comparability_key, run.disturbances
from benchmarks_run run where run.id > {after} order by run.id
"""
_LOADS = "select load.* from benchmarks_loadjob load order by load.id"


def test_a_load_host_that_dies_or_is_cut_off_loses_a_run_and_not_the_study(
    place: Fleet, mariadb_binary: ServerBinary
) -> None:
    before = _last_run(place)
    study = scene.request_study(
        place,
        "db1",
        mariadb_binary,
        driver="sysbench",
        measure_s=4,
        blocks=1,
        load_host="driver1",
    )
    db1 = place.hosts["db1"]
    scene.wait_until_measuring(place, "db1")
    assert list(db1.listening()), "the server is not offered"
    assert place.hosts["driver1"].kill("manage.py worker")
    wait_for(lambda: _lost(place, before) == 1, 60, f"{_runs(place, before)}")
    wait_for(lambda: not place.left_behind("db1"), 20, f"{place.left_behind('db1')}")
    wait_for(
        lambda: "driver1 is not heard of" in _progress(place, study),
        20,
        f"{_runs(place, before)}",
    )
    place.start_worker("driver1")
    scene.wait_until_measuring(place, "db1")
    place.hosts["driver1"].cut_off()
    try:
        wait_for(lambda: _lost(place, before) == 2, 40, f"{_runs(place, before)}")
        wait_for(lambda: not db1.listening(), 20, "the server is still offered")
    finally:
        place.hosts["driver1"].reconnect()
    scene.wait_for_verdicts(place)
    _check_runs(_runs(place, before))
    for load in place.rows(_LOADS):
        assert load["sealed_order"] == "", "an order stays in the database"
        assert load["state"] in ("ok", "lost", "cancelled"), load
        assert load["result"] is None
    scene.check_nothing_is_left(place)


def test_tpcc_mysql_on_a_load_host_measures_without_tls(
    place: Fleet, mariadb_binary: ServerBinary
) -> None:
    if find_tpcc_start() is None:
        pytest.skip("tpcc-mysql is not installed: no tpcc_start in TPCC_MYSQL_HOME or on PATH")
    before = _last_run(place)
    study = scene.request_study(
        place,
        "driver1",
        mariadb_binary,
        driver="tpcc-mysql",
        measure_s=2,
        blocks=1,
        load_host="db1",
        connections=3,
    )
    _wait_until_finished(place, study)
    measured = [run for run in _runs(place, before) if run["state"] == "ok"]
    assert len(measured) == 3
    for run in measured:
        side = _json(run["load_side"])
        assert (side["host"], side["encrypted"]) == ("db1", False)
        assert run["throughput"] > 0
    assert len({run["comparability_key"] for run in measured}) == 1
    scene.check_nothing_is_left(place)


def _check_runs(runs: list[dict[str, Any]]) -> None:
    """Lost to the load host, or driven by it.

    One that was begun just before its silence was noticed is given back.
    """
    assert any(run["state"] == "ok" for run in runs)
    for run in runs:
        if run["state"] in ("lost", "cancelled"):
            assert "driver1" in run["reason"]
            continue
        assert run["state"] == "ok", run
        side = _json(run["load_side"])
        assert (side["host"], side["encrypted"]) == ("driver1", True)
        assert 0 < side["round_trip_ms"] < 50
        # One kernel has both clocks: they do not differ at all.
        assert abs(side["clock_drift_ms"]) <= 2 * side["clock_error_ms"] + 0.5
        assert _json(run["fingerprint"])["load_host"].startswith("host ")
    assert len({run["comparability_key"] for run in runs if run["state"] == "ok"}) == 1


def _runs(place: Fleet, after: int) -> list[dict[str, Any]]:
    """Those after the one with that number, in order."""
    return place.rows(_RUNS.format(after=after))


def _last_run(place: Fleet) -> int:
    return max((run["id"] for run in _runs(place, 0)), default=0)


def _lost(place: Fleet, after: int) -> int:
    return sum(run["state"] == "lost" for run in _runs(place, after))


def _progress(place: Fleet, study: int) -> str:
    return json.dumps(place.api(f"studies/{study}/"))


def _wait_until_finished(place: Fleet, study: int) -> None:
    ended = f"select 1 from tuning_study where id = {study} and state = 'finished'"
    wait_for(lambda: place.rows(ended), 150, f"study {study} does not end: {_runs(place, 0)}")


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value
