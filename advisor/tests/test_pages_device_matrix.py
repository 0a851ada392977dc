"""A study of several devices at a glance."""

from __future__ import annotations

import html
import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from advisor.pages.study.device_matrix import device_matrices
from advisor.tests import factories
from advisor.tests.claimed import AS_PUBLISHED, ON_A_HARD_DISK, claimed_study
from advisor.tests.drawn import flat, words
from benchmarks.models import Run, RunState
from tuning.models import Study
from tuning.results.answer import store_recommendations
from tuning.results.build import build
from tuning.results.document import StudyDocument
from tuning.results.study_rows import StudyRows

pytestmark = pytest.mark.django_db


def document(study: Study) -> StudyDocument:
    study = Study.objects.get(pk=study.pk)
    return build(StudyRows(study))


def page(client: Client, user: User, study: Study) -> str:
    client.force_login(user)
    text = flat(client.get(reverse("study-detail", args=[study.pk])))
    found = re.search(r'<div id="study-devices">(.*?)</div>\s*<div id=', text, re.S)
    assert found is not None
    return words(found.group(1))


def test_each_device_has_its_config_slowest_first(client: Client, admin_user: User) -> None:
    study = claimed_study({"nvme": AS_PUBLISHED, "hdd": ON_A_HARD_DISK})
    study.confirms = False
    study.save()
    store_recommendations(study)
    [matrix] = device_matrices(document(study))
    slow, fast = matrix.rows
    assert [slow.device.kind, fast.device.kind] == ["hdd", "nvme"]
    assert fast.candidate is not None
    assert slow.candidate is not None
    assert fast.candidate.name == "whitepaper-a"
    assert fast.answer == "measurably best, not confirmed"
    assert slow.candidate.name in ("whitepaper-a", "whitepaper-3")
    assert slow.answer.removesuffix(", not confirmed") in (
        "tied for best",
        "measurably best",
    )
    assert slow.times is None
    assert slow.is_slowest
    assert fast.times is not None
    assert fast.times.value == pytest.approx(103_684 / 779, rel=0.05)
    assert fast.times.low < fast.times.value < fast.times.high
    text = page(client, admin_user, study)
    assert "Results by device" in text
    assert "so far" not in text
    assert re.search(r"NVMe completes 13\d times as many transactions as HDD, each with", text)
    assert "slowest" in text
    assert "×" in text


def test_each_answer_is_followed_by_its_own_file(client: Client, admin_user: User) -> None:
    study = claimed_study({"nvme": AS_PUBLISHED, "hdd": ON_A_HARD_DISK})
    store_recommendations(study)
    found = document(study)
    client.force_login(admin_user)
    text = html.unescape(flat(client.get(reverse("study-detail", args=[study.pk]))))
    answers = text[text.index('id="study-verdict"') : text.index('id="study-devices"')]
    shown = re.findall(r'answer-line"|/recommendations/(\d+)/my.cnf', answers)
    ids = [str(one.id) for _, one in found.recommendations]
    assert len(ids) == 2
    assert shown == ["", ids[0], "", ids[1]]


def test_while_it_runs_a_device_without_figures_has_no_answer(
    client: Client, admin_user: User
) -> None:
    levels = {"nvme": AS_PUBLISHED, "hdd": ON_A_HARD_DISK}
    one_device = 6 * (len(AS_PUBLISHED))
    study = claimed_study(levels, done=one_device)
    [matrix] = device_matrices(document(study))
    measured, waiting = matrix.rows
    assert measured.row is not None
    assert waiting.row is not None
    assert (waiting.row.figures.throughput, waiting.times, waiting.is_slowest) == (
        None,
        None,
        False,
    )
    assert not measured.is_slowest, "nobody knows yet which one it is"
    assert waiting.answer == "not known yet"
    text = page(client, admin_user, study)
    assert "Results by device, so far" in text
    assert "times as many" not in text
    assert "slowest" not in text.replace("× the slowest", "")


def test_a_change_is_that_of_the_recommendation() -> None:
    """After a confirmation from fresh pairs, which is less than what selected the config."""
    study = claimed_study({"nvme": AS_PUBLISHED, "hdd": ON_A_HARD_DISK})
    store_recommendations(study)
    study.recommendations.filter(device__kind="nvme").update(
        ratio_to_baseline=7.5, low=7.25, high=7.75, confirmation="confirmed"
    )
    [matrix] = device_matrices(document(study))
    [fast] = [row for row in matrix.rows if row.device.kind == "nvme"]
    assert fast.change is not None
    assert (fast.change.ratio, fast.change.low, fast.change.high) == (7.5, 7.25, 7.75)
    assert fast.answer == "measurably best, confirmed"


def test_only_runs_that_can_be_ranked_say_how_much_faster_a_device_is() -> None:
    study = claimed_study({"nvme": AS_PUBLISHED, "hdd": ON_A_HARD_DISK})
    best = study.slots.filter(device__kind="nvme", candidate__name="whitepaper-a", replicate=0)
    Run.objects.filter(pk=best[0].run_id).update(comparability_key="b2" * 32, throughput=1e9)
    [matrix] = device_matrices(document(study))
    fast = matrix.rows[-1]
    assert fast.times is not None
    assert fast.times.high < 1000


def test_a_device_without_a_baseline_says_why_it_has_no_answer(
    client: Client, admin_user: User
) -> None:
    study = claimed_study({"nvme": AS_PUBLISHED, "hdd": ON_A_HARD_DISK})
    Run.objects.filter(slot__device__kind="hdd", slot__candidate__is_baseline=True).update(
        state=RunState.TIMED_OUT, throughput=None, reason="the server answered nobody for 60 s"
    )
    store_recommendations(study)
    rows = device_matrices(document(study))[0].rows
    assert [row.device.kind for row in rows] == ["nvme", "hdd"]
    assert rows[1].answer == "no result: the server answered nobody for 60 s"
    assert "no result: the server answered nobody" in page(client, admin_user, study)


@pytest.mark.long
def test_an_open_page_gets_the_second_devices_ranking_when_that_begins(
    admin_client: Client,
) -> None:
    """As in life: the second device has no slot before the first is done."""
    study = factories.study_on_two_devices()
    factories.race(study, most=3, conclude=False)
    first, second = study.devices.order_by("pk")
    assert not study.slots.filter(device=second).exists()
    detail = reverse("study-detail", args=[study.pk])
    open_page = flat(admin_client.get(detail))
    [address] = re.findall(r'hx-get="([^"]+)"', open_page)
    assert "study-rankings" not in flat(admin_client.get(html.unescape(address)))
    factories.race(study, most=1, conclude=False)
    while not study.slots.filter(device=second).exists():
        factories.race(study, most=1, conclude=False)
    answer = flat(admin_client.get(html.unescape(address)))
    assert '<div id="study-rankings" hx-swap-oob="true">' in answer
    for device in (first, second):
        assert f"Ranking: {device}</h2>" in answer
    [address] = re.findall(r'hx-get="([^"]+)"', answer)
    assert "study-rankings" not in flat(admin_client.get(html.unescape(address)))
