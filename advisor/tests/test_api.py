"""The REST API: who may use it, what it answers, and one shape for every error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from advisor.access.models import Scope
from advisor.access.roles import Role
from advisor.access.tokens import create_token
from advisor.tests import factories
from advisor.tests.test_api_contract import committed
from benchmarks.errors import DeviceUnusable
from benchmarks.inventory.here import inspect_here
from benchmarks.models import Host
from benchmarks.servers.binary import ServerBinary
from tuning.catalogue.costs import CostKind
from tuning.catalogue.knob import Durability
from tuning.errors import BadRequest, InvalidConfig, Problem
from tuning.models import Recommendation, Study, StudyState
from tuning.requests.configs import ConfigText
from tuning.requests.device import DeviceRequest
from tuning.requests.study import StudyRequest

pytestmark = pytest.mark.django_db

STUDIES = "/api/v1/studies/"


@pytest.fixture
def api() -> Client:
    """A client that carries a token and no session."""
    user = factories.make_user("ci", Role.OPERATOR)
    token = create_token(user, "ci", Scope.RUN)
    return Client(headers={"Authorization": f"Bearer {token}"})


def error(answer: Any, status: int) -> dict[str, Any]:
    """The error of an answer, after checking that it has the one shape."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/json"
    body = answer.json()
    assert set(body) == {"error"}
    assert set(body["error"]) - {"details", "field", "problems"} == {"code", "message"}
    return dict(body["error"])


@pytest.mark.long
def test_no_operation_takes_a_token_that_is_none() -> None:
    """Whatever its address, all of the description."""
    user = factories.make_user("dba", Role.ADMINISTRATOR)
    genuine = create_token(user, "ci", Scope.ADMIN)
    wrong = [
        {"Authorization": f"Bearer {genuine[:-1]}x"},
        {"Cookie": f"sessionid={genuine}"},
    ]
    asked = 0
    for path, methods in committed()["paths"].items():
        address = path.replace("{digest}", "0" * 64).replace("{id}", "1").replace("{pk}", "1")
        for method in methods:
            for headers in wrong:
                answer = getattr(Client(headers=headers), method)(address)
                assert answer.status_code == 401, (method, address, headers)
                asked += 1
    assert asked > 100


def addresses(study: Study) -> list[str]:
    one = f"{STUDIES}{study.pk}/"
    of_one = ("ranking/", "recommendation/", "recommendation/my.cnf")
    device = f"/api/v1/devices/{study.devices.get().pk}/"
    of_devices = ["/api/v1/devices/", device, f"{device}probes/", "/api/v1/emulation-profiles/"]
    return [STUDIES, one, *(one + rest for rest in of_one), *of_devices, "/api/v1/schema/"]


# --- access --------------------------------------------------------------------------------------


def test_without_a_token_everything_is_401(client: Client) -> None:
    study = factories.measured_study(blocks=1)
    for address in addresses(study):
        answer = client.get(address)
        assert error(answer, 401)["code"] == "not_authenticated", address
        assert answer["WWW-Authenticate"] == "Bearer"
    device = f"/api/v1/devices/{study.devices.get().pk}/"
    writes = (
        STUDIES,
        f"{STUDIES}{study.pk}/recommendation/export/",
        "/api/v1/configs/check/",
        "/api/v1/devices/",
        f"{device}probes/",
        "/api/v1/probes/1/cancel/",
    )
    for address in writes:
        answer = client.post(address, {}, content_type="application/json")
        assert error(answer, 401)["code"] == "not_authenticated", address


def test_a_wrong_token_is_401(client: Client) -> None:
    answer = client.get(STUDIES, headers={"Authorization": "Bearer 123"})
    assert error(answer, 401)["code"] == "invalid_token"


@pytest.mark.long
def test_with_a_token_everything_is_read(api: Client) -> None:
    study = factories.measured_study(blocks=1)
    for address in addresses(study):
        assert api.get(address).status_code == 200, address


