"""Every address by every method, asked by everybody: what the rules say is what happens."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import URLPattern, reverse
from django.utils import timezone
from ninja import NinjaAPI
from ninja.errors import HttpError
from pytest_django import Settings

from advisor.access import rules
from advisor.access.models import ApiToken
from advisor.access.roles import Role, role_of, set_role
from advisor.access.tokens import create_token
from advisor.tests import factories
from advisor.tests.access_table import (
    CALLERS,
    METHODS,
    NO,
    OWN,
    PAGE,
    YES,
    Address,
    addresses,
    expected,
    table,
    written_table,
)
from benchmarks.models import JobState, Probe
from tuning.models import ServerProfile, Study, StudyGroup

pytestmark = pytest.mark.django_db

REACHED = 299


class Stop:
    """A middleware: what may pass to a page is answered with REACHED instead of by the view."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: Any, view: Any, args: Any, arguments: Any) -> Any:
        if rules.is_api_operation(request.resolver_match.view_name):
            return None
        return HttpResponse(status=REACHED)


@pytest.fixture
def only_the_gate(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """What may pass is answered with REACHED: neither pages nor the API do anything."""

    def ninja(*_: Any) -> None:
        """Ninja calls this after the checks and before it reads the body."""
        raise HttpError(REACHED, "reached")

    monkeypatch.setattr(NinjaAPI, "create_temporal_response", ninja)
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, f"{__name__}.Stop"]


class World:
    """A study, a probe and a group of the operator, and the same of somebody else."""

    def __init__(self) -> None:
        self.users = {role.value: factories.make_user(role.value, role) for role in Role}
        somebody = factories.make_user("somebody", Role.OPERATOR)
        operator = self.users["operator"]
        device = factories.make_device()
        self.keys: dict[str, dict[str, int]] = {}
        for whose, user in (("own", operator), ("other", somebody)):
            study = factories.make_study(blocks=1, names=factories.NAMES[:2], created_by=user)
            facts = {"seconds": 50, "state": JobState.OK}
            probe = Probe.objects.create(device=device, created_by=user, **facts)
            group = StudyGroup.objects.create(name=whose, created_by=user)
            profile = ServerProfile.objects.create(name=whose, profile={}, created_by=user)
            self.keys[whose] = {
                "studies": study.pk,
                "gates": study.pk,
                "probes": probe.pk,
                "groups": group.pk,
                "profiles": profile.pk,
            }

    def path(self, address: Address, whose: str) -> str:
        route = address.route.removesuffix("...")
        route = route.replace("<int:probe>", f"{self.keys[whose]['probes']}")
        for before, pk in self.keys[whose].items():
            route = route.replace(f"{before}/<int:pk>", f"{before}/{pk}")
        # The views are not called: the others need not be there.
        route = re.sub(r"<(id|int):\w+>", "1", route)
        route = re.sub(r"<hash:\w+>", "0" * 64, route)
        route = route.replace("<slug:part>", "runs")
        return "/" + route.replace("^(?P<rest>.*)$", "elsewhere")


def met(client: Client, address: Address, path: str, method: str) -> str:
    """The word of the table for what the client gets there."""
    answer = client.generic(method, path, "{}", content_type="application/json")
    # The figures for Prometheus are a plain view, which only reads.
    if answer.status_code == REACHED or (address.name == "metrics" and answer.status_code == 200):
        return YES
    logins = (reverse("login"), reverse("admin-login"))
    if answer.status_code in (302, 307) and answer["Location"].startswith(logins):
        return "log in"
    if answer.status_code == 403:
        text = answer.content.decode()
        assert "needs the role" in text or "started by somebody else" in text, path
    return str(answer.status_code)


@pytest.mark.long
def test_every_address_and_method_is_for_whom_the_rules_say(only_the_gate: None) -> None:
    world = World()
    clients = {"nobody": Client()}
    for name, user in world.users.items():
        clients[name] = Client()
        clients[name].force_login(user)
    token = create_token(world.users["administrator"], "old", Role.ADMINISTRATOR)
    ApiToken.objects.update(expires_at=timezone.now())
    clients["expired token"] = Client(headers={"Authorization": f"Bearer {token}"})
    assert set(clients) == set(CALLERS)
    for address in addresses():
        known = rules.rules_of(address.name)
        assert known, f"{address} has no entry in advisor/access/rules.py"
        path = world.path(address, "other")
        for method in set(METHODS) - set(known):
            assert met(clients["administrator"], address, path, method) == "405", path
        for method in known:
            for name, client in clients.items():
                other = met(client, address, path, method)
                where = (address.route, method, name)
                word = expected(address, method)[name]
                assert other == (NO if word == OWN else word), where
                if word == OWN:
                    own = met(client, address, world.path(address, "own"), method)
                    assert own == YES, where


