"""A baseline over months: changes named, nothing mixed, new conditions marked."""

from __future__ import annotations

import html
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from advisor.pages.devices.context import history_sentence
from advisor.tests import factories
from advisor.tests.drawn import flat
from advisor.tests.history_rows import NEW_KERNEL, WEEK, slower, weekly
from benchmarks.models import Device, Run
from tuning.comparison.history import BaselineHistory, baseline_history

pytestmark = pytest.mark.django_db
JANUARY = datetime(2026, 1, 6, 3, 0, tzinfo=UTC)


def history_of(device: Device) -> BaselineHistory:
    found = factories.sure(baseline_history(device))
    return found


def test_a_host_that_became_slower_is_drawn_and_told(admin_client: Client) -> None:
    device = factories.make_device()
    studies = weekly(device, JANUARY, slower(16, by=0.12, after=11))
    recent = factories.sure(history_of(device).recent)
    assert recent.ratio == pytest.approx(0.88, rel=0.01)
    assert (recent.before, recent.is_outside) == (11, True)
    page = flat(admin_client.get(reverse("device-detail", args=[device.pk])))
    assert html.escape(history_sentence(history_of(device)), quote=False) in page
    charts = admin_client.get(reverse("device-history-charts", args=[device.pk])).json()["charts"]
    [points] = charts["baseline"]["data"]
    assert len(points["x"]) == 16
    assert points["customdata"][0][1] == reverse("study-detail", args=[studies[0].pk])
    config = studies[0].candidates.get().config_id
    link = f"{reverse('device-detail', args=[device.pk])}#baseline"
    assert link in flat(admin_client.get(reverse("config-detail", args=[config])))


def test_nothing_is_compared_across_other_conditions() -> None:
    device = factories.make_device()
    weekly(device, JANUARY, [6000.0] * 12)
    weekly(device, JANUARY + 12 * WEEK, [5000.0] * 6, changed=NEW_KERNEL)
    history = history_of(device)
    assert [len(points) for points in history.series] == [12, 6]
    assert (len(history.newest), history.recent) == (6, None)


def test_the_baseline_and_load_of_most_studies_is_followed_and_gates_count() -> None:
    device, other = factories.make_device(), factories.make_device(data_dir="/srv/other")
    weekly(device, JANUARY, [6000.0] * 3)
    gates = weekly(device, JANUARY + 3 * WEEK, [6000.0] * 2, gate={}, name="nightly")
    weekly(device, JANUARY, [900.0] * 2, workloads=[factories.make_workload(connections=64)])
    weekly(device, JANUARY - WEEK, [9000.0], changed={"comparability_key": ""})
    history = history_of(device)
    assert len(history.points) == 5
    assert {point.study for point in history.points if point.is_gate} == {one.pk for one in gates}
    assert all(point.throughput == pytest.approx(6000, rel=0.02) for point in history.points)
    assert baseline_history(other) is None


def test_of_many_results_of_a_config_the_newest_are_open(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("advisor.pages.configs.detail._OPEN_RESULTS", 2)
    monkeypatch.setattr("advisor.pages.configs.detail.MAX_STUDIES_OF_CONFIG", 3)
    studies = weekly(factories.make_device(), factories.BEGIN, [6000.0] * 3)
    config = studies[0].candidates.get().config_id
    text = flat(admin_client.get(reverse("config-detail", args=[config])))
    newest, older = text.split("<summary>1 older</summary>")
    assert "The newest 3 results on 1 device" in " ".join(newest.split())
    assert (newest.count('data-label="Last run"'), older.count('data-label="Last run"')) == (2, 1)
    assert older.index("</details>") < older.index("Over time")


def test_rows_of_a_config_are_text_and_have_the_days_of_the_time_zone(
    admin_client: Client,
) -> None:
    study = factories.measured_study(
        device=factories.make_device(data_dir="/srv/<u>"), name="<script>alert(1)</script>"
    )
    config = study.candidates.latest("position").config_id
    study.candidates.filter(config=config).update(name="<b>bold</b>")
    late = datetime(2026, 1, 31, 23, 30, tzinfo=UTC)
    Run.objects.filter(slot__study=study).update(finished_at=late)
    address = reverse("config-detail", args=[config])
    text = flat(admin_client.get(address))
    assert "as &lt;b&gt;bold&lt;/b&gt; on " in text
    assert "2026-01-31</td>" in text
    for markup in ("<script>alert", "<b>bold", "<u>"):
        assert markup not in text
    with timezone.override("Asia/Tokyo"):
        assert "2026-02-01</td>" in flat(admin_client.get(address))
