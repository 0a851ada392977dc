"""What the terminal says while a study runs."""

from __future__ import annotations

import io
from itertools import count

import pytest
from django.db.models.functions import Now
from rich.console import Console

from advisor.terminal import follow as module
from advisor.terminal.follow import follow, follow_all
from advisor.tests import factories
from benchmarks.models import Host
from tuning.models import Study, StudyState

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

    follow(study, Console(file=shown, width=100, force_terminal=is_terminal), check)
    return shown.getvalue()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(module, "LOG_SECONDS", -1.0)


def test_the_line_in_a_log_names_the_device_where_there_are_several() -> None:
    study = factories.study_on_two_devices()
    factories.race(study, most=1)
    run = factories.begin(study)
    assert run is not None
    [line] = followed(study, is_terminal=False).splitlines()
    assert f"{run.slot.candidate.name}" in line
    assert f"measuring, on {run.device}; about " in line


def test_the_bar_of_a_terminal_has_it_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.5)  # it is drawn ten times in a second
    study = factories.study_on_two_devices()
    factories.race(study, most=1)
    run = factories.begin(study)
    assert run is not None
    text = followed(study, is_terminal=True)
    assert f"on {run.device}" in text
    assert "━" in text


def test_a_single_emulated_device_is_named() -> None:
    device = factories.emulated_device()
    study = factories.make_study(state=StudyState.RUNNING, device=device)
    factories.begin(study)
    assert f", on {device}; about " in followed(study, is_terminal=False)


def test_a_single_device_needs_no_name() -> None:
    study = factories.make_study(state=StudyState.RUNNING)
    factories.begin(study)
    assert "/srv/mysql" not in followed(study, is_terminal=False)


def test_a_host_that_takes_no_work_is_named_with_what_to_do_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As the worker of an older version, which sees that the tables are newer."""
    monkeypatch.setattr(module, "ABSENT_SECONDS", -1.0)
    words = count()
    monkeypatch.setattr(module, "glance", lambda _: str(next(words)))  # each look is news
    monkeypatch.setattr(module, "code_version", lambda: "0.7.0 abc")
    study = factories.make_study(state=StudyState.RUNNING)
    Host.objects.update(worker_seen_at=Now(), idle_reason="update this code, 0.6.0")
    shown = io.StringIO()
    looks = iter(range(5))

    def check() -> None:
        if next(looks, None) is None:
            Study.objects.update(state=StudyState.FINISHED)

    follow(study, Console(file=shown), check)
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
        Study.objects.filter(pk__in=ended).update(state=StudyState.FINISHED)

    follow_all(studies, Console(file=shown, width=100), check)
    lines = [line.partition(": ")[0] for line in shown.getvalue().splitlines()]
    assert lines == ["db1", "db2", "db1"]
    assert all(study.is_finished for study in studies)
