"""The web process starts no program and looks at no device, whatever it is asked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from advisor import urls
from benchmarks.models import Host, Probe
from tuning.models import Study
from tuning.tests.test_planned_elsewhere import FAST, SERVER, SLOW, far, no_look_at_this_machine

# urls: its libraries look at the machine once, when they are imported.
__all__ = ["far", "no_look_at_this_machine", "urls"]
pytestmark = pytest.mark.django_db(transaction=True)

MY_CNF = "[mysqld]\ninnodb_buffer_pool_size = 300G\n"


@pytest.mark.parametrize(
    "name", ["home", "study-list", "study-new", "device-list", "config-check", "host-list"]
)
def test_pages_read_rows(far: Host, admin_client: Client, name: str) -> None:
    assert admin_client.get(reverse(name)).status_code == 200


def test_forms_and_api_plan_for_a_host_whose_files_are_not_here(
    far: Host, admin_client: Client
) -> None:
    def post(where: str, body: dict[str, Any]) -> Any:
        answer = admin_client.post(f"/api/v1/{where}", json.dumps(body), "application/json")
        assert answer.status_code in (200, 201, 202), answer.content
        return answer.json()

    form = {"template": "quick", "driver": "auto", "durability": "D0", "path": str(SLOW)}
    answer = admin_client.post(reverse("study-new"), form | {"server": str(SERVER.path)})
    assert answer.status_code == 302, answer.context["form"].errors
    assert post("studies/", {"template": "quick", "server": str(SERVER.path)})["server"]
    assert post("search-space/", {"template": "search"})
    assert post("configs/check/", {"text": MY_CNF})["is_fine"]
    device = post("devices/", {"path": str(SLOW), "log_dir": str(FAST)})
    post(f"devices/{device['device']['id']}/actions/probe/", {})
    assert {study.host for study in Study.objects.all()} == {far}
    assert Probe.objects.get().device.log_dir == str(FAST)
