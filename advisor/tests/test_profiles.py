"""Profiles on the page, in the API and on the command line."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from advisor.management.commands.attach import read_login
from tuning.errors import InvalidRequest
from tuning.models import ServerProfile
from tuning.server_profile.tests.made_up import output

pytestmark = pytest.mark.django_db

ADDRESS = "/profiles/"


def post(client: Client, text: str = "", **fields: Any) -> tuple[int, str]:
    answer = client.post(ADDRESS, {"text": text, **fields}, follow=True)
    return answer.status_code, html.unescape(answer.content.decode())


def test_a_pasted_output_is_stored_and_shown(admin_client: Client) -> None:
    status, page = post(admin_client, output(), memory="16GB", hides_names="on")
    assert status == 200
    assert "every 8.99 s" in page
    assert "What was kept" in page
    for secret in ("hunter2", "db1.example.net", "shop"):
        assert secret not in page
    assert "MySQL 8.4.6" in admin_client.get(ADDRESS).content.decode()


def test_a_file_is_read_like_a_pasted_text(admin_client: Client) -> None:
    file = SimpleUploadedFile("profile.txt", output().encode())
    assert post(admin_client, file=file)[0] == 200
    assert ServerProfile.objects.get().name == "MySQL 8.4.6"


@pytest.mark.parametrize(
    ("text", "fields", "word"),
    [
        ("", {}, "Paste the output"),
        (output()[:900], {}, "not complete"),
        ("x" * 2_000_000, {}, "larger than 1024 KiB"),
        (output(), {"memory": "1GB"}, "less than the server's buffer pool"),
        (output() + "\0", {}, "Null characters"),
    ],
)
def test_a_refused_output_is_explained_and_not_stored(
    admin_client: Client, text: str, fields: dict[str, str], word: str
) -> None:
    status, page = post(admin_client, text, **fields)
    assert status == 400
    assert word in page
    assert len(page) < 200_000
    assert not ServerProfile.objects.exists()


def test_the_api_takes_and_lists_profiles(admin_client: Client) -> None:
    body = {"text": output(), "memory": "16GB", "name": "shop"}
    made = admin_client.post("/api/v1/profiles/", body, content_type="application/json")
    assert made.status_code == 201
    figures = {one["name"]: one for one in made.json()["figures"]}
    assert figures["redo_per_hour"]["value"] == 42 * 10**9
    assert figures["lock_waits"]["value"] is None
    assert figures["tmp_disk"]["is_tested"] is False
    listed = admin_client.get("/api/v1/profiles/").json()["results"]
    assert [(one["name"], one["server"]) for one in listed] == [("shop", "MySQL 8.4.6")]
    refused = admin_client.post(
        "/api/v1/profiles/", {"text": "half"}, content_type="application/json"
    )
    assert (refused.status_code, refused.json()["error"]["field"]) == (400, "text")


def test_the_command_reads_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "profile.txt"
    file.write_text(output())
    call_command("attach", "--read", str(file), "--name", "shop")
    stored = ServerProfile.objects.get()
    assert f"Profile {stored.pk}, shop: MySQL 8.4.6" in capsys.readouterr().out
    file.write_text(output()[:500])
    with pytest.raises(SystemExit) as ended:
        call_command("attach", "--read", str(file))
    assert ended.value.code == 2
    assert "--read: is not complete" in capsys.readouterr().err
    assert ServerProfile.objects.count() == 1


def test_two_profiles_are_compared_on_every_surface(
    admin_client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    later = output({"innodb_redo_log_capacity": "4294967296"}, began=1_790_086_400)
    for text in (output(), later):
        post(admin_client, text)
    first, second = ServerProfile.objects.order_by("pk").values_list("pk", flat=True)
    address = f"{ADDRESS}compare/?before={first}&after={second}"
    page = html.unescape(admin_client.get(address).content.decode())
    assert "100M → 4G" in page
    assert "no difference here shows what caused it" in page
    found = admin_client.get(
        "/api/v1/profile-comparison/", {"before": first, "after": second}
    ).json()
    assert found["settings"] == {"innodb_redo_log_capacity": ["104857600", "4294967296"]}
    call_command("attach", "--compare", str(first), str(second))
    assert "innodb_redo_log_capacity: 100M -> 4G" in capsys.readouterr().out
    swapped = admin_client.get(f"{ADDRESS}compare/?before={second}&after={first}")
    assert swapped.status_code == 400
    assert "exchange them" in swapped.content.decode()
    assert admin_client.get(f"{ADDRESS}compare/?before=999&after={first}").status_code == 400
    assert admin_client.get(f"{ADDRESS}compare/?before=x").status_code == 200


@pytest.mark.parametrize("host", ["db1?x", "db1/../x", "user@db1"])
def test_the_command_refuses_what_is_no_host(
    host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("attach", "--host", host, "--user", "reader", "--password-stdin")
    assert ended.value.code == 2
    assert "--host: must be a host name" in capsys.readouterr().err


def test_a_login_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text("[client]\nuser = reader\npassword = 'made-up'\n")
    file.chmod(0o640)
    with pytest.raises(InvalidRequest, match="0600"):
        read_login(file)
    file.chmod(0o600)
    assert read_login(file) == {"user": "reader", "password": "made-up"}
    file.write_bytes(b"\xff\xfe[client")
    with pytest.raises(InvalidRequest, match="not an option file"):
        read_login(file)
