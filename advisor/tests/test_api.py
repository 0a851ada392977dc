"""The REST API: who may use it, and one shape for every error."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from advisor.access.roles import Role
from advisor.access.tokens import create_token
from advisor.tests import factories
from advisor.tests.test_api_contract import committed

pytestmark = pytest.mark.django_db

STUDIES = "/api/v1/studies/"
CHECK = "/api/v1/configs/check/"


@pytest.fixture
def api() -> Client:
    """A client that carries a token and no session."""
    user = factories.make_user("ci", Role.OPERATOR)
    token = create_token(user, "ci", Role.OPERATOR)
    return Client(headers={"Authorization": f"Bearer {token}"})


def error(answer: Any, status: int) -> dict[str, Any]:
    """The error of an answer, after checking that it has the one shape."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/json"
    body = answer.json()
    assert set(body) == {"error"}
    assert set(body["error"]) - {"field", "problems"} == {"code", "message"}
    return dict(body["error"])


# --- access --------------------------------------------------------------------------------------


@pytest.mark.long
def test_no_operation_takes_a_token_that_is_none() -> None:
    user = factories.make_user("dba", Role.ADMINISTRATOR)
    genuine = create_token(user, "ci", Role.ADMINISTRATOR)
    wrong = [
        {"Authorization": f"Bearer {genuine[:-1]}x"},
        {"Authorization": f"Basic {genuine}"},
        {"Cookie": f"sessionid={genuine}"},
        {},
    ]
    asked = 0
    for path, methods in committed()["paths"].items():
        address = path.replace("{digest}", "0" * 64).replace("{pk}", "1")
        for method in methods:
            for headers in wrong:
                answer = getattr(Client(headers=headers), method)(address)
                assert error(answer, 401), (method, address, headers)
                assert answer["WWW-Authenticate"] == "Bearer"
                asked += 1
    assert asked > 200


def test_a_session_may_read_and_needs_csrf_to_write(admin_user: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    assert client.get(STUDIES).status_code == 200
    body = {"text": "[mysqld]\n", "target": "mysql 8.4"}
    answer = client.post(CHECK, body, content_type="application/json")
    assert error(answer, 403)["code"] == "permission_denied"


def test_a_token_of_a_smaller_role_is_refused_with_the_reason() -> None:
    token = create_token(factories.make_user("dba", Role.ADMINISTRATOR), "ci", Role.VIEWER)
    client = Client(headers={"Authorization": f"Bearer {token}"})
    refused = error(client.post(STUDIES, {}, content_type="application/json"), 403)
    assert refused["code"] == "permission_denied"
    assert "token of the role" in refused["message"]


def test_the_reference_is_a_page_without_foreign_scripts(
    admin_client: Client, client: Client
) -> None:
    page = admin_client.get("/api/v1/docs/")
    assert "/static/ninja/swagger-ui-bundle.js" in page.content.decode()
    assert "https://" not in page.content.decode()
    assert admin_client.get("/api/v1/openapi.json").json()["openapi"] == "3.1.0"
    client.logout()
    assert client.get("/api/v1/docs/").status_code == 302


# --- errors --------------------------------------------------------------------------------------


def test_a_bug_is_500_in_the_same_shape(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("advisor.api.studies.page_of", broken)
    api.raise_request_exception = False
    answer = api.get(STUDIES)
    assert error(answer, 500)["code"] == "internal_error"
    assert "a bug" not in answer.content.decode()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "text"),
        ({"text": "x", "target": "oracle 23"}, "target"),
        ({"text": "x", "txet": "x"}, "txet"),
        ({"text": "x" * 300_000}, "text"),
    ],
)
def test_a_bad_body_is_400_and_names_the_field(api: Client, body: Any, field: str) -> None:
    refused = error(api.post(CHECK, body, content_type="application/json"), 400)
    assert (refused["code"], refused["field"]) == ("invalid_request", field)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"text": NaN}', b"\xff", b'{"text": "a\\u0000"}']
)
def test_what_is_no_usable_json_is_400(api: Client, body: bytes) -> None:
    error(api.post(CHECK, body, content_type="application/json"), 400)


@pytest.mark.parametrize("query", ["page_size=x", "page_size=201", "page=0", "state=gone"])
def test_a_bad_parameter_is_400_and_names_it(api: Client, query: str) -> None:
    refused = error(api.get(f"{STUDIES}?{query}"), 400)
    assert query.partition("=")[0] in refused["message"] + refused.get("field", "")
