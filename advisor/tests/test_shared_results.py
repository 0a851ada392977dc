"""What was worked out once is shared by all who ask, until something changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from advisor.charts.boards import run_figures
from advisor.pages.study.boards import board_key
from advisor.tests import factories
from advisor.tests.device_rows import NVME, SATA, measured_on
from advisor.tests.search_study import queued_slot, searching_study
from benchmarks.models import Device, Host, Run, RunState, Sample, Workload
from tuning.comparison.device_comparison import measured_runs
from tuning.models import Study, StudyState
from tuning.results.study_result import StudyResult
from tuning.statistics.ranking import Judgement, Metric, judge_by

pytestmark = pytest.mark.django_db

OF_A_STUDY = (
    "/studies/{}/",
    "/studies/{}/?by=p95_ms",
    "/studies/{}/live/",
    "/studies/{}/charts.json",
    "/studies/{}/report/",
    "/api/v1/studies/{}/ranking/",
    "/api/v1/studies/{}/results/",
    "/api/v1/studies/{}/runs/",
)
OF_DEVICES = (
    "/devices/compare/",
    "/devices/compare/charts.json",
    "/api/v1/device-comparison/",
)


def asked(client: Client, *paths: str) -> list[str]:
    answers = [client.get(path) for path in paths]
    assert {answer.status_code for answer in answers} == {200}
    return [answer.content.decode() for answer in answers]


def counted(monkeypatch: pytest.MonkeyPatch, name: str, real: Callable[..., Any]) -> list[int]:
    calls: list[int] = []

    def count(*arguments: Any, **more: Any) -> Any:
        calls.append(1)
        return real(*arguments, **more)

    monkeypatch.setattr(name, count)
    return calls


@pytest.mark.long
def test_a_study_that_has_ended_is_judged_once_for_all_who_ask(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[Metric] = []

    def judge(metrics: Sequence[Metric], *arguments: Any) -> dict[Metric, Judgement]:
        judged.extend(metrics)
        return judge_by(metrics, *arguments)

    monkeypatch.setattr("tuning.results.boards.judge_by", judge)
    study = factories.measured_study(blocks=2)
    paths = [path.format(study.pk) for path in OF_A_STUDY]
    judged.clear()
    first = asked(admin_client, *paths)
    assert sorted(judged) == sorted(Metric), "by each metric, of one board"
    with CaptureQueriesContext(connection) as queries:
        again = asked(admin_client, *paths)
    assert len(judged) == 3
    assert not [one for one in queries if '"benchmarks_run"."disturbances"' in one["sql"]]
    for before, after in zip(first, again, strict=True):
        assert len(before) == len(after)

    # What is not asked for is not worked out.
    judged.clear()
    (board,) = StudyResult(study).boards
    assert board.for_advice is board.judgement
    assert len(judged) == 1

    # Each of these is another answer.
    report = f"/studies/{study.pk}/report/"
    Device.objects.update(model="Another model", kind="other")
    assert "Another model" in asked(admin_client, report)[0]
    Device.objects.update(file_system="another-fs")
    assert "another-fs" in asked(admin_client, report)[0]
    Host.objects.update(name="another-host")
    assert "--host another-host" in asked(admin_client, report)[0]
    judged.clear()
    Study.objects.filter(pk=study.pk).update(state=StudyState.RUNNING, finished_at=None)
    [page] = asked(admin_client, paths[0])
    assert "Answer so far" in page
    assert judged
    slot = study.slots.latest("order")
    Run.objects.filter(pk=slot.run_id).update(
        state=RunState.DISTURBED, finished_at=timezone.now(), reason="another program"
    )
    Study.objects.filter(pk=study.pk).update(state=StudyState.FINISHED, conclusions=2)
    [page] = asked(admin_client, paths[0])
    assert "Answer so far" not in page
    assert ">Disturbed</span>" in page


def test_charts_of_runs_are_kept_as_long_as_the_runs_have_their_seconds(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = factories.measured_study(blocks=1, samples=True)
    drawn = counted(monkeypatch, "advisor.pages.study.views.run_figures", run_figures)
    board = StudyResult(study).boards[0]
    address = f"{reverse('board-charts', args=[study.pk])}?board={board_key(board)}"
    for _ in range(2):
        assert "over-time" in asked(admin_client, address)[0]
    assert len(drawn) == 1
    Sample.objects.all().delete()
    assert "over-time" not in asked(admin_client, address)[0]


def test_the_load_hosts_of_a_study_are_read_at_once(admin_client: Client) -> None:
    driver = factories.make_host("driver")

    def queries(*connections: int) -> int:
        workloads = [
            factories.make_workload(connections=one, load_hosts=[driver]) for one in connections
        ]
        study = factories.measured_study(blocks=1, workloads=workloads, recommended=False)
        with CaptureQueriesContext(connection) as found:
            [page] = asked(admin_client, f"/studies/{study.pk}/")
        assert page.count("driven by driver") >= len(connections)
        return len(found)

    asked(admin_client, "/help/")
    assert queries(4) == queries(5, 6, 7)
    assert Workload.objects.count() == 4


@pytest.mark.long
def test_devices_are_compared_once_for_all_who_ask(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (SATA, NVME):
        measured_on(place, [8])
    read = counted(monkeypatch, "advisor.shared_results.measured_runs", measured_runs)
    first = asked(admin_client, *OF_DEVICES)
    assert len(read) == 1
    assert [len(one) for one in asked(admin_client, *OF_DEVICES)] == list(map(len, first))
    assert len(read) == 1

    study = Study.objects.latest("pk")
    assert study.devices.get().data_dir in first[2]
    one = study.slots.latest("order").run
    Run.objects.filter(pk=one.pk).update(state=RunState.LOST)
    asked(admin_client, *OF_DEVICES)
    assert len(read) == 2, "one run less counts"
    Run.objects.filter(pk=one.pk).update(state=RunState.DISK_FULL)
    asked(admin_client, *OF_DEVICES)
    assert len(read) == 3, "it counts against its config"
    again = Run.objects.get(pk=one.pk)
    again.pk, again.retry_of, again.state = None, one, RunState.QUEUED
    again.save(force_insert=True)
    asked(admin_client, *OF_DEVICES)
    assert len(read) == 4, "until it is to be measured again"
    Device.objects.filter(studies=study).update(data_dir="/srv/moved")
    assert "/srv/moved" in asked(admin_client, OF_DEVICES[2])[0]


def test_a_config_that_a_search_finds_while_a_page_is_made_is_left_to_the_next() -> None:
    study = searching_study(3)
    at_once, later = (StudyResult(Study.objects.get(pk=study.pk)) for _ in range(2))
    assert len(later.candidates) == 5
    newest = study.candidates.get(name="search-1")
    newest.pk, newest.name = None, "search-99"
    newest.save()
    queued_slot(study, newest, 2)
    assert [len(one.slots) for one in (at_once, later)] == [6, 5]
    assert later.boards is not None
