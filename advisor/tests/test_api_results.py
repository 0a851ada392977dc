"""The API on what a study has found: intervals, verdicts, runs, more blocks, several boards."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoCaptureOnCommitCallbacks

from advisor.api.documents import study_document
from advisor.tests import factories
from benchmarks.models import Run
from tuning.models import StudyState
from tuning.results.study_result import StudyResult

pytestmark = pytest.mark.django_db
STUDIES = "/api/v1/studies/"


@pytest.fixture
def api(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> Client:
    # Whatever Redis this machine runs hears nothing of a test's study.
    monkeypatch.setattr("celery.Celery.send_task", lambda *args, **kwargs: None)
    return admin_client


def post(api: Client, address: str, body: Any) -> tuple[int, Any]:
    answer = api.post(f"{STUDIES}{address}", json.dumps(body), content_type="application/json")
    return answer.status_code, answer.json()


def test_a_ranking_has_intervals_ties_the_race_and_all_three_metrics(api: Client) -> None:
    study = factories.raced_study()
    rows = {row["config"]: row for row in api.get(f"{STUDIES}{study.pk}/ranking/").json()}
    best, behind = rows["whitepaper-3"], rows["whitepaper-1"]
    assert best["tied_with"] == ["whitepaper-a"]
    assert best["interval_low"] < best["ratio_to_baseline"] < best["interval_high"]
    assert best["better"]
    assert not best["worse"]
    assert best["on_pareto_front"]
    assert best["left_after_block"] is None
    assert behind["worse"]
    assert behind["left_after_block"] == 3
    assert behind["left_reason"].startswith("measurably below")
    assert set(best["by"]) == {"tpmP", "p95_ms", "server_path_length"}
    assert best["by"]["p95_ms"]["ratio_to_baseline"] < 1
    assert best["by"]["tpmP"]["ratio_to_baseline"] == best["ratio_to_baseline"]


def test_results_have_verdict_noise_confirmation_and_data_quality(api: Client) -> None:
    study = factories.raced_study()
    slot = study.slots.all()[3]
    void = factories.disturb(slot)
    Run.objects.filter(pk=slot.run_id).update(still_warming=True, trend_pct=31.2)
    found = api.get(f"{STUDIES}{study.pk}/results/").json()
    [board] = found["boards"]
    assert board["verdict_kind"] == "tie"
    assert 0 < board["noise_floor"] < 0.1
    assert board["pareto"] == ["whitepaper-3", "whitepaper-a"]
    [confirmation] = board["confirmations"]
    assert confirmation["state"] == "confirmed"
    assert confirmation["pairs_done"] == confirmation["pairs"] == 5
    assert found["trust"]["disturbed"] == 1
    assert found["trust"]["kinds"] == {"foreign_cpu": 1}
    runs = {run["id"]: run for run in api.get(f"{STUDIES}{study.pk}/runs/").json()}
    assert runs[void.pk]["disturbances"] == [factories.DISTURBED]
    assert runs[void.pk]["measured_again_as"] == slot.run_id
    assert runs[slot.run_id]["trend_pct"] == 31.2


def test_a_confirmation_has_no_ratio_before_all_its_pairs_are_measured(api: Client) -> None:
    study = factories.raced_study(most=34)
    factories.begin(study)
    [board] = api.get(f"{STUDIES}{study.pk}/results/").json()["boards"]
    [confirmation] = board["confirmations"]
    assert confirmation["state"] == "measuring"
    assert confirmation["pairs_done"] == 2
    assert confirmation["ratio_to_baseline"] is None
    progress = api.get(f"{STUDIES}{study.pk}/").json()["progress"]
    assert (progress["pair"], progress["pairs"]) == (3, 5)


def test_a_recommendation_carries_the_confirmed_effect(api: Client) -> None:
    study = factories.raced_study()
    found = api.get(f"{STUDIES}{study.pk}/recommendation/").json()
    assert found["kind"] == "tie"
    assert found["confirmation"] == "confirmed"
    assert found["interval_low"] < found["ratio_to_baseline"] < found["interval_high"]
    assert found["selected_ratio"] != found["ratio_to_baseline"]


def test_two_blocks_leave_no_infinity_in_the_json(api: Client) -> None:
    study = factories.measured_study(blocks=2)
    text = api.get(f"{STUDIES}{study.pk}/ranking/").content.decode()
    text += api.get(f"{STUDIES}{study.pk}/results/").content.decode()
    assert "Infinity" not in text
    json.dumps(study_document(StudyResult(study)), allow_nan=False)


def test_a_study_is_extended(
    api: Client,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    monkeypatch.setattr("celery.Celery.send_task", lambda *args, **kwargs: None)
    study = factories.raced_study()
    before = study.slots.count()
    with django_capture_on_commit_callbacks(execute=True):
        status, answer = post(api, f"{study.pk}/extend/", {"blocks": 1})
    assert status == 200
    assert answer["state"] == "running"
    assert answer["conclusions"] == 2
    assert study.slots.count() == before + 4
    status, answer = post(api, f"{study.pk}/extend/", {"blocks": 1})
    assert (status, answer["error"]["code"]) == (400, "not_finished")


@pytest.mark.parametrize("body", [{}, {"blocks": 0}, {"blocks": "many"}, {"block": 3}])
def test_a_bad_extension_is_refused(api: Client, body: Any) -> None:
    study = factories.raced_study()
    status, answer = post(api, f"{study.pk}/extend/", body)
    assert (status, answer["error"]["code"]) == (400, "invalid_request")


@pytest.mark.long
def test_of_several_boards_the_connections_name_one(api: Client) -> None:
    workloads = [factories.make_workload(connections=number) for number in (8, 32)]
    study = factories.raced_study(workloads=workloads)
    address = f"{STUDIES}{study.pk}/recommendation/"
    answer = api.get(address)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "connections_required"
    assert answer.json()["error"]["details"] == {"connections": [8, 32]}
    for number in (8, 32):
        assert api.get(address, {"connections": number}).json()["connections"] == number
    assert api.get(f"{address}my.cnf", {"connections": 32}).status_code == 200
    body = {"format": "sql", "connections": 8}
    sql = api.post(f"{address}export/", json.dumps(body), content_type="application/json")
    assert sql.status_code == 200
    assert api.get(address, {"connections": "x"}).status_code == 400
    assert api.get(address, {"connections": 64}).status_code == 404
    found = study_document(StudyResult(study))
    assert [one["connections"] for one in found["recommendations"]] == [8, 32]
    assert found["recommendation"] == found["recommendations"][0]


def test_progress_names_the_device_where_there_are_several(api: Client) -> None:
    study = factories.study_on_two_devices()
    factories.race(study, most=1)
    current = factories.begin(study)
    assert current is not None
    progress = api.get(f"{STUDIES}{study.pk}/").json()["progress"]
    assert progress["device"] == str(current.device)
    assert f"<span>on {current.device}</span>" in api.get(f"/studies/{study.pk}/").content.decode()
    factories.finish(current)
    only = factories.make_study(state=StudyState.RUNNING)
    factories.begin(only)
    progress = api.get(f"{STUDIES}{only.pk}/").json()["progress"]
    assert progress["device"] == ""
