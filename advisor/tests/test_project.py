"""The project itself: its floors, its one version, and what its tests leave alone."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from packaging.version import Version

from advisor.version import version

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# What may use Django in the two lower packages; everything else there is core.
DJANGO_PARTS = {
    "actions",
    "apps",
    "comparison",
    "creation",
    "gate_facts",
    "hosts",
    "inventory",
    "jobs",
    "migrations",
    "models",
    "recommendations",
    "results",
    "stored_documents",
    "studies",
    "tasks",
    "tests",
}


def test_no_core_module_is_missing_from_the_contract() -> None:
    found = {
        f"{package}.{entry.stem}"
        for package in ("benchmarks", "tuning")
        for entry in (ROOT / package).iterdir()
        if (entry.suffix == ".py" and entry.stem != "__init__")
        or (entry / "__init__.py").is_file()
    }
    cores = {name for name in found if name.partition(".")[2] not in DJANGO_PARTS}
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    [contract] = [one for one in contracts if one["id"] == "plain-cores"]
    assert cores == set(contract["source_modules"])


def test_the_map_has_every_room_and_only_files_that_there_are() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rooms = [
        room.parent
        for package in ("advisor", "tuning", "benchmarks")
        for room in (ROOT / package).glob("*/__init__.py")
        if room.parent.name not in ("migrations", "tests")
    ]
    assert [room for room in rooms if f"`{room.name}/`" not in text] == []
    named = re.findall(r"`((?:advisor|tuning|benchmarks)/[\w/.]+)`", text)
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_tests_keep_out_of_the_home_of_the_checkout() -> None:
    places = [settings.HOME, settings.RUN_DIR, settings.LOG_DIR]
    assert not any(place.is_relative_to(ROOT) for place in [*places, settings.DEFAULT_DEVICE])


def test_make_test_leaves_no_test_out() -> None:
    [recipe] = re.findall(r"^pytest:\n((?:\t.+\n)+)", (ROOT / "Makefile").read_text(), re.M)
    assert re.findall(r"-m (.+)$", recipe, re.M) == ['"not alone"', "alone"]


def test_the_version_is_that_of_the_project() -> None:
    assert version() == PROJECT["project"]["version"]
    assert Version(version()).release >= (0, 6, 0)


def test_the_changelog_has_this_version_with_its_date() -> None:
    released = rf"^## \[{re.escape(version())}\] - \d{{4}}-\d\d-\d\d$"
    assert re.search(released, (ROOT / "CHANGELOG.md").read_text(), re.M)


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
