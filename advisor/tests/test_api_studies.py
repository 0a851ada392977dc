"""The API on studies: created once, read as a document, exported, changed by actions."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from advisor.access.roles import Role
from advisor.access.tokens import create_token
from advisor.tests import factories
from advisor.tests.test_api import STUDIES, error
from tuning.errors import InvalidConfig, Problem, TuningError
from tuning.models import Study
from tuning.results.document import StudyDocument

pytestmark = pytest.mark.django_db
V1 = "/api/v1/"
KEY = {"Idempotency-Key": "nightly-1"}


def client_of(name: str) -> Client:
    token = create_token(factories.make_user(name, Role.OPERATOR), name, Role.OPERATOR)
    return Client(headers={"Authorization": f"Bearer {token}"})


@pytest.fixture
def api() -> Client:
    return client_of("ci")


def post(api: Client, address: str, body: Any, **headers: str) -> Any:
    return api.post(address, body, content_type="application/json", headers=headers)


class Creation:
    """Stands in for create_study: writes in one transaction as it does, and may be interrupted."""

    def __init__(self) -> None:
        self.before_writing: Callable[[], object] = lambda: None
        self.refusal: Exception | None = None

    def __call__(self, request: Any, user: Any, also: Callable[[Study], None]) -> Study:
        interrupt, self.before_writing = self.before_writing, lambda: None
        interrupt()
        if self.refusal:
            raise self.refusal
        with transaction.atomic():
            study = factories.make_study(blocks=1, created_by=user)
            also(study)
        return study


@pytest.fixture
def creation(monkeypatch: pytest.MonkeyPatch) -> Creation:
    fake = Creation()
    monkeypatch.setattr("advisor.api.studies.create", SimpleNamespace(create_study=fake))
    return fake


# --- creating ------------------------------------------------------------------------------------


def test_a_request_that_is_sent_again_gets_the_same_study(api: Client, creation: Creation) -> None:
    first, second = (post(api, STUDIES, {"name": "x"}, **KEY) for _ in range(2))
    assert [first.status_code, second.status_code] == [201, 201]
    assert first.json()["id"] == second.json()["id"] == Study.objects.get().pk
    # Without a key, and with that of another account, it is another study.
    assert post(api, STUDIES, {}).status_code == 201
    assert post(client_of("another"), STUDIES, {}, **KEY).status_code == 201
    assert Study.objects.count() == 3


def test_two_requests_at_once_with_one_key_make_one_study(api: Client, creation: Creation) -> None:
    inner: list[Any] = []
    creation.before_writing = lambda: inner.append(post(api, STUDIES, {}, **KEY))
    outer = post(api, STUDIES, {}, **KEY)
    assert (outer.status_code, inner[0].status_code) == (201, 201)
    assert outer.json()["id"] == inner[0].json()["id"] == Study.objects.get().pk


def test_a_refusal_has_the_code_and_the_field_of_the_service(
    api: Client, creation: Creation
) -> None:
    creation.refusal = TuningError("no_driver", "there is none", field="driver")
    refused = error(post(api, STUDIES, {}, **KEY), 400)
    assert (refused["code"], refused["field"]) == ("no_driver", "driver")
    creation.refusal = InvalidConfig([Problem("mine", 2, "datadir", "is not allowed")])
    assert error(post(api, STUDIES, {}), 400)["problems"] == [
        {"source": "mine", "line": 2, "name": "datadir", "reason": "is not allowed"}
    ]
    creation.refusal = None
    assert post(api, STUDIES, {}, **KEY).status_code == 201


# --- reading -------------------------------------------------------------------------------------


def test_the_document_is_sent_only_when_it_has_changed(api: Client) -> None:
    study = factories.measured_study(blocks=1, fails=["whitepaper-1"])
    address = f"{STUDIES}{study.pk}/document/"
    answer = api.get(address)
    document = StudyDocument.model_validate(answer.json())
    assert (document.study.id, document.revision) == (study.pk, study.revision)
    assert answer["ETag"] == f'"{study.revision}"'
    assert api.get(f"{address}?revision={study.revision}").status_code == 204
    known = {"If-None-Match": answer["ETag"]}
    assert api.get(address, headers=known).status_code == 304
    Study.objects.filter(pk=study.pk).update(revision=study.revision + 1)
    assert api.get(f"{address}?revision={study.revision}").status_code == 200
    assert api.get(address, headers=known).json()["revision"] == study.revision + 1


def test_studies_are_paged_without_repeating_a_row(api: Client) -> None:
    made = [factories.make_study(blocks=1, names=["server-default"]).pk for _ in range(5)]
    seen: list[int] = []
    for number in (1, 2, 3, 4):
        page = api.get(STUDIES, {"page": number, "page_size": 2}).json()
        assert page["count"] == 5
        seen += [row["id"] for row in page["results"]]
    assert seen == made[::-1]


# --- exports and actions -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind", "part"),
    [
        ({"format": "sql"}, "application/sql", "SET PERSIST"),
        (
            {"format": "diff", "current": "[mysqld]\ninnodb_io_capacity = 200\n"},
            "text/x-diff",
            "-innodb_io_capacity = 200",
        ),
    ],
)
def test_a_recommendation_is_exported(api: Client, body: Any, kind: str, part: str) -> None:
    study = factories.measured_study(blocks=1)
    address = f"{V1}recommendations/{study.recommendations.get().pk}/"
    answer = post(api, f"{address}export/", body)
    assert answer.status_code == 200, answer.content
    assert answer["Content-Type"].startswith(kind)
    assert "attachment" in answer["Content-Disposition"]
    assert part in answer.content.decode()
    assert "innodb_io_capacity" in api.get(f"{address}my.cnf").content.decode()


def test_a_file_that_may_lose_something_is_acknowledged_first(api: Client) -> None:
    study = factories.unsafe_study(blocks=1)
    unsafe = study.recommendations.get(durability="D2")
    address = f"{V1}recommendations/{unsafe.pk}/my.cnf"
    assert error(api.get(address), 400)["code"] == "durability_not_acknowledged"
    assert "WARNING" in api.get(f"{address}?acknowledge=D2").content.decode()
    wanted = {"format": "diff", "acknowledge": "D2"}
    diff = post(api, address.replace("my.cnf", "export/"), wanted)
    assert error(diff, 400)["code"] == "current_config_needed"
