"""A host measured while two others drive, each in a network and PID namespace of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from advisor.tests.fleet import centre, scene
from advisor.tests.fleet.centre import Fleet
from advisor.tests.harness import wait_for
from benchmarks.remote_load.announcer import MAX_APART_S
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
        ["db1", "driver1", "driver2"],
        folder,
        settings=centre.SHORT,
        migrated=migrated_postgres,
        datasets=shared_folder / "datasets",
    ) as made:
        made.servers = [mariadb_binary.path]
        for name in made.hosts:
            made.start_worker(name)
        made.wait_for_workers(*made.hosts)
        yield made


_RUNS = """
select run.id, run.state, run.step, run.reason, run."tpmP", run.load_side, run.fingerprint,
       run.host_path_length, run.comparability_key, run.disturbances
from benchmarks_run run order by run.id
"""
_LOADS = "select load.* from benchmarks_loadjob load order by load.id"


def test_of_two_load_hosts_one_that_dies_or_is_cut_off_loses_a_run_and_not_the_study(
    place: Fleet, mariadb_binary: ServerBinary
) -> None:
    scene.request_study(
        place,
        "db1",
        mariadb_binary,
        driver="sysbench",
        measure_s=4,
        blocks=1,
        load_host=["driver1", "driver2"],
        connections=2,
    )
    db1 = place.hosts["db1"]
    scene.wait_until_measuring(place, "db1")
    assert list(db1.listening()), "the server is not offered"
    assert place.hosts["driver1"].kill("manage.py worker")
    wait_for(lambda: _states(place).get("lost") == 1, 60, f"{place.rows(_RUNS)}")
    wait_for(lambda: not place.left_behind("db1"), 20, f"{place.left_behind('db1')}")
    wait_for(lambda: "driver1 is not heard of" in _progress(place), 20, f"{place.rows(_RUNS)}")
    place.start_worker("driver1")
    scene.wait_until_measuring(place, "db1")
    place.hosts["driver1"].cut_off()
    try:
        wait_for(lambda: _states(place).get("lost") == 2, 40, f"{place.rows(_RUNS)}")
        wait_for(lambda: not db1.listening(), 20, "the server is still offered")
    finally:
        place.hosts["driver1"].reconnect()
    scene.wait_for_verdicts(place)
    together = _check_runs(place.rows(_RUNS), ["driver1", "driver2"])
    last = place.rows(_RUNS)[-1]["id"]
    study = scene.request_study(
        place, "db1", mariadb_binary, driver="sysbench", measure_s=1, blocks=1, load_host="driver2"
    )
    ended = f"select 1 from tuning_study where id = {study} and state = 'finished'"
    wait_for(lambda: place.rows(ended), 90, "the study that one host drives does not end")
    alone = _check_runs([run for run in place.rows(_RUNS) if run["id"] > last], ["driver2"])
    assert alone.isdisjoint(together), "one load host and two are ranked together"
    for load in place.rows(_LOADS):
        assert load["sealed_order"] == "", "an order stays in the database"
        assert load["state"] in ("ok", "lost", "cancelled"), load
        assert load["result"] is None
    scene.check_nothing_is_left(place)


def _check_runs(runs: list[dict[str, Any]], drivers: list[str]) -> set[str]:
    """Lost to the first load host, or driven by all of them; their comparability keys.

    One that was begun just before that host's silence was noticed is given back.
    """
    keys = set()
    for run in runs:
        if run["state"] in ("lost", "cancelled"):
            assert "driver1" in run["reason"]
            continue
        assert run["state"] == "ok", run
        sides = _json(run["load_side"])
        assert sorted(side["host"] for side in sides) == drivers  # who joined first is first
        for side in sides:
            assert (side["connections"], side["encrypted"]) == (1, True)
            assert 0 < side["round_trip_ms"] < 50
            # One kernel has both clocks: they do not differ at all.
            assert abs(side["clock_drift_ms"]) <= 2 * side["clock_error_ms"] + 0.5
            assert 0 <= side["after_first_ms"] <= 1000 * MAX_APART_S
        assert _json(run["fingerprint"])["load_host"].count("host ") == len(drivers)
        keys.add(run["comparability_key"])
    assert keys
    return keys


def _states(place: Fleet) -> dict[str, int]:
    found = [run["state"] for run in place.rows(_RUNS)]
    return {state: found.count(state) for state in found}


def _progress(place: Fleet) -> str:
    return json.dumps(place.api("studies/1/"))


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value