def test_a_session_may_read_and_needs_csrf_to_write(admin_user: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    assert client.get(STUDIES).status_code == 200
    answer = client.post(STUDIES, {}, content_type="application/json")
    assert error(answer, 403)["code"] == "permission_denied"


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rest", ["4711/", "4711/ranking/", "4711/recommendation/my.cnf"])
def test_a_study_that_does_not_exist_is_404(api: Client, rest: str) -> None:
    assert error(api.get(STUDIES + rest), 404)["code"] == "not_found"


@pytest.mark.parametrize("address", ["/api/v1/nonsense/", "/api/v1/studies/x/"])
def test_an_unknown_address_is_404_in_the_same_shape(api: Client, address: str) -> None:
    assert error(api.get(address), 404)["code"] == "not_found"
    assert error(api.post(address), 404)["code"] == "not_found"


def test_below_api_even_other_versions_answer_json(api: Client) -> None:
    assert error(api.get("/api/v2/studies/"), 404)["code"] == "not_found"


def test_a_wrong_method_is_405(api: Client) -> None:
    assert error(api.delete(STUDIES), 405)["code"] == "method_not_allowed"


def test_a_bug_is_500_in_the_same_shape(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    study = factories.make_study(blocks=1)
    monkeypatch.setattr("advisor.api.views.ranking_of", broken)
    api.raise_request_exception = False
    answer = api.get(f"{STUDIES}{study.pk}/ranking/")
    assert error(answer, 500)["code"] == "internal_error"
    assert "a bug" not in answer.content.decode()


# --- starting a study ----------------------------------------------------------------------------


class Service:
    """Stands in for create_study: keeps the request, stores a study or refuses."""

    def __init__(self) -> None:
        self.request: StudyRequest | None = None
        self.refusal: Exception | None = None

    def __call__(self, request: StudyRequest, user: User, also: Any = lambda _: None) -> Study:
        self.request = request
        if self.refusal:
            raise self.refusal
        study = factories.make_study(blocks=1, created_by=user)
        also(study)
        return study


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    fake = Service()
    monkeypatch.setattr("advisor.api.views.create_study", fake)
    return fake


def post(api: Client, body: Any) -> Any:
    return api.post(STUDIES, body, content_type="application/json")


@pytest.mark.parametrize(
    ("body", "field", "details"),
    [
        ({}, "blocks", {"blocks": ["no"]}),
        ({}, "", None),
        (
            {"devices": [{"path": "/srv/x"}, {"path": "/srv/y"}]},
            "devices[1].log_dir",
            {"devices": {"1": {"log_dir": ["no"]}}},
        ),
    ],
)
def test_a_refusal_names_its_field_as_an_invalid_request_does(
    api: Client, service: Service, body: Any, field: str, details: Any
) -> None:
    service.refusal = BadRequest("no", field=field)
    found = error(post(api, body), 400)
    assert (found["code"], found.get("details")) == ("bad_request", details)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"blocks": "5"}, ["blocks"]),
        ({"blocks": True}, ["blocks"]),
        ({"races": "off"}, ["races"]),
        ({"races": 0}, ["races"]),
        ({"name": 7}, ["name"]),
        ({"connections": [8, "16"]}, ["connections", "1"]),
        ({"search": {"keep": {"p95": "50"}}}, ["search", "keep", "p95"]),
        ({"search": {"bounds": {"x": [1, "2"]}}}, ["search", "bounds", "x", "0"]),
        ({"devices": [{"id": 1}, {"memory_mb": "700"}]}, ["devices", "1", "memory_mb"]),
    ],
)
def test_a_value_of_another_type_than_described_is_refused(
    api: Client, service: Service, body: Any, path: list[str]
) -> None:
    found = error(post(api, body), 400)
    assert found["code"] == "invalid_request"
    details = found["details"]
    for name in path:
        assert list(details) == [name]
        details = details[name]
    assert post(api, {"races": None, "search": None}).status_code == 201


