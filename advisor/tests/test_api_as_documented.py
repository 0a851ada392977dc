"""Schemathesis asks the API whatever its OpenAPI document allows and much that it does not.

Few examples by default. More, and other ones: ADVISOR_API_EXAMPLES=200 ADVISOR_API_SEED=7
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import hypothesis
import pytest
import schemathesis
from django.core.cache import cache
from django.core.wsgi import get_wsgi_application
from pytest_django import Settings
from schemathesis.generation import GenerationMode

from advisor.access.limits import WRONG_TOKENS
from advisor.access.models import Scope
from advisor.access.roles import Role
from advisor.access.tokens import create_token, scope_of
from advisor.tests import factories
from advisor.webhooks.destinations import parse_destinations
from advisor.webhooks.models import Webhook
from benchmarks.models import JobState, Probe

pytestmark = [pytest.mark.django_db, pytest.mark.long]

EXAMPLES = int(os.environ.get("ADVISOR_API_EXAMPLES", "3"))
FEW = max(1, EXAMPLES // 3)
SEED = int(os.environ.get("ADVISOR_API_SEED", "1"))
JSON = "application/json"
DOCUMENT = "/api/v1/schema/?format=json"
# A valid request may name a host, a server or a device that is not there: 400, not 404, because
# the address is right.
MAY_ANSWER = ["2xx", "400", "401", "403", "404", "409"]


@schemathesis.serializer("application/zip")
def as_it_is(context: Any, value: Any) -> bytes:
    """The body of a bundle: whatever it is, nearly always no zip."""
    return value if isinstance(value, bytes) else json.dumps(value).encode()


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """One row of each kind, mostly with the id 1, and nobody who would measure anything."""
    monkeypatch.setattr("celery.Celery.send_task", lambda *args, **kwargs: None)
    rates = {"user": "1000000/second"}
    monkeypatch.setattr("rest_framework.throttling.SimpleRateThrottle.THROTTLE_RATES", rates)
    settings.ALLOWED_HOSTS = ["*"]
    study = factories.measured_study(blocks=1)
    device = study.devices.get()
    factories.probed(device)
    Probe.objects.create(device=device, seconds=50, state=JobState.QUEUED)
    settings.WEBHOOK_HOSTS = parse_destinations(["ci.example.org"])
    hook = Webhook.objects.create(
        url="https://ci.example.org/",
        events=["study.ended"],
        sealed_secret="",
        site="http://testserver/",
        created_by=factories.make_user("somebody", Role.OPERATOR),
    )
    hook.deliveries.create(event="webhook.test", message_id="msg_1")


@lru_cache
def api() -> Any:
    """The document as the API serves it, read once: so is worked out once what may be asked."""
    reader = create_token(factories.make_user("reader", Role.VIEWER), "reader", Scope.READ)
    checks = {"positive_data_acceptance": {"expected-statuses": MAY_ANSWER}}
    found = schemathesis.openapi.from_wsgi(
        DOCUMENT,
        get_wsgi_application(),
        config=schemathesis.Config.from_dict({"checks": checks}),
        headers={"Authorization": f"Token {reader}"},
    )

    @found.hook
    def map_path_parameters(context: Any, parameters: dict[str, Any] | None) -> Any:
        """Most requests are about rows that are there."""
        if parameters and isinstance(number := parameters.get("id"), int) and number % 4:
            parameters["id"] = 1
        return parameters

    return found


def operations(found: Any) -> Iterator[Any]:
    for result in found.get_all_operations():
        yield result.ok()


def statuses(token: str, examples: int) -> dict[GenerationMode, set[int]]:
    """Ask every operation so many times what the document allows, and as often what it does not;
    returns the statuses of both. All is as documented.

    The token is given with each request, not in the configuration: from there Schemathesis would
    add it to those that it sends without one, or with a wrong one, to see them refused.
    """
    seen: dict[GenerationMode, set[int]] = {mode: set() for mode in GenerationMode}
    headers = {"Authorization": f"Token {token}"} if token else None
    for operation in operations(api()):
        for mode in GenerationMode:
            if not mode.is_negative or can_be_wrong(operation.definition.raw):
                cases = operation.as_strategy(generation_mode=mode)
                seen[mode] |= statuses_of(cases, headers, examples)
    return seen


def statuses_of(cases: Any, headers: dict[str, str] | None, examples: int) -> set[int]:
    seen: set[int] = set()

    @hypothesis.seed(SEED)
    @hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=cases)
    def ask(case: Any) -> None:
        WRONG_TOKENS.clear()
        cache.clear()
        answer = case.call(headers=headers)
        seen.add(answer.status_code)
        case.validate_response(answer, headers=headers)

    ask()
    return seen


def can_be_wrong(operation: dict[str, Any]) -> bool:
    """Whether it has a parameter or a body of which the document says what it may be."""
    return "parameters" in operation or JSON in operation.get("requestBody", {}).get("content", {})


@pytest.mark.parametrize("role", Role)
def test_each_role_gets_what_is_documented_and_never_a_bug(world: None, role: Role) -> None:
    user = factories.make_user(role, role)
    # Only an administrator gets everywhere.
    examples = EXAMPLES if role == Role.ADMINISTRATOR else FEW
    seen = statuses(create_token(user, "all", scope_of(role)), examples)
    right, wrong = seen[GenerationMode.POSITIVE], seen[GenerationMode.NEGATIVE]
    assert {200, 404} <= right
    assert 400 in wrong
    assert (403 in right) == (role != Role.ADMINISTRATOR)
    assert max(right | wrong) < 500


def test_nobody_gets_anything(world: None) -> None:
    # 404 is for a number that no row can have.
    for seen in statuses("", FEW).values():
        assert seen <= {401, 404}
