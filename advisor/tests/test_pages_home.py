"""The first page: answers, what runs, what has ended, what went wrong, how to begin."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from advisor.access.roles import Role
from advisor.tests import factories
from advisor.tests.drawn import flat, words
from benchmarks.models import Host, Run, RunState
from tuning.hosts import overview
from tuning.hosts.known import known_devices
from tuning.models import Candidate, EventKind, Recommendation, Study, StudyState
from tuning.studies.events import note_run

pytestmark = pytest.mark.django_db
HOME = "/"


def text_of(client: Client, address: str) -> str:
    """The words of the page, without its markup."""
    answer = client.get(address)
    assert answer.status_code == 200
    return re.sub(r" (?=[,:.;])", "", words(answer.content.decode()))


def heard(host: Host, **values: Any) -> None:
    Host.objects.filter(pk=host.pk).update(worker_seen_at=timezone.now(), **values)


def test_without_a_study_three_steps_say_what_to_do_first(
    admin_client: Client, client: Client
) -> None:
    text = text_of(admin_client, HOME)
    assert "make run" in text
    assert "Start the first study" in text
    assert "Last studies" not in text
    host = factories.make_host()
    heard(host, inventory={})
    assert "not ready db-host-1: its worker has not said what it has" in text_of(
        admin_client, HOME
    )
    client.force_login(factories.make_user("vera", Role.VIEWER))
    assert "An operator or administrator starts it" in text_of(client, HOME)


def test_each_device_has_its_newest_answer_with_effect_interval_and_age(
    admin_client: Client,
) -> None:
    older = factories.measured_study(name="The older one", blocks=1)
    study = factories.measured_study(name="The newer one", blocks=2)
    Recommendation.objects.filter(study=older).update(ratio_to_baseline=9.0)
    Recommendation.objects.filter(study=study).update(
        ratio_to_baseline=1.234,
        low=1.111,
        high=1.345,
        confidence=0.96,
        created_at=timezone.now() - timedelta(days=3),
    )
    found = study.recommendations.get()
    other = factories.make_device(host=factories.make_host("db-host-2"), data_dir="/fast")
    factories.measured_study(blocks=1, device=other, name="Elsewhere")
    text = text_of(admin_client, HOME)
    answers = text[: text.index("Running now")]
    assert "+23.4 % throughput (96 % interval +11.1 to +34.5 %) against server-default" in answers
    assert "3 days ago" in answers
    assert found.candidate.name in answers
    assert "The newer one" in answers
    assert "The older one" not in answers
    assert "on db-host-2" in answers
    assert "Durability D0" in answers
    assert reverse("study-my-cnf", args=[study.pk, found.pk]) in (
        admin_client.get(HOME).content.decode()
    )
    assert text.index("Elsewhere") < text.index("The newer one")  # newest first
    [known] = known_devices([study.devices.get()])
    assert known.best == found


def test_it_says_what_runs_and_asks_again_only_for_that(admin_client: Client) -> None:
    study = factories.make_study(state=StudyState.RUNNING, started_at=timezone.now())
    for _ in range(4):
        factories.finish(factories.begin(study) or pytest.fail("no run"))
    run = factories.sure(factories.begin(study, step="warming up"))
    name = Candidate.objects.get(slots__run=run).name
    heard(study.host)
    text = text_of(admin_client, HOME)
    assert f"Measuring {study.name} on db-host-1" in text
    assert f"{name}, block 1, warming up" in text
    stamp = admin_client.get(HOME).context["stamp"]
    live = reverse("home-live") + f"?seen={stamp}"
    answer = admin_client.get(live)
    assert answer.status_code == 200
    assert "warming up" in answer.content.decode()
    assert "<main" not in answer.content.decode()
    Study.objects.filter(pk=study.pk).update(state=StudyState.FINISHED)
    assert admin_client.get(live)["HX-Refresh"] == "true"  # the whole page is another one now


def test_a_study_that_ends_while_the_page_is_made_is_asked_for_again(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    factories.make_study(state=StudyState.RUNNING)

    read_ended = overview._ended

    def ended_just_after() -> tuple[list[Study], list[Study]]:
        found = read_ended()
        Study.objects.update(state=StudyState.FINISHED, finished_at=timezone.now())
        return found

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(overview, "_ended", ended_just_after)
        stamp = admin_client.get(HOME).context["stamp"]
    answer = admin_client.get(reverse("home-live") + f"?seen={stamp}")
    assert answer.headers["HX-Refresh"] == "true"


def test_what_went_wrong_is_named_with_its_place(admin_client: Client) -> None:
    study = factories.measured_study(blocks=1, name="With trouble")
    heard(study.host, inventory={})
    now = timezone.now()
    first, second, third = study.slots.order_by("order")[:3]
    Run.objects.filter(pk=first.run_id).update(state=RunState.CRASHED)
    note_run(first.run_id)
    # The disturbed run was measured again: its slot has the run that came after it.
    again = Run.objects.get(pk=second.run_id)
    again.pk, again.retry_of_id = None, second.run_id
    again.save()
    Run.objects.filter(pk=second.run_id).update(state=RunState.DISTURBED)
    note_run(second.run_id)
    second.run = again
    second.save()
    Run.objects.filter(pk=third.run_id).update(state=RunState.LOST)
    note_run(third.run_id)
    study.events.filter(kind=EventKind.LOST).update(at=now - timedelta(days=2))
    failed = factories.make_study(name="Did not start", state=StudyState.FAILED)
    Study.objects.filter(pk=failed.pk).update(finished_at=now, reason="no space is left")
    text = text_of(admin_client, HOME)
    wrong = text[text.index("What went wrong") :]
    assert "With trouble: 1 server crashed, 1 disturbed" in wrong
    assert "lost" not in wrong.partition("Last studies")[0]
    assert "Did not start: no space is left" in wrong
    assert "not inspected db-host-1" in wrong


@pytest.mark.long
def test_an_answer_has_the_lines_to_set(admin_client: Client) -> None:
    found = factories.measured_study(blocks=2).recommendations.get()
    text = flat(admin_client.get(HOME))
    lines = text[text.index(f'id="lines-{found.pk}"') :].partition("</ul>")[0]
    baseline = found.study.candidates.get(is_baseline=True)
    changed = {
        name: value
        for name, value in found.candidate.config.knobs.items()
        if baseline.config.knobs.get(name) != value
    }
    assert changed
    assert sum(f"<code>{name} = " in lines for name in changed) == min(3, len(changed))