def test_all_of_djangos_own_pages_are_for_administrators(client: Client) -> None:
    routes = [
        f"/admin/{prefix}{pattern.pattern}"
        for prefix, patterns in (
            ("", admin.site.get_urls()),
            ("auth/user/", admin.site.get_model_admin(User).get_urls()),
        )
        for pattern in patterns
        if isinstance(pattern, URLPattern) and "login" not in str(pattern.pattern)
    ]
    paths = [re.sub(r"<.*?>", "1", route) for route in routes if "(" not in route]
    assert len(paths) > 8
    client.force_login(factories.make_user("eve", Role.OPERATOR))
    for path in paths:
        assert client.get(path).status_code == 403, path
        assert Client().get(path).status_code == 302, path


def test_the_documents_table_is_what_the_rules_say() -> None:
    _, written, _ = written_table(PAGE.read_text())
    assert written == table(), "run: .venv/bin/python -m advisor.tests.access_table"


def test_no_rule_is_left_of_an_address_that_is_gone() -> None:
    assert set(rules.RULES) <= {address.name for address in addresses()}


def test_an_address_without_a_rule_is_refused_to_everybody(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(rules.RULES, "study-list")
    monkeypatch.delitem(rules.RULES, "api:study-list")
    assert admin_client.get("/studies/").status_code == 405
    assert admin_client.get("/api/v1/studies/").status_code == 405


# --- roles ---------------------------------------------------------------------------------------


def test_the_role_is_the_highest_group_and_without_one_it_reads() -> None:
    user = User.objects.create_user("new")
    assert role_of(user) == Role.VIEWER
    set_role(user, Role.OPERATOR)
    assert role_of(user) == Role.OPERATOR
    user.groups.add(Group.objects.get(name="viewer"))
    assert role_of(User.objects.get(pk=user.pk)) == Role.OPERATOR
    user.is_superuser = True
    assert role_of(user) == Role.ADMINISTRATOR
    set_role(user, Role.VIEWER)
    assert role_of(User.objects.get(pk=user.pk)) == Role.VIEWER
    user.is_active = False
    assert role_of(user) is None


@pytest.mark.long
def test_own_studies_can_be_cancelled_and_links_to_new_ones_are_for_who_may() -> None:
    """The buttons of all actions, on rows of somebody else: test_actions.py."""
    own = factories.make_study(blocks=1, created_by=factories.make_user("otto", Role.OPERATOR))
    cancel = reverse("study-cancel", args=[own.pk])
    shown = {}
    for role in Role:
        client = Client()
        name = "otto" if role == Role.OPERATOR else role.value
        client.force_login(
            User.objects.filter(username=name).first() or factories.make_user(name, role)
        )
        shown[role] = (
            cancel in client.get(reverse("study-detail", args=[own.pk])).content.decode(),
            reverse("study-new") in client.get("/").content.decode(),
            'name="log_dir"' in client.get(reverse("device-list")).content.decode(),
        )
    assert shown == {
        Role.VIEWER: (False, False, False),
        Role.OPERATOR: (True, True, False),
        Role.ADMINISTRATOR: (True, True, True),
    }


def test_a_refusal_says_why(client: Client) -> None:
    client.force_login(factories.make_user("eve", Role.VIEWER))
    study = factories.make_study(blocks=1)
    answer = client.post(reverse("study-cancel", args=[study.pk]))
    assert answer.status_code == 403
    assert "needs the role operator; the role of your account is viewer" in answer.content.decode()
    answer = client.post(f"/api/v1/studies/{study.pk}/actions/cancel/")
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "permission_denied"
    assert "the role operator" in answer.json()["error"]["message"]
    assert not Study.objects.filter(stop_request="cancel").exists()


def test_no_form_is_read_before_the_caller_is_known(client: Client) -> None:
    """A body that may not be read: whoever asks for it fails the request."""

    class Untouchable:
        def read(self, *_: Any) -> bytes:
            raise AssertionError("the body was read")

        readline = read

    viewer = Client(enforce_csrf_checks=True)
    viewer.force_login(factories.make_user("eve", Role.VIEWER))
    for visitor in (client, viewer):
        visitor.cookies["csrftoken"] = "t" * 32
    study = factories.make_study(blocks=1)
    untouched: dict[str, Any] = {
        "CONTENT_TYPE": "multipart/form-data; boundary=x",
        "CONTENT_LENGTH": "5000000",
        "wsgi.input": Untouchable(),
    }
    paths = ["/studies/new/", f"/studies/{study.pk}/actions/cancel/", "/api/v1/studies/"]
    for path in paths:
        for asking, status in ((client, (302, 401)), (viewer, (403,))):
            answer = asking.generic(
                "POST",
                path,
                **untouched,
            )
            assert answer.status_code in status, (path, answer.status_code)
