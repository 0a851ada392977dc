"""The answer of a study: page, first page, terminal, file and API say the same of it."""

from __future__ import annotations

import html
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from rich.console import Console

from advisor.terminal.report import print_study
from advisor.tests import factories
from benchmarks.models import Run
from tuning.models import Study, StudyState
from tuning.results.document import Answer
from tuning.stored_documents import document_of
from tuning.tests.export_cases import flat

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return factories.raced_study()


@pytest.fixture
def answer(study: Study) -> Answer:
    [found] = document_of(study).answers
    return found


def words(client: Client, address: str) -> str:
    text = client.get(address).content.decode()
    text = html.unescape(text).replace("\N{NO-BREAK SPACE}", " ").replace("\N{MINUS SIGN}", "-")
    return " ".join(text.split())


def in_terminal(study: Study) -> str:
    out = StringIO()
    print_study(document_of(study), Console(file=out, width=1000))
    return out.getvalue()


def test_every_surface_says_the_same(study: Study, answer: Answer, admin_client: Client) -> None:
    said = dict(answer.sentences)
    assert set(said) >= {"Effect", "Confidence", "Price", "Limit", "Before production"}
    assert answer.title.startswith(f"Set {len(answer.lines)} lines (whitepaper-3)")
    page = words(admin_client, reverse("study-detail", args=[study.pk]))
    terminal = in_terminal(study)
    found = study.recommendations.get()
    file = words(admin_client, reverse("study-my-cnf", args=[study.pk, found.pk]))
    head = flat(
        admin_client.get(reverse("study-my-cnf", args=[study.pk, found.pk]))
        .content.decode()
        .partition("\n\n")[0]
    )
    home = words(admin_client, "/")
    api = admin_client.get(reverse("api:study-document", args=[study.pk])).json()
    assert api["answers"] == [answer.model_dump(mode="json")]
    for text in (page, terminal, head):
        assert answer.title in text
        for name in said.keys() - {"Limit"}:
            assert said[name] in text, name
    for text in (page, terminal):
        assert answer.limit in text
    assert answer.effect in home
    assert f"<strong>{answer.confidence}</strong>. {answer.reason}" in home
    for line in answer.lines:
        assert f"{line.name} = {line.value}" in file
        assert f"{line.name} = {line.value}  (was {line.before})" in terminal
        assert f">{line.name}</th>" in page
    assert answer.lines[0].before in page


def test_the_effect_is_that_of_the_fresh_pairs(study: Study, answer: Answer) -> None:
    found = study.recommendations.get()
    assert found.low is not None
    interval = f"{(found.low - 1) * 100:+.1f}"
    assert f"96 % interval {interval} to " in answer.effect
    assert answer.effect.endswith(" fresh pairs.")


def test_the_command_shows_a_study_again(study: Study, answer: Answer) -> None:
    out = StringIO()
    call_command("study", "show", str(study.pk), "--json", stdout=out)
    assert answer.price in out.getvalue()


CONFIDENCE: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "nothing speaks against it": ({}, {}, "confirmed", "Better than server-default: yes"),
    "runs are short": ({"measure_s": 12}, {}, "confirmed", "runs of 12 s are short"),
    "runs had a trend": ({}, {"still_warming": True}, "provisional", "had not warmed up"),
}


@pytest.mark.parametrize("case", CONFIDENCE)
def test_one_word_and_one_reason_say_how_sure_it_is(case: str) -> None:
    workload, of_runs, word, reason = CONFIDENCE[case]
    workloads = [factories.make_workload(**({"measure_s": 120} | workload))]
    study = factories.raced_study(workloads=workloads)
    Run.objects.filter(slot__study=study).update(**of_runs)
    [answer] = document_of(study).answers
    assert answer.confidence == word
    assert reason in answer.reason


def test_memory_for_all_data_is_said_and_missing_pairs_make_it_provisional() -> None:
    workloads = [factories.make_workload(measure_s=120)]
    study = factories.raced_study(workloads=workloads)
    study.memory_bytes = 25 * 10**9
    study.save()
    [answer] = document_of(study).answers
    assert answer.confidence == "confirmed"
    assert "times the data" in answer.reason
    [answer] = document_of(factories.measured_study()).answers
    assert (answer.confidence, answer.equals) == ("provisional", "whitepaper-3 does equally well.")
    assert "not confirmed in fresh pairs" in answer.reason


@pytest.mark.parametrize(
    ("kind", "confirmation", "word"),
    [("no_difference", "", "no difference"), ("winner", "unfinished", "not known")],
)
def test_a_study_that_keeps_its_baseline_has_no_effect_and_no_price(
    kind: str, confirmation: str, word: str
) -> None:
    study = factories.measured_study(names=["server-default"], recommended=False)
    baseline = study.candidates.get()
    factories.recommend(study)
    study.recommendations.update(kind=kind, confirmation=confirmation, candidate=baseline)
    [answer] = document_of(study).answers
    assert answer.title == "Keep server-default"
    assert (answer.confidence, answer.effect, answer.price) == (word, "", "")
    assert answer.lines == ()
    assert study.state == StudyState.FINISHED
