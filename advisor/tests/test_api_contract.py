"""The committed OpenAPI document is the API: no drift, and the answers are as it says."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from advisor.api.documents import study_document
from advisor.tests import claimed, factories, probes
from benchmarks.emulation.profile import EmulationProfile
from tuning.models import StudyState
from tuning.results.study_result import StudyResult

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "docs" / "openapi.yaml"
#: Of the resources that have left Django REST framework.
NEW = ROOT / "docs" / "openapi.json"
V1 = "/api/v1/"
STUDIES = f"{V1}studies/"

# What the command `advise --json` promises, in this order.
RANKING_KEYS = [
    "rank",
    "config",
    "outcome",
    "tpmP",
    "ratio_to_baseline",
    "p95_ms",
    "p99_ms",
    "max_ms",
    "server_path_length",
    "host_path_length",
    "runs",
]


@cache
def committed() -> dict[str, Any]:
    """The document, to be read only. It is long: PyYAML's own loader would take seconds."""
    found = dict(yaml.load(COMMITTED.read_text(), Loader=yaml.CSafeLoader))
    new = json.loads(NEW.read_text())
    found["paths"] |= new["paths"]
    found["components"]["schemas"] |= new["components"]["schemas"]
    found["components"]["responses"] = new["components"]["responses"]
    return found


@pytest.fixture
def document() -> dict[str, Any]:
    return committed()


