"""Who follows studies, `advise` and `serve`, and what a pause does to them."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from rich.console import Console

from advisor.management.commands import serve
from advisor.terminal import follow as terminal
from advisor.terminal.follow import Leaves
from advisor.tests import factories
from advisor.tests.test_pages_studies import running_study
from benchmarks.models import Host, Run, RunState
from tuning.models import Study, StudyState
from tuning.studies.commands import pause_study, resume_study
from tuning.studies.progress import study_progress
from tuning.studies.revision import bump

pytestmark = pytest.mark.django_db


def again(study: Study) -> Study:
    return Study.objects.get(pk=study.pk)


def test_following_a_study_reports_its_pause_and_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(terminal, "POLL_SECONDS", 0.0)
    study = running_study()
    shown = StringIO()
    steps = iter([None, lambda: pause_study(again(study), by="ann", reason="backup"), None,
                  lambda: resume_study(again(study)), None, "end"])  # fmt: skip

    def check() -> None:
        step = next(steps)
        if callable(step):
            step()
        elif step == "end":
            Study.objects.filter(pk=study.pk).update(state=StudyState.FINISHED)
            bump([study.pk])

    terminal.follow_all([study], Console(file=shown, width=300), check)
    lines = shown.getvalue().splitlines()
    told = [line for line in lines if line.startswith("Study ")]
    assert len(told) == 2
    assert f"Study {study.pk} is paused since " in told[0]
    assert (
        f"by ann: backup. Resume it on its page, through the API or with "
        f"`manage.py study resume {study.pk}`." in told[0]
    )
    assert told[1] == f"Study {study.pk} was resumed."


def test_serve_shows_what_this_host_works_on(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """Not what waits or is paused; a study of another host, which may be gone, blocks nothing."""
    elsewhere = factories.make_study(state=StudyState.RUNNING, started_at=timezone.now())
    Study.objects.update(host=Host.objects.create(name="gone"))
    first = factories.make_study(state=StudyState.RUNNING, started_at=timezone.now())
    second = factories.make_study(state=StudyState.RUNNING, started_at=timezone.now())
    settings.HOST_NAME = first.host.name
    assert elsewhere.pk < first.pk
    run = second.slots.order_by("order")[0].run
    followed: list[int] = []

    class Enough(Exception):
        pass

    def follow(studies: list[Study], *_: Any, leaves: Leaves) -> None:
        [study] = studies
        followed.append(study.pk)
        assert not leaves(study, study_progress(study))
        if len(followed) == 1:
            # It waits for something, and what waits behind it is measured: that is followed.
            Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
            assert leaves(study, study_progress(study))
        elif len(followed) == 2:
            assert study.pk == second.pk
            Run.objects.filter(pk=run.pk).update(state=RunState.QUEUED)
            pause_study(study)
            assert leaves(study, study_progress(study))
        elif len(followed) == 3:
            pause_study(study)
            resume_study(again(second))
        elif study.pk == second.pk:
            Study.objects.filter(pk=study.pk).update(state=StudyState.CANCELLED)
            resume_study(again(first))
            study.refresh_from_db()
        else:
            raise Enough

    class Processes:
        def check(self) -> None: ...

    monkeypatch.setattr(serve, "follow_all", follow)
    monkeypatch.setattr(serve, "WATCH_SECONDS", 0.0)
    shown = StringIO()
    with pytest.raises(Enough):
        serve._serve(Console(file=shown, width=200), Processes())  # type: ignore[arg-type]
    assert followed == [first.pk, second.pk, first.pk, second.pk, first.pk]
    assert shown.getvalue().count("ended without a ranking") == 1


@pytest.mark.parametrize(
    ("words", "wants"), [([], True), (["--no-first-study"], False), (["setting"], False)]
)
def test_serve_starts_no_first_study_where_none_is_wanted(
    words: list[str], wants: bool, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """By its option or by the setting, which `make run` can have as well."""
    settings.HOST_NAME = "new-host"
    settings.FIRST_STUDY = "setting" not in words
    started: list[str] = []

    class Processes:
        checks = 0

        def check(self) -> None:
            Processes.checks += 1
            if Processes.checks > 2:
                raise KeyboardInterrupt

        def __enter__(self) -> Processes:
            return self

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(serve, "_start_first_study", lambda _: started.append("study"))
    monkeypatch.setattr(serve, "Supervisor", lambda **_: Processes())
    monkeypatch.setattr(serve, "migrate", lambda: None)
    monkeypatch.setattr(serve, "end_like_ctrl_c", lambda: None)
    monkeypatch.setattr(serve, "make_first_account", lambda: None)
    monkeypatch.setattr(serve, "WATCH_SECONDS", 0.0)
    call_command("serve", *(word for word in words if word.startswith("--")))
    assert started == (["study"] if wants else [])
    assert Processes.checks > 2  # it serves either way
