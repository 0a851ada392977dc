"""One version, that of pyproject.toml, wherever the program says which it is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from packaging.version import Version

from advisor.version import version

ROOT = Path(__file__).resolve().parents[2]


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert version() == project["version"]
    assert Version(version()).release >= (0, 6, 0)


def test_the_newest_changes_are_of_this_version_or_unreleased() -> None:
    newest = re.search(r"^## \[(\S+)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert newest is not None
    assert newest[1] in (version(), "Unreleased")


@pytest.mark.parametrize(("commit", "said"), [("0123456789ab", " 0123456789ab"), ("", "")])
def test_the_commit_is_shown_where_it_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], commit: str, said: str
) -> None:
    monkeypatch.setattr("advisor.management.commands.version.code_commit", lambda: commit)
    call_command("version")
    assert capsys.readouterr().out == f"{version()}{said}\n"


@pytest.mark.long
@pytest.mark.django_db
def test_pages_and_schema_show_it_after_log_in(admin_client: Client) -> None:
    assert f"advisor {version()}</footer>" in admin_client.get("/").content.decode()
    schema = admin_client.get("/api/v1/openapi.json").json()
    assert schema["info"]["version"] == version()
    assert version() not in Client().get(reverse("login")).content.decode()
