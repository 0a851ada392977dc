"""What happens when something is killed half-way: nothing lost, nothing left running."""

from __future__ import annotations

import fcntl
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from advisor.tests.harness import Home, wait_for
from tuning.results.document import StudyDocument

RUNS = {"server-default": 2, "mine": 1}

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture
def study(home: Home, tmp_path: Path) -> list[str]:
    """Arguments of a study of three short runs, two of them the baseline's."""
    config = tmp_path / "mine.cnf"
    config.write_text("[mysqld]\ninnodb_io_capacity = 5000\n")
    return home.advise(
        *("--template", "compare", "--config", str(config), "--blocks", "1"),
        *("--driver", "sysbench", "--json", "--no-race", "--no-confirm"),
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
) -> int:
    """The number of the run."""

    def seen() -> list[tuple[int]]:
        assert process.poll() is None, process.communicate()
        return _rows(home, query)

    [(run_id,)] = wait_for(seen, 120, "no run began to measure")
    return int(run_id)


def _states(home: Home) -> dict[int, str]:
    """By number, of all runs."""
    return dict(_rows(home, "select id, state from benchmarks_run"))


def _queued(home: Home, count: int) -> dict[int, str]:
    """As many runs, that are queued."""
    found = {run_id: state for run_id, state in _states(home).items() if state == "queued"}
    assert len(found) == count
    return found


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


def test_a_killed_worker_loses_a_run_and_later_kills_nothing_but_time(
    home: Home, study: list[str]
) -> None:
    """First of the worker while it measures, then of Redis; after the last measured second of the
    process that measured and, while the study is paused, of the whole worker.

    Whom to kill is known before: a server is stopped in a fraction of a second.
    """
    process = home.start(*study)
    first = _wait_until_measuring(home, process)
    for worker in home.find("manage.py worker"):
        worker.kill()
    second = _wait_until_measuring(home, process, f"{MEASURING} and {A_RUN_IS.format('lost')}")
    _, measuring = _worker(home)
    (redis,) = home.find("redis-server")
    redis.kill()
    _wait_until_kept(home, process, second)
    measuring.kill()
    assert _states(home) == {first: "lost", second: "running"} | _queued(home, 2)  # it was in time

    wait_for(lambda: _states(home)[second] == "ok", 60, "what was kept is not stored")
    third = _wait_until_measuring(home, process)
    pause = home.start("study", "pause", "1", "--reason", "backup")
    whole = _worker(home)
    _wait_until_kept(home, process, third)
    process.send_signal(signal.SIGSTOP)  # it starts no other worker before the pause is stored
    for one in whole:
        one.kill()
    queued = _queued(home, 1)
    assert _states(home) == {first: "lost", second: "ok", third: "running"} | queued
    assert pause.communicate(timeout=60)[0].startswith("Study 1 is paused")
    process.send_signal(signal.SIGCONT)

    wait_for(lambda: _states(home)[third] == "ok", 60, "what was kept is not stored")
    time.sleep(4)  # as long as a sweep that would begin the next
    assert _states(home) == {first: "lost", second: "ok", third: "ok"} | queued
    assert home.run("study", "resume", "1").returncode == 0
    out, err = process.communicate(timeout=330)
    assert process.returncode == 0, err
    assert "on the command line: backup. Resume it on its page" in err
    assert "Study 1 was resumed." in err
    document = StudyDocument.model_validate_json(out)
    names = {pk: one.name for pk, one in document.candidate.items()}
    [board] = document.boards
    assert {names[row.candidate_id]: row.runs for row in board.rows} == RUNS
    assert sorted(_states(home).values()) == ["lost", "ok", "ok", "ok"]
    retries = "select retry_of_id from benchmarks_run where retry_of_id is not null"
    assert _rows(home, retries) == [(first,)]
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
