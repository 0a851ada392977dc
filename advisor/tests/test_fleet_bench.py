"""What the bench of a fleet begins with."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from advisor.access.roles import Role
from advisor.tests import factories
from advisor.tests.fleet_bench import seed
from benchmarks.models import Host
from tuning.models import Study

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("has_account", [False, True])
def test_a_seed_makes_hosts_studies_and_a_visitor(
    client: Client, capsys: pytest.CaptureFixture[str], has_account: bool
) -> None:
    if has_account:
        factories.make_user("admin", Role.VIEWER)
    seed.main(2, 1, 3, 0)
    assert (Host.objects.count(), Study.objects.count()) == (2, 2)
    assert User.objects.get().username == "admin"
    client.cookies["sessionid"] = json.loads(capsys.readouterr().out)["session"]
    assert "Log out" in client.get("/").content.decode()
