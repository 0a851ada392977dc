"""What happens when something is killed half-way: nothing lost, nothing left running."""

from __future__ import annotations

import fcntl
import json
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from advisor.tests.harness import Home, wait_for

RUNS = {"server-default": 2, "mine": 1}

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture
def study(home: Home, tmp_path: Path) -> list[str]:
    return _study(home, tmp_path)


def _study(home: Home, tmp_path: Path, measure_s: int = 2) -> list[str]:
    """Arguments of a study of three short runs, two of them the baseline's."""
    config = tmp_path / "mine.cnf"
    config.write_text("[mysqld]\ninnodb_io_capacity = 5000\n")
    return home.advise(
        *("--template", "compare", "--config", str(config), "--blocks", "1"),
        *("--measure", str(measure_s), "--driver", "sysbench"),
        *("--json", "--no-race", "--no-confirm"),
    )


def _rows(home: Home, query: str) -> list[tuple[Any, ...]]:
    database = sqlite3.connect(f"file:{home.database}?mode=ro", uri=True, timeout=10)
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


MEASURING = "select id from benchmarks_run where state='running' and step='measuring'"
A_RUN_IS = "exists (select id from benchmarks_run where state='{}')"


def _wait_until_measuring(
    home: Home, process: subprocess.Popen[str], query: str = MEASURING
) -> None:
    def seen() -> bool:
        assert process.poll() is None, process.communicate()
        return bool(_rows(home, query))

    wait_for(seen, 120, "no run began to measure")


def _check_interrupted(home: Home, process: subprocess.Popen[str]) -> None:
    """That `advise` ends as an interrupted one does and leaves nothing."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "interrupted" in err
    assert "Traceback" not in err
    assert out == ""
    assert home.left_behind() == []


def _check_cancelled(home: Home) -> None:
    assert _rows(home, "select distinct state from tuning_study") == [("cancelled",)]
    assert _rows(home, "select id from benchmarks_run where state in ('queued','running')") == []


# With SIGTERM see a host that is taken, and the storm of kills.
def test_an_interrupted_advise_cancels_its_study_and_leaves_nothing(
    home: Home, study: list[str]
) -> None:
    process = home.start(*study)
    _wait_until_measuring(home, process)
    process.send_signal(signal.SIGINT)
    _check_interrupted(home, process)
    _check_cancelled(home)


def test_a_killed_worker_loses_its_run_and_a_killed_redis_nothing_but_time(
    home: Home, study: list[str]
) -> None:
    process = home.start(*study)
    _wait_until_measuring(home, process)
    for worker in home.find("manage.py worker"):
        worker.kill()
    # Redis then dies under a later run, and is needed for one more.
    later = f"{MEASURING} and {A_RUN_IS.format('lost')} and {A_RUN_IS.format('queued')}"
    _wait_until_measuring(home, process, later)
    (redis,) = home.find("redis-server")
    redis.kill()
    out, err = process.communicate(timeout=330)
    assert process.returncode == 0, err
    document = json.loads(out)
    assert {row["config"]: row["runs"] for row in document["ranking"]} == RUNS
    states = _rows(home, "select state, count(*) from benchmarks_run group by state")
    assert dict(states) == {"ok": 3, "lost": 1}
    retries = _rows(
        home,
        "select old.state from benchmarks_run r join benchmarks_run old on r.retry_of_id = old.id",
    )
    assert retries == [("lost",)]
    assert home.left_behind() == []


def _wait_until_kept(home: Home, process: subprocess.Popen[str], run_id: int) -> None:
    """Until that run was measured; its server is still to be stopped."""
    note = home.path / "run" / "unstored" / f"run-{run_id}.json"
    deadline = time.monotonic() + 120
    while not note.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "no run was measured"
        time.sleep(0.01)


def _worker(home: Home) -> tuple[psutil.Process, psutil.Process]:
    """The worker's process and, below it, the one that measures."""
    found = home.find("manage.py worker")
    (main,) = [one for one in found if one.parent() not in found]
    (measuring,) = [one for one in found if one.parent() == main]
    return main, measuring