def test_an_empty_body_asks_for_the_quick_study(api: Client, service: Service) -> None:
    answer = post(api, {})
    assert answer.status_code == 201
    assert service.request == StudyRequest()
    study = Study.objects.get()
    assert answer.json()["id"] == study.pk
    assert answer.json()["state"] == "queued"
    assert answer["Location"] == f"http://testserver{STUDIES}{study.pk}/"
    assert study.created_by is not None
    assert study.created_by.username == "ci"


def test_every_field_reaches_the_service(api: Client, service: Service) -> None:
    body = {
        "template": "compare",
        "name": "Nightly",
        "devices": [{"path": "/srv/nvme"}],
        "server": "/opt/mysql/bin/mysqld",
        "driver": "sysbench",
        "configs": [{"name": "prod", "text": "[mysqld]\nsync_binlog = 1\n"}],
        "warehouses": 20,
        "connections": [8, 32],
        "warmup_s": 0,
        "measure_s": 60,
        "blocks": 5,
        "seed": 42,
        "durability": "D1",
        "translate_from": "mysql 5.7",
        "keeps_duplicates": True,
        "races": False,
        "confirms": True,
        "budget_minutes": 90,
        "allow": ["observability"],
    }
    assert post(api, body).status_code == 201
    assert service.request == StudyRequest(
        template="compare",
        name="Nightly",
        devices=[DeviceRequest(path=Path("/srv/nvme"))],
        server=Path("/opt/mysql/bin/mysqld"),
        driver="sysbench",
        configs=[ConfigText.of("prod", b"[mysqld]\nsync_binlog = 1\n")],
        warehouses=20,
        connections=[8, 32],
        warmup_s=0,
        measure_s=60,
        blocks=5,
        seed=42,
        durability=Durability.D1,
        translate_from="mysql 5.7",
        keeps_duplicates=True,
        races=False,
        confirms=True,
        budget_minutes=90,
        allow=frozenset({CostKind.OBSERVABILITY}),
    )


@pytest.mark.parametrize(
    ("given", "names"),
    [("", ()), ([], ()), ("one", ("one",)), (["one"], ("one",)), (["two", "one"], ("two", "one"))],
)
def test_load_hosts_are_one_name_or_a_list(
    api: Client, service: Service, given: Any, names: tuple[str, ...]
) -> None:
    assert post(api, {"load_hosts": given}).status_code == 201
    assert service.request is not None
    assert service.request.load_hosts == names


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"load_hosts": 7}, "load_hosts"),
        ({"load_hosts": {"name": "one"}}, "load_hosts"),
        ({"load_hosts": ["one", ""]}, "load_hosts"),
        ({"load_hosts": ["one"] * 21}, "load_hosts"),
        ({"load_hosts": "x" * 256}, "load_hosts"),
        ({"warehouses": 0}, "warehouses"),
        ({"warehouses": "ten"}, "warehouses"),
        ({"connections": []}, "connections"),
        ({"connections": [8, 0]}, "connections"),
        ({"connections": 8}, "connections"),
        ({"connections": list(range(1, 22))}, "connections"),
        ({"configs": [{"name": "x"}]}, "configs"),
        ({"configs": [{"name": "x", "text": "y"}] * 21}, "configs"),
        ({"warehuoses": 10}, "warehuoses"),
        ({"durability": "D3"}, "durability"),
        ({"budget_minutes": 0}, "budget_minutes"),
        ({"races": "perhaps"}, "races"),
        ({"allow": ["speed"]}, "allow"),
        ({"configs": [{"name": "x", "text": "#" * 300_000}]}, "configs"),
    ],
)
def test_a_bad_body_is_400_and_names_the_field(
    api: Client, service: Service, body: Any, field: str
) -> None:
    found = error(post(api, body), 400)
    assert found["code"] == "invalid_request"
    assert set(found["details"]) == {field}
    assert service.request is None


