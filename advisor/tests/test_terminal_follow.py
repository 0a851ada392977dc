"""What the terminal says while a study runs."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from advisor.terminal import follow as module
from advisor.terminal.follow import follow
from advisor.tests import factories
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
    assert f"measuring, on {run.device} " in line


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
    assert f", on {device} " in followed(study, is_terminal=False)


def test_a_single_device_needs_no_name() -> None:
    study = factories.make_study(state=StudyState.RUNNING)
    factories.begin(study)
    assert "/srv/mysql" not in followed(study, is_terminal=False)
