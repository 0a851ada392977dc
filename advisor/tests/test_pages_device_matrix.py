"""A study of several devices at a glance."""

from __future__ import annotations

import html
import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from advisor.pages.device_matrix import device_matrices
from advisor.tests import factories
from advisor.tests.claimed import AS_PUBLISHED, ON_A_HARD_DISK, claimed_study
from tuning.models import Study
from tuning.services.recommend import store_recommendations
from tuning.services.results import boards

pytestmark = pytest.mark.django_db


def page(client: Client, user: User, study: Study) -> str:
    client.force_login(user)
    text = client.get(reverse("study-detail", args=[study.pk])).content.decode()
    found = re.search(r'<div id="study-devices">(.*?)</div>\s*<div id=', text, re.S)
    assert found is not None
    return " ".join(re.sub(r"<[^>]+>", " ", found.group(1)).split())


def test_each_device_has_its_config_slowest_first(client: Client, admin_user: User) -> None:
    study = claimed_study({"nvme": AS_PUBLISHED, "hdd": ON_A_HARD_DISK})
    study.confirms = False
    study.save()
    store_recommendations(study)
    [matrix] = device_matrices(boards(study), study.recommendations.all())
    slow, fast = matrix.rows
    assert [slow.device.kind, fast.device.kind] == ["hdd", "nvme"]
    assert fast.line.candidate == "whitepaper-a"
    assert fast.answer == "measurably best"
    assert slow.line.candidate in ("whitepaper-a", "whitepaper-3")
    assert slow.answer in ("best of a tie", "measurably best")
    assert slow.times is None
    assert slow.is_slowest
    assert fast.times is not None
    assert fast.times.value == pytest.approx(103_684 / 779, rel=0.05)
    assert fast.times.low < fast.times.value < fast.times.high
    text = page(client, admin_user, study)
    assert "Device by device" in text
    assert "so far" not in text
    assert "slowest" in text
    assert "×" in text


def test_while_it_runs_a_device_without_figures_has_no_answer(
    client: Client, admin_user: User
) -> None:
    levels = {"nvme": AS_PUBLISHED, "hdd": ON_A_HARD_DISK}
    one_device = 6 * (len(AS_PUBLISHED))
    study = claimed_study(levels, done=one_device)
    [matrix] = device_matrices(boards(study), [])
    measured, waiting = matrix.rows
    assert measured.line.tpmP is not None
    assert (waiting.line.tpmP, waiting.times, waiting.is_slowest) == (None, None, False)
    assert waiting.answer == "not known yet"
    assert "Device by device, so far" in page(client, admin_user, study)


def test_a_lead_that_was_not_confirmed_is_not_called_best() -> None:
    study = claimed_study({"nvme": AS_PUBLISHED, "hdd": ON_A_HARD_DISK})
    study.confirms = True
    study.save()
    store_recommendations(study)
    [matrix] = device_matrices(boards(study), study.recommendations.all())
    for row in matrix.rows:
        assert row.line.candidate == "server-default"
        assert row.answer == "another's lead could not be confirmed"


def test_one_device_needs_no_such_table(client: Client, admin_user: User) -> None:
    study = factories.measured_study(blocks=2)
    assert device_matrices(boards(study), []) == []
    assert page(client, admin_user, study) == ""


def test_an_open_page_gets_the_second_devices_ranking_when_that_begins(
    admin_client: Client,
) -> None:
    """As in life: the second device has no slot before the first is done."""
    study = factories.study_on_two_devices()
    factories.race(study, most=3, conclude=False)
    first, second = study.devices.order_by("pk")
    assert not study.slots.filter(device=second).exists()
    detail = reverse("study-detail", args=[study.pk])
    open_page = admin_client.get(detail).content.decode()
    [address] = re.findall(r'hx-get="([^"]+)"', open_page)
    assert "HX-Refresh" not in admin_client.get(html.unescape(address)).headers
    factories.race(study, most=1, conclude=False)
    while not study.slots.filter(device=second).exists():
        factories.race(study, most=1, conclude=False)
    answer = admin_client.get(html.unescape(address))
    assert answer.headers["HX-Refresh"] == "true"
    assert answer.content == b""
    fresh = admin_client.get(detail).content.decode()
    for device in (first, second):
        assert f"Ranking: {device}</h2>" in fresh
    [address] = re.findall(r'hx-get="([^"]+)"', fresh)
    assert "HX-Refresh" not in admin_client.get(html.unescape(address)).headers
