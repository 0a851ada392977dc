"""The contract of the plain cores covers every core module, and the map every room."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
PYPROJECT = REPOSITORY / "pyproject.toml"
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


def contracts() -> list[dict[str, Any]]:
    return list(tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]["contracts"])


def cores_in_contract() -> set[str]:
    [cores] = [c["source_modules"] for c in contracts() if c["id"] == "plain-cores"]
    return set(cores)


def test_no_core_module_is_missing_from_the_contract() -> None:
    found = {
        f"{package}.{entry.stem}"
        for package in ("benchmarks", "tuning")
        for entry in (REPOSITORY / package).iterdir()
        if (entry.suffix == ".py" and entry.stem != "__init__")
        or (entry / "__init__.py").is_file()
    }
    cores = {name for name in found if name.partition(".")[2] not in DJANGO_PARTS}
    assert cores == cores_in_contract()


def test_the_map_has_every_room_and_only_files_that_there_are() -> None:
    text = (REPOSITORY / "docs" / "architecture.md").read_text()
    rooms = [
        room.parent
        for package in ("advisor", "tuning", "benchmarks")
        for room in (REPOSITORY / package).glob("*/__init__.py")
        if room.parent.name not in ("migrations", "tests")
    ]
    assert [room for room in rooms if f"`{room.name}/`" not in text] == []
    named = re.findall(r"`((?:advisor|tuning|benchmarks)/[\w/.]+)`", text)
    assert named
    assert [path for path in named if not (REPOSITORY / path).exists()] == []
