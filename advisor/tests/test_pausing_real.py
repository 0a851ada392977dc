"""A study of a real worker is paused while it measures, and resumed after the next one is done."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from advisor.tests.harness import Home, wait_for

pytestmark = [pytest.mark.server, pytest.mark.slow]


def rows(home: Home, query: str) -> list[tuple[Any, ...]]:
    path = home.path / "private" / "db.sqlite3"
    if not path.exists():
        return []
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
    try:
        return database.execute(query).fetchall()
    except sqlite3.OperationalError:
        return []  # not migrated yet
    finally:
        database.close()


def test_the_run_at_hand_ends_the_next_study_runs_and_the_paused_one_goes_on(
    home: Home, tmp_path: Path
) -> None:
    config = tmp_path / "mine.cnf"
    config.write_text("[mysqld]\ninnodb_io_capacity = 5000\n")
    study = home.advise(
        *("--template", "compare", "--config", str(config), "--blocks", "1"),
        *("--measure", "8", "--driver", "sysbench", "--json", "--no-race", "--no-confirm"),
    )
    first = home.start(*study)
    measuring = "select id from benchmarks_run where step='measuring'"
    wait_for(lambda: rows(home, measuring), 120, "no run began to measure")
    paused = home.run("study", "pause", "1", "--reason", "the other one first")
    assert (paused.returncode, paused.stderr) == (0, "")
    assert paused.stdout.startswith("Study 1 is paused")
    of_first = "select run_id from tuning_slot where study_id = 1"
    begun = f"select id from benchmarks_run where id in ({of_first}) and state != 'queued'"
    at_hand = rows(home, begun)
    assert 1 <= len(at_hand) < 3

    second = home.run(*study)
    assert second.returncode == 0, second.stderr
    assert json.loads(second.stdout)["study"]["id"] == 2
    # Of the first one the run at hand has ended well, and nothing more has begun.
    assert rows(home, "select state from tuning_study where id = 1") == [("running",)]
    assert rows(home, begun) == at_hand
    assert rows(home, f"{begun} and state != 'ok'") == []
    assert first.poll() is None

    again = home.run("study", "pause", "1")
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr == "already_paused: the study is paused already\n"
    assert home.run("study", "resume", "1").returncode == 0
    out, err = first.communicate(timeout=120)
    assert first.returncode == 0, err
    assert "Study 1 is paused since " in err
    assert "on the command line: the other one first. It goes on when it is resumed" in err
    assert "Study 1 was resumed." in err
    assert {row["config"]: row["runs"] for row in json.loads(out)["ranking"]} == {
        "server-default": 2,
        "mine": 1,
    }
    assert rows(home, "select distinct state from benchmarks_run") == [("ok",)]
    assert home.left_behind() == []
