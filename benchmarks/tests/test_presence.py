"""A host's name belongs to one live worker, and a home has one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db.models.functions import Now

from benchmarks.jobs.locks import this_process
from benchmarks.jobs.presence import (
    NameTaken,
    is_silent,
    join_host,
    leave_host,
    rename_host,
    stay,
)
from benchmarks.models import Host

pytestmark = pytest.mark.django_db


def join(name: str = "db-1") -> tuple[Host, list[str]]:
    said: list[str] = []
    return join_host(name, say=said.append), said


def held_by(worker: str, *, ago: float = 0.0) -> Host:
    seen_at = Now() - timedelta(seconds=ago)
    return Host.objects.create(name="db-1", worker=worker, worker_seen_at=seen_at)


ELSEWHERE = "another-boot.1.2.3.4"
LIVES = """
import sys, time
from benchmarks.jobs import presence
assert presence._hold_home()
print(flush=True)
time.sleep(60)
"""


@contextmanager
def living(home: Path) -> Iterator[None]:
    """A worker of this home, in another process."""
    environment = os.environ | {
        "ADVISOR_HOME": str(home),
        "DJANGO_SETTINGS_MODULE": "advisor.settings",
    }
    code = "import django; django.setup()" + LIVES
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment
    ) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline()
            yield
        finally:
            child.kill()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, settings: Any) -> Iterator[Path]:
    settings.RUN_DIR = tmp_path / "run"
    settings.RUN_DIR.mkdir()
    yield tmp_path
    leave_host(0)


@pytest.fixture(autouse=True)
def polls(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What happens while a worker waits for a name; nothing takes time."""
    calls: list[float] = []
    monkeypatch.setattr(time, "sleep", calls.append)
    return calls


def test_a_worker_joins_a_new_host_stays_and_leaves() -> None:
    host, said = join()
    assert host.worker == this_process()
    assert said == []
    assert not is_silent(host.pk)
    Host.objects.update(worker_seen_at=Now() - timedelta(minutes=1))
    assert is_silent(host.pk)
    stay(host.pk, host.name)
    assert not is_silent(host.pk)
    leave_host(host.pk)
    host.refresh_from_db()
    assert host.worker == ""
    assert join()[0] == host


@pytest.mark.slow
def test_a_name_is_refused_while_its_worker_lives_here_however_silent_it_is(home: Path) -> None:
    host = held_by(f"{this_process()}0", ago=3600)
    with living(home):
        for act in (join, partial(stay, host.pk, host.name), partial(rename_host, host, "db-2")):
            with pytest.raises(NameTaken, match="has a worker already"):
                act()
    assert join()[0] == host  # at once: it is dead for certain


def test_a_worker_in_another_container_is_waited_for_until_it_is_silent_for_long(
    polls: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    host = held_by(ELSEWHERE, ago=10)

    def later(seconds: float) -> None:
        polls.append(seconds)
        if len(polls) == 3:  # it has been silent for long enough now
            Host.objects.update(worker_seen_at=Now() - timedelta(seconds=25))

    monkeypatch.setattr(time, "sleep", later)
    taken, said = join()
    assert (taken, taken.worker) == (host, this_process())
    assert len(polls) == 3
    assert "waiting until it reports or is gone" in said[0]


def test_a_worker_that_was_seen_in_the_future_only_is_gone(polls: list[float]) -> None:
    """The database's clock was an hour ahead when it reported last, and was put right."""
    host = held_by(ELSEWHERE, ago=-3600)
    assert is_silent(host.pk)
    taken, _ = join()
    assert (taken, taken.worker, polls) == (host, this_process(), [])


def test_a_worker_on_another_machine_that_reports_keeps_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held_by(ELSEWHERE, ago=2)
    reported = iter([None, None])

    def reports(_: float) -> None:
        next(reported)
        Host.objects.update(worker_seen_at=Now())

    monkeypatch.setattr(time, "sleep", reports)
    said: list[str] = []
    with pytest.raises(NameTaken, match="in another home"):
        join_host("db-1", say=said.append)
    assert "waiting until it reports or is gone" in said[0]


def test_a_renamed_host_is_the_same_and_names_are_unique() -> None:
    host, _ = join()
    leave_host(host.pk)
    Host.objects.create(name="db-3")
    for wrong in ("", "a b", "-x", "x" * 300, "bench@1", "db-3"):
        with pytest.raises(NameTaken, match=r"there is a host db-3|is no name"):
            rename_host(host, wrong)
    rename_host(host, "db-2")
    assert (host.name, host.queue) == ("db-2", "bench.db-2")
    assert join("db-2")[0] == host


def test_a_worker_whose_host_was_renamed_while_it_was_cut_off_ends_and_says_so() -> None:
    host, _ = join()
    Host.objects.filter(pk=host.pk).update(name="db-2")
    with pytest.raises(NameTaken, match="host db-1 is called db-2 now"):
        stay(host.pk, "db-1")
    gone = host.pk
    host.delete()
    with pytest.raises(NameTaken, match="no longer in the database"):
        stay(gone, "db-1")
