"""The API's candidates, recommendations, exports and checks."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from advisor.tests import factories
from advisor.tests.test_api import error
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.tests.made_up_host import this_host
from tuning.models import Study, StudyState

pytestmark = pytest.mark.django_db

CHECK = "/api/v1/configs/check/"
OLD = "[mysqld]\ninnodb_log_file_size = 1G\nquery_cache_size = 64M\n"


@pytest.fixture
def api(admin_client: Client) -> Client:
    return admin_client


def address(study: Study, rest: str = "") -> str:
    return f"/api/v1/studies/{study.pk}/recommendation/{rest}"


def post(api: Client, where: str, body: dict[str, Any]) -> Any:
    return api.post(where, body, content_type="application/json")


def export(api: Client, study: Study, **body: Any) -> Any:
    return post(api, address(study, "export/"), body)


# --- candidates ----------------------------------------------------------------------------------


def test_candidates_show_their_origin_and_their_checks(api: Client) -> None:
    study = factories.gate(factories.make_study())
    found = {c["name"]: c for c in api.get(f"/api/v1/studies/{study.pk}/").json()["candidates"]}
    assert list(found) == list(factories.NAMES)
    user = found["whitepaper-2"]
    assert [line["action"] for line in user["lines"]] == ["renamed", "dropped", "kept"]
    assert [stage["stage"] for stage in user["checks"]] == [
        "values",
        "rules",
        "server",
        "read_back",
    ]
    assert user["checks"][3]["differences"][0]["effective"] == "4"
    assert found["whitepaper-3"]["merged_into"] == "whitepaper-1"
    refused = found["whitepaper-a"]
    assert refused["refusal"] == factories.REFUSAL
    assert "Aborting" in refused["checks"][2]["log_tail"]
    assert (refused["checks"][3]["reached"], refused["checks"][3]["passed"]) == (False, False)


def test_ranking_rows_name_the_class_of_their_board(api: Client) -> None:
    study = factories.unsafe_study(blocks=1)
    rows = api.get(f"/api/v1/studies/{study.pk}/ranking/").json()
    classes = {(row["config"], row["durability"]) for row in rows}
    assert {given for name, given in classes if name == "server-default"} == {"D0", "D1", "D2"}
    assert {given for name, given in classes if name == "whitepaper-a"} == {"D2"}


# --- recommendations -----------------------------------------------------------------------------


def test_a_safe_recommendation_has_its_file(api: Client) -> None:
    study = factories.measured_study(blocks=1)
    found = api.get(address(study)).json()
    assert (found["durability"], found["acknowledge"], found["losses"]) == ("D0", "D0", [])
    assert "[mysqld]" in found["my_cnf"]
    assert "on host db-host-1" in " ".join(found["my_cnf"].replace("#", "").split())
    assert found["device_id"] == study.devices.get().pk


def test_an_unsafe_one_says_what_may_be_lost_and_has_no_text(api: Client) -> None:
    study = factories.unsafe_study(blocks=1)
    found = api.get(address(study), {"durability": "D1"}).json()
    assert found["acknowledge"] == "D1"
    assert found["my_cnf"] is None
    assert {loss["name"] for loss in found["losses"]} == set(factories.UNSAFE["D1"])
    assert all(loss["loses"] for loss in found["losses"])


def test_with_several_classes_one_must_be_named(api: Client) -> None:
    study = factories.unsafe_study(blocks=1)
    for rest in ("", "my.cnf"):
        found = error(api.get(address(study, rest)), 400)
        assert found["code"] == "durability_required"
        assert found["details"] == {"classes": ["D0", "D1", "D2"]}
    assert error(export(api, study), 400)["code"] == "durability_required"
    bad = error(api.get(address(study), {"durability": "D9"}), 400)
    assert bad["code"] == "invalid_request"


def test_the_file_of_an_unsafe_one_needs_its_class_acknowledged(api: Client) -> None:
    study = factories.unsafe_study(blocks=1)
    where = address(study, "my.cnf")
    for query in ({}, {"acknowledge": "D1"}):
        found = error(api.get(where, {"durability": "D2"} | query), 400)
        assert found["code"] == "durability_not_acknowledged"
        assert "innodb_doublewrite = OFF may lose" in found["message"]
    answer = api.get(where, {"durability": "D2", "acknowledge": "D2"})
    assert "WARNING" in answer.content.decode()


def test_a_running_study_has_no_recommendation_yet(api: Client) -> None:
    study = factories.make_study(state=StudyState.RUNNING)
    assert error(api.get(address(study)), 409)["code"] == "study_running"
    assert error(export(api, study), 409)["code"] == "study_running"


@pytest.mark.parametrize(
    ("body", "kind", "part"),
    [
        ({}, "text/plain", "innodb_io_capacity = 4000"),
        ({"format": "sql"}, "application/sql", "SET PERSIST"),
        ({"format": "rollback-cnf", "current": "[mysqld]\n"}, "text/plain", "Rollback"),
        ({"format": "json"}, "application/json", '"9.7.4"'),
        (
            {"format": "diff", "current": "[mysqld]\ninnodb_io_capacity = 200\n"},
            "text/x-diff",
            "-innodb_io_capacity = 200",
        ),
    ],
)
def test_every_format_is_exported(api: Client, body: dict[str, Any], kind: str, part: str) -> None:
    study = factories.measured_study(blocks=1)
    answer = export(api, study, **body)
    assert answer.status_code == 200, answer.content
    assert answer["Content-Type"].startswith(kind)
    assert "attachment" in answer["Content-Disposition"]
    assert part in answer.content.decode()
    assert f"/studies/{study.pk}/" in answer.content.decode()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"format": "pdf"}, "invalid_request"),
        ({"formt": "cnf"}, "invalid_request"),
        ({"format": "diff"}, "current_config_needed"),
        ({"format": "diff", "current": "[mysqld\n"}, "invalid_config"),
        ({"current": "#" * 300_000}, "invalid_request"),
    ],
)
def test_what_cannot_be_exported_is_a_typed_error(
    api: Client, body: dict[str, Any], code: str
) -> None:
    study = factories.measured_study(blocks=1)
    assert error(export(api, study, **body), 400)["code"] == code


# --- checks --------------------------------------------------------------------------------------


def test_a_file_is_checked_for_any_server(api: Client) -> None:
    refused = post(api, CHECK, {"text": OLD, "target": "mysql 8.4.13"}).json()
    assert not refused["is_fine"]
    assert refused["my_cnf"] is None
    assert [problem["line"] for problem in refused["problems"]] == [3]
    body = {"text": OLD, "target": "mysql 8.4.13", "translate_from": "mysql 5.7"}
    fine = post(api, CHECK, body).json()
    assert fine["is_fine"]
    assert fine["target"] == "MySQL 8.4.13"
    assert [line["action"] for line in fine["lines"]] == ["renamed", "dropped"]
    assert fine["my_cnf"] == "[mysqld]\ninnodb_redo_log_capacity = 2G\n"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_request"),
        ({"text": OLD, "target": "oracle 23"}, "invalid_request"),
        ({"text": OLD, "durability": "D3"}, "invalid_request"),
        ({"text": "#" * 300_000, "target": "mysql 8.4"}, "invalid_request"),
        ({"text": OLD, "target": "mysql 8.4", "translate_from": "oracle 23"}, "bad_request"),
        ({"text": OLD}, "no_server_found"),
    ],
)
def test_a_check_that_cannot_be_made_is_a_typed_error(
    api: Client, body: dict[str, Any], code: str
) -> None:
    this_host(servers=())
    assert error(post(api, CHECK, body), 400)["code"] == code


def test_what_comes_out_of_a_check_below_d0_says_what_it_may_lose(api: Client) -> None:
    text = "[mysqld]\ninnodb_flush_log_at_trx_commit = 2\n"
    body = {"text": text, "target": "mysql 8.4.13", "durability": "D2"}
    found = post(api, CHECK, body).json()
    assert found["durability"] == "D1"
    assert found["my_cnf"].startswith("# D1: WARNING")
    assert "# WARNING: innodb_flush_log_at_trx_commit = 2 may lose" in found["my_cnf"]
    assert found["my_cnf"].endswith(text)
    again = post(api, CHECK, body | {"text": found["my_cnf"]}).json()
    assert again["my_cnf"] == found["my_cnf"]
    body |= {"text": "[mysqld]\ninnodb_dedicated_server = ON\n", "target": "mysql 8.0.46"}
    found = post(api, CHECK, body).json()
    assert found["my_cnf"].startswith("# D2: WARNING")
    assert "# WARNING: innodb_dedicated_server = ON may lose" in found["my_cnf"]


# --- what the device leaves open -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "with_data", "said"),
    [
        ({"log_dir": "/srv/logs"}, False, "it was in /srv/logs"),
        ({"log_dir": "/srv/logs"}, True, "it was on the data device in this study"),
        (
            {"emulation": {"name": "hdd", "kind": "hdd", "read_iops": 200}, "kind": "hdd"},
            False,
            "emulated by limits",
        ),
    ],
)
def test_a_file_says_what_its_device_leaves_open(
    api: Client, values: dict[str, Any], with_data: bool, said: str
) -> None:
    if "emulation" in values:
        values["emulation_label"] = EmulationProfile(**values["emulation"]).label()
    study = factories.measured_study(blocks=3, device=factories.make_device(**values))
    study.candidates.update(logs_with_data=with_data)
    text = api.get(address(study)).json()["my_cnf"]
    assert said in " ".join(text.replace("#", " ").split())
    real = factories.measured_study(blocks=3, device=factories.make_device(data_dir="/other"))
    text = " ".join(api.get(address(real)).json()["my_cnf"].replace("#", " ").split())
    assert said not in text