def test_kills_after_the_last_measured_second_lose_no_run_and_a_pause_is_kept(
    home: Home, tmp_path: Path
) -> None:
    """Of the process that measured and, while the study is paused, of the whole worker.

    Whom to kill is known before: a server is stopped in a fraction of a second.
    """
    process = home.start(*_study(home, tmp_path, measure_s=1))
    states = "select id, state from benchmarks_run order by id"
    wait_for(lambda: (1, "running") in _rows(home, states), 120, "no run began")
    _, measuring = _worker(home)
    _wait_until_kept(home, process, 1)
    measuring.kill()
    assert _rows(home, states)[0] == (1, "running")  # it was in time

    wait_for(lambda: _rows(home, states)[1] == (2, "running"), 60, "the study did not go on")
    pause = home.start("study", "pause", "1", "--reason", "backup")
    whole = _worker(home)
    _wait_until_kept(home, process, 2)
    process.send_signal(signal.SIGSTOP)  # it starts no other worker before the pause is stored
    for one in whole:
        one.kill()
    assert _rows(home, states) == [(1, "ok"), (2, "running"), (3, "queued")]
    assert pause.communicate(timeout=60)[0].startswith("Study 1 is paused")
    process.send_signal(signal.SIGCONT)

    wait_for(lambda: _rows(home, states)[1] == (2, "ok"), 60, "what was kept is not stored")
    time.sleep(4)  # as long as a sweep that would begin the next
    assert _rows(home, states)[2] == (3, "queued")
    assert home.run("study", "resume", "1").returncode == 0
    out, err = process.communicate(timeout=330)
    assert process.returncode == 0, err
    assert "on the command line: backup. Resume it on its page" in err
    assert "Study 1 was resumed." in err
    assert {row["config"]: row["runs"] for row in json.loads(out)["ranking"]} == RUNS
    assert _rows(home, states) == [(1, "ok"), (2, "ok"), (3, "ok")]
    assert home.left_behind() == []


def test_a_storm_of_kills_at_the_end_of_advise_leaves_nothing(
    home: Home, study: list[str]
) -> None:
    process = home.start(*study)
    _wait_until_measuring(home, process)
    process.send_signal(signal.SIGSTOP)  # it must not start another worker, which would clean up
    for name in ("manage.py worker", "mariadbd"):
        for victim in home.find(name):
            if victim.pid != process.pid:
                victim.kill()
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGCONT)
    _check_interrupted(home, process)
    _check_cancelled(home)


def test_a_worker_whose_host_is_taken_hears_that_it_is_to_end(
    home: Home, study: list[str]
) -> None:
    run_dir = home.path / "run"
    run_dir.mkdir(mode=0o700)
    with (run_dir / "benchmark.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = home.start(*study)
        # The worker's look at its host comes first, and waits as the study does.
        waits = "select id from benchmarks_inspection where state='queued' and claimed_by=''"
        wait_for(lambda: _rows(home, waits), 60, "the worker did not ask for a look at its host")
        wait_for(lambda: home.find("redis-server"), 60, "there is no Redis")
        time.sleep(8)  # the message has arrived
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        # Else it would be killed after 30 s.
        assert time.monotonic() - began < 25
    _check_interrupted(home, process)


def test_advise_itself_killed_leaves_no_process(home: Home, study: list[str]) -> None:
    process = home.start(*study)
    _wait_until_measuring(home, process)
    process.kill()
    process.communicate(timeout=30)
    assert wait_for(lambda: not home.processes(), 40, "processes survived their supervisor")


def test_a_wrong_setting_is_named(home: Home) -> None:
    done = home.run("check", ADVISOR_PORT="eighty")
    assert done.returncode == 1
    assert "ADVISOR_PORT='eighty'" in done.stderr
    assert "Traceback" not in done.stderr