def test_what_is_not_json_is_400_or_415(api: Client, service: Service) -> None:
    broken = api.post(STUDIES, "{", content_type="application/json")
    assert error(broken, 400)["code"] == "parse_error"
    form = api.post(STUDIES, {"name": "x"})
    assert error(form, 415)["code"] == "unsupported_media_type"


def test_a_refusal_keeps_the_code_of_the_service(api: Client, service: Service) -> None:
    service.refusal = DeviceUnusable("/nowhere does not exist")
    found = error(post(api, {}), 400)
    assert found == {"code": "device_unusable", "message": "/nowhere does not exist"}


def test_an_invalid_config_lists_its_lines(api: Client, service: Service) -> None:
    service.refusal = InvalidConfig([Problem("prod", 2, "datadir", "a path is no variable")])
    found = error(post(api, {}), 400)
    assert found["code"] == "invalid_config"
    assert found["details"] == {
        "problems": [
            {"config": "prod", "line": 2, "option": "datadir", "reason": "a path is no variable"}
        ]
    }


@pytest.mark.server
def test_a_study_is_stored_with_the_real_service(
    api: Client, mysql_binary: ServerBinary, server_tmp: Path
) -> None:
    host = Host.objects.create(name=settings.HOST_NAME)
    inspect_here(host, servers=[mysql_binary.path], devices=[server_tmp])
    body = {
        "device": str(server_tmp),
        "server": str(mysql_binary.path),
        "driver": "sysbench",
        "warehouses": 1,
        "blocks": 2,
        "configs": [{"name": "mine", "text": "[mysqld]\ninnodb_io_capacity = 2000\n"}],
    }
    answer = post(api, body)
    assert answer.status_code == 201, answer.content
    study = Study.objects.get(pk=answer.json()["id"])
    assert study.candidates.filter(name="mine").exists()
    assert not study.slots.exists()  # the first block is queued when the gate has spoken


@pytest.mark.server
def test_a_bad_config_is_refused_by_the_real_service(
    api: Client, mysql_binary: ServerBinary, server_tmp: Path
) -> None:
    host = Host.objects.create(name=settings.HOST_NAME)
    inspect_here(host, servers=[mysql_binary.path], devices=[server_tmp])
    text = "[mysqld]\ndatadir = /elsewhere\ninnodb_io_capacitie = 1\n"
    body = {
        "device": str(server_tmp),
        "server": str(mysql_binary.path),
        "driver": "sysbench",
        "warehouses": 1,
        "configs": [{"name": "bad", "text": text}],
    }
    found = error(post(api, body), 400)
    assert found["code"] == "invalid_config"
    assert [problem["line"] for problem in found["details"]["problems"]] == [2, 3]
    assert not Study.objects.exists()


# --- reading -------------------------------------------------------------------------------------


def test_the_list_is_paged(api: Client) -> None:
    for _ in range(3):
        factories.make_study(blocks=1, names=["server-default"])
    first = api.get(STUDIES, {"page_size": 2}).json()
    assert first["count"] == 3
    assert first["previous"] is None
    ids = [study["id"] for study in first["results"]]
    assert ids == sorted(ids, reverse=True)
    assert len(ids) == 2
    second = api.get(first["next"]).json()
    assert len(second["results"]) == 1
    assert error(api.get(STUDIES, {"page": 9}), 404)["code"] == "not_found"


