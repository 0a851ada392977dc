"""The examples in the API's description are requests that it takes and answers that it gives."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from advisor.api.openapi_document import EXAMPLES
from advisor.tests.api_examples import CALLS, answers, example_of, make_world
from advisor.tests.test_api_contract import committed

JSON = "application/json"
HOW = (
    "where an operation is new, add a line to advisor/tests/api_examples.py; then, with "
    "ADVISOR_WRITE_EXAMPLES=1, run this test; then write docs/reference/openapi.json "
    "(docs/testing.md)"
)


@pytest.fixture
def document() -> dict[str, Any]:
    return committed()


@pytest.fixture
def closed(document: dict[str, Any]) -> dict[str, Any]:
    """The description's schemas, by which an object has no key that they do not name."""
    return {"schemas": _closed(document["components"]["schemas"])}


def _closed(part: Any) -> Any:
    if isinstance(part, list):
        return [_closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    found = {name: _closed(one) for name, one in part.items()}
    if isinstance(part.get("properties"), dict) and part.get("type") == "object":
        found.setdefault("additionalProperties", False)
    return found


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for methods in document["paths"].values():
        for operation in methods.values():
            yield operation["operationId"], operation


def answer_of(operation: dict[str, Any]) -> dict[str, Any]:
    """The contents of its successful answer, by type."""
    [*found] = [one for status, one in operation["responses"].items() if status.startswith("2")]
    return dict(found[0].get("content", {}))


def test_every_request_and_answer_has_an_example_that_fits(
    document: dict[str, Any], closed: dict[str, Any]
) -> None:
    missing, seen = [], 0
    for name, operation in operations(document):
        request = operation.get("requestBody", {}).get("content", {})
        for kind, contents in (("request", request), ("answer", answer_of(operation))):
            examples = [one["example"] for one in contents.values() if "example" in one]
            if contents and not examples and operation["tags"] != ["actions"]:
                missing.append(f"{kind} of {name}")
            for example in examples:
                seen += 1
                schema = next(one["schema"] for one in contents.values() if "example" in one)
                validate(example, schema, closed, f"{kind} of {name}")
    assert missing == [], HOW
    assert seen > 50


def validate(value: Any, schema: dict[str, Any], closed: dict[str, Any], where: str) -> None:
    try:
        jsonschema.validate(
            value, {**schema, "components": closed}, jsonschema.Draft202012Validator
        )
    except jsonschema.ValidationError as error:
        pytest.fail(f"{where}: {list(error.path)}: {error.message[:300]}; {HOW}")


@pytest.mark.long
@pytest.mark.django_db
def test_what_the_examples_ask_is_taken_and_answered_as_described(
    document: dict[str, Any],
    closed: dict[str, Any],
    admin_user: User,
    client: Client,
    settings: Settings,
) -> None:
    client.force_login(admin_user)
    described = dict(operations(document))
    # Actions are tested where they are defined; some have an example.
    others = {name for name, one in described.items() if one.get("tags") != ["actions"]}
    assert others <= {call.operation for call in CALLS} <= set(described)
    found = {}
    for answered in answers(client, make_world(admin_user, settings), document):
        name = answered.call.operation
        assert 200 <= answered.status < 300, (name, answered.content)
        contents = answer_of(described[name])
        if JSON in contents and not isinstance(answered.content, str):
            validate(answered.content, contents[JSON]["schema"], closed, name)
        found[name] = example_of(answered)
    if os.environ.get("ADVISOR_WRITE_EXAMPLES"):
        EXAMPLES.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    committed = json.loads(EXAMPLES.read_text())
    for name, example in found.items():
        assert committed[name].get("request") == example.get("request"), name
        shown, real = committed[name].get("response"), example.get("response")
        if isinstance(real, dict):
            assert set(shown) == set(real), name
