"""What the terminal says while a study runs."""

from __future__ import annotations

import io
import sqlite3
from itertools import count
from unittest.mock import Mock

import psycopg
import pytest
from django.core.management import call_command
from django.db import OperationalError
from django.db.models.functions import Now
from rich.console import Console

from advisor.management.commands import serve
from advisor.terminal import follow as module
from advisor.terminal.follow import follow_all
from advisor.tests import factories
from benchmarks.models import Host
from tuning.models import Study, StudyState
from tuning.studies.progress import StudyProgress
from tuning.studies.revision import bump

pytestmark = pytest.mark.django_db


def followed(study: Study, *, is_terminal: bool) -> str:
    """What is shown of one look at the study, which has ended at the next."""
    shown = io.StringIO()
    looks = 0

    def check() -> None:
        nonlocal looks
        looks += 1
        if looks > 1:
            Study.objects.filter(pk=study.pk).update(state=StudyState.FINISHED)
            bump([study.pk])

    follow_all([study], Console(file=shown, width=100, force_terminal=is_terminal), check)
    return shown.getvalue()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(module, "LOG_SECONDS", -1.0)


def test_the_line_in_a_log_names_the_device_where_there_are_several() -> None:
    study = factories.study_on_two_devices()
    factories.race(study, most=1)
    run = factories.sure(factories.begin(study))
    [line] = followed(study, is_terminal=False).splitlines()
    assert f"{run.slot.candidate.name}" in line
    assert f"measuring, on {run.device}; about " in line


def test_the_bar_of_a_terminal_has_it_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")  # on a dumb one nothing is drawn twice
    monkeypatch.setattr(module, "POLL_SECONDS", 0.5)  # it is drawn ten times in a second
    study = factories.study_on_two_devices()
    factories.race(study, most=1)
    run = factories.sure(factories.begin(study))
    text = followed(study, is_terminal=True)
    assert f"on {run.device}" in text
    assert "━" in text


def test_the_findings_so_far_stand_below_the_present_run() -> None:
    state = StudyProgress(0.5, "race, block 3: search-9")
    standing = ["47 configs tried", "the baseline itself misses p95 <= 50 ms: 61.2 ms in 3 runs"]
    assert module._lines(state, standing, "db1: ").splitlines() == [
        "db1: race, block 3: search-9",
        *standing,
    ]


def test_a_host_that_takes_no_work_is_named_with_what_to_do_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As the worker of an older version, which sees that the tables are newer."""
    monkeypatch.setattr(module, "ABSENT_SECONDS", -1.0)
    words = count()
    monkeypatch.setattr(module, "progress_mark", lambda _: str(next(words)))  # each look is news
    monkeypatch.setattr(module, "code_version", lambda: "0.7.0 abc")
    study = factories.make_study(state=StudyState.RUNNING)
    Host.objects.update(worker_seen_at=Now(), idle_reason="update this code, 0.6.0")
    shown = io.StringIO()
    looks = iter(range(5))

    def check() -> None:
        if next(looks, None) is None:
            Study.objects.update(state=StudyState.FINISHED)

    follow_all([study], Console(file=shown), check)
    [told] = [line for line in shown.getvalue().splitlines() if line.startswith("Study ")]
    assert told == (
        f"Study {study.pk} waits: host {study.host} takes no work: update this code, 0.6.0. Stop "
        "its worker, or the `serve` that started it, and start it with this version, 0.7.0 abc; "
        "the study goes on then."
    )


def test_studies_of_several_hosts_are_followed_until_all_have_ended() -> None:
    studies = [
        factories.make_study(
            state=StudyState.RUNNING,
            device=factories.make_device(host=factories.make_host(name), data_dir=f"/srv/{name}"),
        )
        for name in ("db1", "db2")
    ]
    shown = io.StringIO()
    ends = iter([[], studies[:1], [], studies])

    def check() -> None:
        ended = [study.pk for study in next(ends)]
        bump(ended)
        Study.objects.filter(pk__in=ended).update(state=StudyState.FINISHED)

    follow_all(studies, Console(file=shown, width=100), check)
    lines = [line.partition(": ")[0] for line in shown.getvalue().splitlines()]
    assert lines == ["db1", "db2", "db1"]
    assert all(study.is_finished for study in studies)


def away(cause: Exception) -> OperationalError:
    error = OperationalError("the server closed the connection\nunexpectedly")
    error.__cause__ = cause
    return error


def test_a_database_that_is_away_for_a_while_ends_neither_advise_nor_serve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = factories.make_study(blocks=1)
    shown = io.StringIO()
    console = Console(file=shown, width=100)
    restarts = psycopg.errors.AdminShutdown()
    looks: list[Exception | None] = [away(restarts), away(restarts), None]

    def check() -> None:
        if error := looks.pop(0):
            raise error
        Study.objects.filter(pk=study.pk).update(state=StudyState.FINISHED)
        study.refresh_from_db()

    follow_all([study], console, check)
    assert not looks
    waiting, back = shown.getvalue().splitlines()
    assert "says: the server closed the connection unexpectedly" in waiting
    assert back == "The database works again."

    monkeypatch.setattr(serve, "_print_first_login", lambda _: None)
    monkeypatch.setattr(serve, "WATCH_SECONDS", 0.0)
    watched = iter([away(restarts), None, KeyboardInterrupt()])
    processes = Mock(check=Mock(side_effect=watched))
    with pytest.raises(KeyboardInterrupt):
        serve._serve(console, processes, has_first_study=False)
    assert shown.getvalue().count("The database works again.") == 2
    # A statement that is wrong is a bug, which waiting would hide.
    wrong = sqlite3.OperationalError("no such column")
    wrong.sqlite_errorcode = sqlite3.SQLITE_ERROR
    looks.append(away(wrong))
    with pytest.raises(OperationalError):
        follow_all([factories.make_study(blocks=1)], console, check)


def test_commands_say_that_the_database_went_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise away(psycopg.errors.AdminShutdown())

    for name in ("command", "commands.advise", "commands.gate"):
        monkeypatch.setattr(f"advisor.management.{name}.prepare_database", fail)
    monkeypatch.setattr("advisor.management.measuring.end_like_ctrl_c", lambda: None)
    for name, status in (("advise", 1), ("gate", 2), ("token", 1)):
        words = {"gate": ["--config", "default"], "token": ["list"]}.get(name, [])
        with pytest.raises(SystemExit) as ended:
            call_command(name, *words)
        assert ended.value.code == status
        assert capsys.readouterr().err == (
            "database_unavailable: the server closed the connection unexpectedly\n"
        )
