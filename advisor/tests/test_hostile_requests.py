"""Requests of absurd size, depth or number: a typed error, never a 500, no megabytes back."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from advisor.access.rules import rules_of
from advisor.tests import factories
from advisor.tests.access_table import addresses
from advisor.tests.test_api import error

pytestmark = pytest.mark.django_db

HUGE = "9" * 24
TOO_LONG = "#" * 7_000_000


@pytest.fixture
def api(admin_client: Client) -> Client:
    admin_client.raise_request_exception = False
    return admin_client


def posted_to() -> list[str]:
    study = factories.measured_study(blocks=1)
    one = f"/api/v1/studies/{study.pk}/"
    return [
        "/api/v1/studies/",
        "/api/v1/configs/check/",
        f"{one}actions/extend/",
        f"{one}actions/pause/",
        "/api/v1/recommendations/1/export/",
        "/api/v1/devices/",
        f"/api/v1/devices/{study.devices.get().pk}/actions/probe/",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "[" * 100_000,
        '{"text":' * 3000,
        '{"name":' + "[" * 40 + "]" * 40 + "}",
        '{"durability":"\\ud800"}',
        '{"\\ud800":1}',
    ],
    ids=["lists", "objects", "closed", "half a character", "half a character's name"],
)
def test_json_that_cannot_be_handled_is_a_parse_error(api: Client, body: str) -> None:
    for where in posted_to():
        answer = api.post(where, body, content_type="application/json")
        assert error(answer, 400)["code"] in ("bad_request", "invalid_request")


def test_a_body_beyond_the_limit_has_the_api_s_error(api: Client) -> None:
    body = '{"text": "' + "#" * 10_000_000 + '"}'
    for where in posted_to():
        found = error(api.post(where, body, content_type="application/json"), 400)
        assert found["code"] == "request_too_large"
        assert "8 MiB" in found["message"]


@pytest.mark.parametrize(
    ("address", "field"),
    [
        ("/configs/check/", 'name="config_text"'),
        ("/studies/new/", 'name="config_text"'),
        ("/profiles/", 'name="text"'),
        ("/account/token/", ""),
    ],
)
def test_a_form_beyond_the_limit_says_so_beside_its_text(
    api: Client, address: str, field: str
) -> None:
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = api.post(address, "text=" + "a" * 10_000_000, content_type=kind)
        text = answer.content.decode()
        assert (answer.status_code, "larger than 8 MiB" in text) == (400, True)
        assert field in text
        assert "advisor.css" in text, "a page like the others"


def test_what_django_refuses_is_the_api_s_error_there_and_a_page_elsewhere(
    api: Client,
) -> None:
    answer = api.get("/api/v1/studies/", headers={"host": "elsewhere.example"})
    assert error(answer, 400)["code"] == "bad_request"
    answer = api.get("/studies/", headers={"host": "elsewhere.example"})
    assert answer.status_code == 400
    assert "ADVISOR_ALLOWED_HOSTS" in answer.content.decode()


@pytest.mark.parametrize("number", [HUGE, "9" * 5000], ids=["24 digits", "5000 digits"])
def test_no_address_takes_a_number_that_no_row_can_have(api: Client, number: str) -> None:
    numbered = [one for one in addresses() if re.search(r"<(int|id):", one.route)]
    assert len(numbered) > 60
    for address in numbered:
        path = "/" + re.sub(r"<(int|id):\w+>", number, address.route)
        path = path.replace("<slug:part>", "runs")
        for method in rules_of(address.name):
            answer = api.generic(method, path, "{}", content_type="application/json")
            assert answer.status_code in (400, 404), (method, address.route)
    study = factories.measured_study(blocks=1)
    page = f"/studies/{study.pk}/?device={number}&connections={number}&board={number}"
    assert api.get(page).status_code == 200


def test_a_text_far_too_long_is_not_sent_back(api: Client) -> None:
    study = factories.measured_study(blocks=1)
    recommendation = study.recommendations.get()
    export = f"/studies/{study.pk}/recommendations/{recommendation.pk}/export/"
    cases: list[tuple[str, dict[str, str]]] = [
        ("/configs/check/", {"config_text": TOO_LONG}),
        ("/studies/new/", {"config_name": "mine", "config_text": TOO_LONG}),
        (export, {"format": "diff", "current": TOO_LONG}),
    ]
    for where, fields in cases:
        answer = api.post(where, fields)
        assert answer.status_code == 400, where
        text = answer.content.decode()
        assert "larger than 256 KiB" in text, where
        assert len(text) < 200_000, where
    # The other answers stay.
    assert '<option value="diff" selected>' in text