def check(document: dict[str, Any], name: str, value: Any) -> None:
    """`value` is what the document's component `name` describes, with no key too many."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
    jsonschema.validate(value, schema, jsonschema.Draft202012Validator)
    described = document["components"]["schemas"][name]["properties"]
    assert set(value) <= set(described), set(value) - set(described)


@pytest.mark.long
def test_the_committed_document_has_not_drifted(tmp_path: Path) -> None:
    fresh = tmp_path / "openapi.yaml"
    call_command("spectacular", file=str(fresh), validate=True, fail_on_warn=True)
    assert fresh.read_text() == COMMITTED.read_text(), (
        "run: .venv/bin/python manage.py spectacular --file docs/openapi.yaml "
        "--validate --fail-on-warn"
    )


def test_the_committed_json_document_has_not_drifted(tmp_path: Path) -> None:
    fresh = tmp_path / "openapi.json"
    call_command("export_openapi_schema", api="advisor.api.api.api", output=fresh, indent=1)
    assert json.loads(fresh.read_text()) == json.loads(NEW.read_text()), (
        "run: .venv/bin/python manage.py export_openapi_schema --api advisor.api.api.api "
        "--indent 1 --output docs/openapi.json"
    )


@pytest.mark.long
@pytest.mark.django_db
def test_answers_are_as_the_document_says(
    client: Client, admin_user: User, document: dict[str, Any]
) -> None:
    client.force_login(admin_user)
    finished = factories.measured_study(blocks=1, fails=["whitepaper-1"])
    running = factories.make_study(state=StudyState.RUNNING)
    factories.begin(running)
    raced = factories.raced_study()
    factories.disturb(raced.slots.all()[3])
    for study in (finished, running, raced):
        check(document, "StudyState", client.get(f"{STUDIES}{study.pk}/").json())
        for row in client.get(f"{STUDIES}{study.pk}/ranking/").json():
            check(document, "RankingRow", row)
        results = client.get(f"{STUDIES}{study.pk}/results/").json()
        check(document, "Results", results)
        for board in results["boards"]:
            check(document, "Board", board)
        for run in client.get(f"{STUDIES}{study.pk}/runs/").json():
            check(document, "Run", run)
    held = claimed.claimed_study({"nvme": claimed.AS_PUBLISHED}, blocks=2)
    results = client.get(f"{STUDIES}{held.pk}/results/").json()
    check(document, "Results", results)
    for finding in results["findings"]:
        check(document, "Finding", finding)
    for template in client.get("/api/v1/templates/").json():
        check(document, "Template", template)
    gated = factories.gate(factories.make_study(state=StudyState.RUNNING))
    unsafe = factories.unsafe_study(blocks=1)
    for study in (gated, unsafe):
        state = client.get(f"{STUDIES}{study.pk}/").json()
        check(document, "StudyState", state)
        for candidate in state["candidates"]:
            check(document, "Candidate", candidate)
            for stage in candidate["checks"]:
                check(document, "Stage", stage)
    for given in ("D0", "D2"):
        address = f"{STUDIES}{unsafe.pk}/recommendation/"
        check(document, "Recommendation", client.get(address, {"durability": given}).json())
    body = {"text": "[mysqld]\nquery_cache_size = 1M\n", "target": "mysql 8.4"}
    answer = client.post("/api/v1/configs/check/", body, content_type="application/json")
    check(document, "CheckedConfig", answer.json())
    check(document, "StudyPage", client.get(STUDIES).json())
    check(document, "Error", client.get(f"{STUDIES}4711/").json())


@pytest.mark.django_db
def test_answers_on_devices_are_as_the_document_says(
    client: Client,
    admin_user: User,
    document: dict[str, Any],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("celery.Celery.send_task", lambda *args, **kwargs: None)
    client.force_login(admin_user)
    settings.HOST_NAME = factories.make_host().name
    logs = probes.identity(path=Path("/logs"))
    profile = EmulationProfile("hdd", "hdd", 200, 200, memory_bytes=700_000_000)
    limits: dict[str, Any] = {
        "emulation": profile.as_dict(),
        "emulation_label": profile.label(),
    }
    array = factories.found_device(probes.array(), log_dir="/logs", log_identity=logs.as_json())
    old = factories.make_device(retired_at=factories.BEGIN)
    limited = factories.probed_device(result=probes.probe_result(), **limits)
    factories.measured_study(blocks=1, device=limited)
    for device in (array, old, limited):
        found = client.get(f"{V1}devices/{device.pk}/").json()
        check(document, "Device", found)
        for part in ("identity", "log_identity"):
            if found[part]:
                check(document, "Identity", found[part])
    check(document, "Emulation", found["emulation_profile"])
    [best] = found["recommendations"]
    check(document, "DeviceAnswer", best)
    started = client.post(f"{V1}devices/{array.pk}/probes/", {}, content_type="application/json")
    check(document, "Probe", started.json())
    page = client.get(f"{V1}devices/").json()
    check(document, "DevicePage", page)
    assert page["count"] == 3
    for one in page["results"]:
        check(document, "DeviceSummary", one)
    page = client.get(f"{V1}devices/{limited.pk}/probes/").json()
    check(document, "ProbePage", page)
    probe = client.get(f"{V1}probes/{page['results'][0]['id']}/").json()
    check(document, "Probe", probe)
    check(document, "ProbeResult", probe["result"])
    for job in probe["result"]["jobs"]:
        check(document, "JobResult", job)
        check(document, "Job", job["job"])
    for one in client.get(f"{V1}emulation-profiles/").json():
        check(document, "EmulationProfile", one)


@pytest.mark.django_db
def test_the_document_of_advise_has_its_parts() -> None:
    study = factories.measured_study(blocks=1)
    found = study_document(StudyResult(study))
    assert json.loads(json.dumps(found)) == found
    assert list(found)[:4] == ["study", "ranking", "recommendation", "candidates"]
    assert list(found)[4:] == ["recommendations", "boards", "trust", "findings", "search"]
    assert list(found["ranking"][0])[: len(RANKING_KEYS)] == RANKING_KEYS
    assert "innodb_io_capacity = 4000" in found["recommendation"]["my_cnf"]
    assert found["study"]["state"] == "finished"


@pytest.mark.django_db
def test_the_document_of_a_study_without_recommendation_has_none() -> None:
    study = factories.make_study(state=StudyState.FAILED, reason="no", reason_code="no_baseline")
    found = study_document(StudyResult(study))
    assert found["recommendation"] is None
    assert {row["rank"] for row in found["ranking"]} == {None}