def test_the_list_takes_as_many_queries_for_three_studies_as_for_one(
    api: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    factories.make_study(blocks=1)
    api.get(STUDIES)  # the first use of a token in a minute is written down
    with django_assert_max_num_queries(7) as one:
        api.get(STUDIES)
    factories.make_study(blocks=1)
    factories.make_study(blocks=1)
    with django_assert_max_num_queries(len(one)):
        api.get(STUDIES)


def test_a_running_study_reports_its_progress(api: Client) -> None:
    study = factories.make_study(state=StudyState.RUNNING, names=["a", "b"], blocks=2)
    first = factories.begin(study)
    assert first is not None
    factories.finish(first)
    current = factories.begin(study, step="measuring")
    assert current is not None
    progress = api.get(f"{STUDIES}{study.pk}/").json()["progress"]
    assert progress["candidate"] == current.slot.candidate.name
    assert (progress["runs_done"], progress["runs_total"]) == (1, 6)
    assert (progress["step"], progress["blocks"]) == ("measuring", 2)
    assert 0 < progress["fraction"] < 1
    assert progress["eta_s"] > 0


def test_a_failed_study_reports_why(api: Client) -> None:
    study = factories.make_study(state=StudyState.FAILED, reason_code="disk_full", reason="full")
    body = api.get(f"{STUDIES}{study.pk}/").json()
    assert (body["state"], body["reason_code"], body["reason"]) == ("failed", "disk_full", "full")


def test_the_ranking_has_a_row_per_candidate_best_first(api: Client) -> None:
    study = factories.measured_study(fails=["whitepaper-1"])
    rows = api.get(f"{STUDIES}{study.pk}/ranking/").json()
    ranks = [row["rank"] for row in rows[:-1]]
    assert (ranks[0], ranks, rows[-1]["rank"]) == (1, sorted(ranks), None)
    assert rows[0]["config"] == study.recommendations.get().candidate.name
    assert rows[0]["ratio_to_baseline"] > 1
    assert rows[-1]["config"] == "whitepaper-1"
    assert rows[-1]["outcome"] == "no_start"
    assert rows[-1]["tpmP"] is None
    assert {row["connections"] for row in rows} == {8}
    assert {row["device"] for row in rows} == {"/srv/mysql"}


def my_cnf(study: Study) -> str:
    return f"{STUDIES}{study.pk}/recommendation/my.cnf"


def test_the_recommended_file_is_plain_text(api: Client) -> None:
    study = factories.measured_study(blocks=1)
    answer = api.get(my_cnf(study))
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain")
    assert "attachment" in answer["Content-Disposition"]
    assert "[mysqld]" in answer.content.decode()
    assert "innodb_io_capacity = 4000" in answer.content.decode()
    assert api.get(my_cnf(study), headers={"Accept": "text/plain"}).status_code == 200


def test_while_the_study_runs_the_file_is_409(api: Client) -> None:
    study = factories.make_study(state=StudyState.RUNNING)
    for accept in ("*/*", "text/plain"):
        answer = api.get(my_cnf(study), headers={"Accept": accept})
        assert error(answer, 409)["code"] == "study_running"


def test_a_study_that_ended_without_one_is_404_with_its_reason(api: Client) -> None:
    study = factories.make_study(state=StudyState.FAILED, reason="the baseline never ran")
    found = error(api.get(my_cnf(study)), 404)
    assert found["code"] == "no_recommendation"
    assert "the baseline never ran" in found["message"]


def test_with_several_devices_one_must_be_named(api: Client) -> None:
    study = factories.measured_study(blocks=1)
    first = study.recommendations.get()
    second = factories.make_device(data_dir="/srv/nvme", kind="nvme")
    study.devices.add(second)
    Recommendation.objects.create(
        study=study,
        device=second,
        workload=first.workload,
        candidate=first.candidate,
        ratio_to_baseline=1.1,
        verdict="v",
    )
    found = error(api.get(my_cnf(study)), 400)
    assert found["code"] == "device_required"
    assert found["details"] == {"devices": [first.device_id, second.pk]}
    answer = api.get(my_cnf(study), {"device": first.device_id})
    assert "/srv/mysql" in answer.content.decode()
    assert error(api.get(my_cnf(study), {"device": "x"}), 400)["code"] == "device_required"
    assert error(api.get(my_cnf(study), {"device": 4711}), 404)["code"] == "no_recommendation"
