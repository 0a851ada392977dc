"""Schemathesis asks the API whatever its OpenAPI document allows and much that it does not.

Few examples by default. More, and other ones: ADVISOR_API_EXAMPLES=200 ADVISOR_API_SEED=7
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import closing
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from django.core.cache import cache
from django.core.wsgi import get_wsgi_application
from pytest_django import Settings

from advisor.access.roles import Role
from advisor.access.tokens import create_token
from advisor.tests import factories
from advisor.tests.test_api_contract import committed
from benchmarks.models import JobState, Probe

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

pytestmark = [pytest.mark.django_db, pytest.mark.long]

EXAMPLES = int(os.environ.get("ADVISOR_API_EXAMPLES", "3"))
FEW = max(1, EXAMPLES // 3)
SEED = int(os.environ.get("ADVISOR_API_SEED", "1"))
JSON = "application/json"
# A valid request may name a host, a server or a device that is not there: 400, not 404, because
# the address is right.
MAY_ANSWER = ["204", "304", "400", "401", "403", "404", "409"]
MAY_REFUSE = ["405", "406", "415"]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """One row of each kind, mostly with the id 1, and nobody who would measure anything."""
    monkeypatch.setattr("ninja.throttling.UserRateThrottle.allow_request", lambda *_: True)
    settings.ALLOWED_HOSTS = ["*"]
    study = factories.measured_study(blocks=1)
    device = study.devices.get()
    factories.probed(device)
    Probe.objects.create(device=device, seconds=50, state=JobState.QUEUED)


@lru_cache
def api() -> Any:
    """The document as the API serves it, read once: so is worked out once what may be asked."""
    import schemathesis  # in one process: each imports all tests

    checks = {
        "positive_data_acceptance": {"expected-statuses": ["2xx", *MAY_ANSWER]},
        "negative_data_rejection": {"expected-statuses": [*MAY_ANSWER, *MAY_REFUSE]},
    }
    found = schemathesis.openapi.from_dict(
        committed(), config=schemathesis.Config.from_dict({"checks": checks})
    )
    found.app = read_and_closed(get_wsgi_application())

    @found.hook
    def map_path_parameters(context: Any, parameters: dict[str, Any] | None) -> Any:
        """Most requests are about rows that are there."""
        if parameters and isinstance(number := parameters.get("pk"), int) and number % 7:
            parameters["pk"] = 1
        return parameters

    return found


def read_and_closed(application: WSGIApplication) -> WSGIApplication:
    """As a web server does, and Schemathesis does not: it would leave downloads open."""

    def answer(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        with closing(application(environ, start)) as parts:  # type: ignore[type-var]
            return [*parts]

    return answer


@lru_cache
def cases() -> dict[str, list[list[Any]]]:
    """By operation so many "positive" requests, which the document allows, and "negative" ones. To
    draw them takes as long as to have them answered: all roles send the same.
    """
    from schemathesis.generation import GenerationMode

    found: dict[str, list[list[Any]]] = {mode.value: [] for mode in GenerationMode}
    for result in api().get_all_operations():
        operation = result.ok()
        for mode in GenerationMode:
            if not mode.is_negative or can_be_wrong(operation.definition.raw):
                found[mode.value].append(drawn(operation.as_strategy(generation_mode=mode)))
    return found


def drawn(strategy: Any) -> list[Any]:
    seen: list[Any] = []

    @hypothesis.seed(SEED)
    @hypothesis.settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=strategy)
    def note(case: Any) -> None:
        seen.append(case)

    note()
    return seen


def statuses(token: str, examples: int) -> dict[str, set[int]]:
    """Send so many of each operation's requests of both kinds, and return the statuses. All is as
    documented.

    The token is given with each request, not in the configuration: from there Schemathesis would
    add it to those that it sends without one, or with a wrong one, to see them refused.
    """
    headers = {"Authorization": f"Bearer {token}"} if token else None
    return {
        mode: {status_of(case, headers) for some in of_mode for case in some[:examples]}
        for mode, of_mode in cases().items()
    }


def status_of(case: Any, headers: dict[str, str] | None) -> int:
    cache.clear()
    answer = case.call(headers=headers)
    case.validate_response(answer, headers=headers)
    return int(answer.status_code)


def can_be_wrong(operation: dict[str, Any]) -> bool:
    """Whether it has a parameter or a body of which the document says what it may be."""
    return "parameters" in operation or JSON in operation.get("requestBody", {}).get("content", {})


@pytest.mark.parametrize("role", Role)
def test_each_role_gets_what_is_documented_and_never_a_bug(world: None, role: Role) -> None:
    user = factories.make_user(role, role)
    # Only an administrator gets everywhere.
    examples = EXAMPLES if role == Role.ADMINISTRATOR else FEW
    seen = statuses(create_token(user, "all", role), examples)
    right, wrong = seen["positive"], seen["negative"]
    assert {200, 404} <= right
    assert 400 in wrong
    assert (403 in right) == (role != Role.ADMINISTRATOR)
    assert max(right | wrong) < 500


def test_nobody_gets_anything(world: None) -> None:
    # 404 is for a number that no row can have.
    for seen in statuses("", FEW).values():
        assert seen <= {401, 404}
