"""A baseline over months: changes named, nothing mixed, new conditions marked."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from advisor.tests import factories
from advisor.tests.history_rows import NEW_KERNEL, WEEK, slower, weekly
from advisor.tests.test_pages_home import text_of as words_of
from advisor.upkeep.housekeeping import keep_house
from advisor.wording.formatting import MINUS
from benchmarks.models import Device, Host, Run, Workload
from tuning.comparison.baseline_history import Trend, baseline_history, baseline_lines
from tuning.comparison.config_history import config_history
from tuning.models import Slowdown, Study, StudyState
from tuning.results.slowdowns import learn_slowdowns, slowdowns
from tuning.statistics.data import Metric
from tuning.studies.scheduler import advance_host

pytestmark = pytest.mark.django_db
JANUARY = datetime(2026, 1, 6, 3, 0, tzinfo=UTC)


def text_of(client: Client, address: str) -> str:
    return words_of(client, address).replace(MINUS, "-")


def page(device: Device, line: str = "") -> str:
    return f"{reverse('device-history', args=[device.pk])}{f'?line={line}' if line else ''}"


def api(client: Client, device: Device, line: str = "") -> Any:
    query = f"?line={line}" if line else ""
    return client.get(f"{reverse('api-device-history', args=[device.pk])}{query}")


def test_a_host_that_became_slower_is_named_with_its_day_size_and_interval(
    admin_client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    device = factories.make_device()
    studies = weekly(device, JANUARY, slower(16, by=0.12, after=9))
    with django_assert_max_num_queries(15):
        text = text_of(admin_client, page(device))
    assert (
        "The host is 11.9 % slower since 10 March 2026: tpmP -11.9 % (95 %: -12.3 to -11.6 %)"
        in text
    )
    assert "mean of 7 studies against 9 before" in text
    [shift] = baseline_history(device, baseline_lines(device)[0]).newest.shifts(Metric.TPMP)
    assert shift.since.study == studies[9].pk
    bounds = shift.level.interval
    assert bounds is not None
    assert bounds.low < 0.88 < bounds.high < 0.9
    # p95 and path length are worse by as much.
    assert text.count("worse") == 3
    assert re.search(
        r"p95 response time \+13\.\d % worse \+13\S+ to \+14\S+ % 10 March 2026, Weekly", text
    )
    charts = admin_client.get(reverse("device-history-charts", args=[device.pk])).json()["charts"]
    assert set(charts) == {"tpmP", "p95_ms", "server_path_length"}
    points, before, after = charts["tpmP"]["data"]
    assert (len(points["x"]), len(before["x"]), len(after["x"])) == (16, 2, 2)
    assert "New-Orders per minute" in charts["tpmP"]["layout"]["yaxis"]["title"]["text"]
    assert "95 %" in points["customdata"][0][0]
    assert points["customdata"][0][1] == reverse("study-detail", args=[studies[0].pk])
    found = api(admin_client, device).json()
    assert (found["trend"], found["line"]["studies"]) == ("slower", 16)
    assert " ".join(found["sentence"].split()).replace(MINUS, "-") in text
    assert [one["metric"] for one in found["series"][0]["changes"]] == list(Metric)
    assert found["series"][0]["changes"][0]["since_study_id"] == studies[9].pk
    assert found["series"][0]["points"][0]["tpmP"]["runs"] == 4
    config = studies[0].candidates.get().config_id
    for address in (
        reverse("device-detail", args=[device.pk]),
        reverse("config-detail", args=[config]),
    ):
        assert page(device) in admin_client.get(address).text


def test_other_conditions_begin_a_new_series_in_which_nothing_is_compared_across(
    admin_client: Client,
) -> None:
    device = factories.make_device()
    weekly(device, JANUARY, [6000.0] * 7)
    weekly(device, JANUARY + 7 * WEEK, [5000.0] * 6, changed=NEW_KERNEL)
    text = text_of(admin_client, page(device))
    assert "No change found in 6 studies over 5 weeks, since kernel 6.1.0-37" in text
    newer = factories.make_server(version="9.8.0", digest="9e" * 32)
    newest = NEW_KERNEL | {"comparability_key": "c3" * 32, "server": newer}
    weekly(device, JANUARY + 13 * WEEK, [4000.0] * 3, changed=newest)
    text = text_of(admin_client, page(device))
    assert "Too few studies to see a change: 3 of at least 6" in text
    assert (
        "A, 24 February 2026: kernel 6.1.0-37-cloud-amd64 → 6.1.0-40-cloud-amd64 "
        "B, 7 April 2026: server MySQL 9.7.4 → MySQL 9.8.0" in text
    )
    assert "server program" not in text
    assert "Changes found None." in text
    layout = admin_client.get(reverse("device-history-charts", args=[device.pk])).json()
    for figure in layout["charts"].values():
        assert [mark["text"] for mark in figure["layout"]["annotations"]] == [
            "<b>A</b>",
            "<b>B</b>",
        ]
        assert len(figure["layout"]["shapes"]) == 2
    found = api(admin_client, device).json()["series"]
    assert [len(one["points"]) for one in found] == [7, 6, 3]
    assert [[fact["fact"] for fact in one["differs"]] for one in found] == [
        [],
        ["kernel"],
        ["server"],
    ]


def test_other_loads_configs_and_devices_are_lines_of_their_own_and_gates_count(
    admin_client: Client,
) -> None:
    device, other = factories.make_device(), factories.make_device(data_dir="/srv/other")
    weekly(device, JANUARY, [6000.0] * 4)
    gates = weekly(device, JANUARY + 4 * WEEK, [6000.0] * 3, gate={}, name="nightly")
    [mine] = weekly(device, JANUARY, [3000.0])
    elsewhere = factories.measured_study(device=other, blocks=1)
    wide = factories.make_workload(connections=64)
    values = {
        name: getattr(wide, name) for name in ("driver", "warehouses", "warmup_s", "measure_s")
    }
    loader = Host.objects.create(name="load-1")
    driven = Workload.objects.row_of([loader], connections=8, **values)
    for workload in (wide, driven):
        weekly(device, JANUARY, [900.0], workloads=[workload])
    mine.candidates.update(name="mine", config=elsewhere.candidates.latest("position").config)
    lines = baseline_lines(device)
    assert [one.studies for one in lines] == [7, 1, 1, 1]
    assert {(one.name, one.workload) for one in lines[1:]} == {
        ("server-default", wide),
        ("server-default", driven),
        ("mine", lines[0].workload),
    }
    history = baseline_history(device, lines[0])
    assert history.trend is Trend.UNCHANGED
    assert {point.study for point in history.points if point.is_gate} == {one.pk for one in gates}
    text = text_of(admin_client, page(device))
    assert "nightly gate" in text
    line = next(one for one in lines if one.workload == wide)
    [point] = baseline_history(device, line).points
    assert point.figures[Metric.TPMP].mean == pytest.approx(900, rel=0.01)
    shown = text_of(admin_client, page(device, line.token))
    assert "Too few studies to see a change: 1 of at least 6." in shown
    assert "64 connections" in shown
    # What a link names that is no longer there is answered with the first.
    assert text_of(admin_client, page(device, "1-2-none")) == text
    assert api(admin_client, device, "1-2-none").status_code == 400
    assert len(baseline_lines(other)) == 1


def test_without_a_baseline_the_page_says_what_to_do(admin_client: Client) -> None:
    device = factories.make_device()
    factories.make_study(device=device, blocks=1)
    text = text_of(admin_client, page(device))
    assert "No baseline was measured here yet" in text
    assert "New study" in text
    charts = reverse("device-history-charts", args=[device.pk])
    assert admin_client.get(charts).json() == {"charts": {}}
    found = api(admin_client, device).json()
    assert (found["line"], found["trend"], found["series"]) == (None, None, [])
    assert admin_client.get(reverse("device-history", args=[4711])).status_code == 404
    assert admin_client.get(reverse("api-device-history", args=[4711])).status_code == 404


@pytest.mark.long
def test_home_names_a_host_that_became_slower_lately_and_no_other(admin_client: Client) -> None:
    device = factories.make_device()
    begin = timezone.now() - 15 * WEEK - timedelta(hours=1)
    studies = weekly(device, begin, slower(16, by=0.12, after=13))
    # On the next device it was months ago, on the third it is faster now.
    studies += weekly(factories.make_device(data_dir="/b"), begin, slower(16, by=0.12, after=6))
    studies += weekly(factories.make_device(data_dir="/c"), begin, slower(16, by=-0.12, after=13))
    for last in studies[15::16]:
        learn_slowdowns(last)
    text = text_of(admin_client, "/")
    assert text.count("tpmP of the baseline -12.") == 1
    assert f"slower {device}: tpmP of the baseline -12." in text
    assert page(device) in admin_client.get("/").text
    Host.objects.update(retired_at=timezone.now())
    assert "tpmP of the baseline" not in text_of(admin_client, "/")


def test_the_host_looks_at_its_baselines_when_a_study_has_ended() -> None:
    device = factories.make_device()
    begin = timezone.now() - 15 * WEEK

    def ends(study: Study) -> None:
        Study.objects.filter(pk=study.pk).update(state=StudyState.RUNNING, finished_at=None)
        advance_host(device.host_id)
        study.refresh_from_db()
        assert study.state == StudyState.FINISHED

    studies = weekly(device, begin, slower(16, by=0.12, after=13))
    ends(studies[15])
    [found] = Slowdown.objects.all()
    assert (found.device, found.line) == (device, baseline_lines(device)[0].token)
    [shift] = baseline_history(device, baseline_lines(device)[0]).newest.shifts(Metric.TPMP)
    assert found.since == shift.since.at
    assert found.ratio == pytest.approx(shift.level.ratio)
    assert shift.level.interval is not None
    assert found.low == pytest.approx(shift.level.interval.low)
    [*_, last] = weekly(device, begin + 16 * WEEK, [6000.0] * 6)
    ends(last)
    assert not Slowdown.objects.exists()


def test_what_an_older_version_has_not_stored_is_worked_out_once_a_day() -> None:
    device, elsewhere = (factories.make_device(host=factories.make_host(name)) for name in "ab")
    for one in (device, elsewhere):
        weekly(one, timezone.now() - 15 * WEEK, slower(16, by=0.12, after=13))
    list(keep_house(device.host))
    assert [found.device for found in slowdowns()] == [device]


def test_several_steps_are_summed_up_and_old_runs_without_a_key_are_left_out(
    admin_client: Client,
) -> None:
    device = factories.make_device()
    levels = [*[6000.0] * 6, *[5400.0] * 6, *[4800.0] * 6]
    weekly(device, JANUARY, levels)
    weekly(device, JANUARY - WEEK, [9000.0], changed={"comparability_key": ""})
    text = text_of(admin_client, page(device))
    assert "The host is 11.2 % slower since 31 March 2026" in text
    assert "Since 6 January 2026 it is -20.3 % in all." in text
    assert Study.objects.count() == 19
    assert baseline_lines(device)[0].studies == 18


def test_of_more_studies_than_are_looked_at_the_newest_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tuning.results.baseline_runs.MAX_STUDIES", 4)
    monkeypatch.setattr("tuning.comparison.config_history.MAX_RESULTS", 4)
    device = factories.make_device()
    studies = weekly(device, JANUARY, [6000.0] * 6)
    newest = [study.pk for study in studies[2:]]
    history = baseline_history(device, baseline_lines(device)[0])
    assert [point.study for point in history.points] == newest
    assert history.left_out == 2
    config = studies[0].candidates.get().config
    assert [one.study.pk for one in config_history(config)] == newest[::-1]


def test_of_many_results_of_a_config_the_newest_are_open(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("advisor.pages.config.views._OPEN_RESULTS", 2)
    monkeypatch.setattr("advisor.pages.config.views.MAX_RESULTS", 3)
    studies = weekly(factories.make_device(), factories.BEGIN, [6000.0] * 3)
    config = studies[0].candidates.get().config_id
    text = admin_client.get(reverse("config-detail", args=[config])).text
    newest, older = text.split("<summary>1 older</summary>")
    assert "The newest 3 results on 1 device" in newest
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
    text = admin_client.get(address).text
    assert "as &lt;b&gt;bold&lt;/b&gt; on " in text
    assert "2026-01-31</td>" in text
    for markup in ("<script>alert", "<b>bold", "<u>"):
        assert markup not in text
    with timezone.override("Asia/Tokyo"):
        assert "2026-02-01</td>" in admin_client.get(address).text
