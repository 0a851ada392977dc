"""The import contracts in pyproject.toml hold, cover every core module and catch breaches."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PYPROJECT = REPOSITORY / "pyproject.toml"
# What may use Django in the two lower packages; everything else there is core.
DJANGO_PARTS = {
    "apps",
    "comparison",
    "inventory",
    "jobs",
    "migrations",
    "models",
    "results",
    "studies",
    "tasks",
    "tests",
}


def lint_imports(directory: Path) -> subprocess.CompletedProcess[str]:
    """Run the contracts of this repository on the packages that lie in `directory`."""
    program = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [program, "--no-logo", "--no-cache", "--config", PYPROJECT],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def contracts() -> list[dict[str, Any]]:
    return list(tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]["contracts"])


def cores_in_contract() -> set[str]:
    [cores] = [c["source_modules"] for c in contracts() if c["id"] == "plain-cores"]
    return set(cores)


def layers_in_contracts() -> set[str]:
    """Modules that must be there, or the contracts that arrange them are broken."""
    return {
        f"{container}.{name.strip()}"
        for contract in contracts()
        for container in contract.get("containers", [])
        for layer in contract["layers"]
        for name in layer.split("|")
    }


def test_nobody_imports_upwards_and_cores_are_plain() -> None:
    finished = lint_imports(REPOSITORY)
    assert finished.returncode == 0, finished.stdout + finished.stderr


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


@pytest.fixture
def made_up_house(tmp_path: Path) -> Path:
    """The three packages with an empty file for every module that the contracts name."""
    names = cores_in_contract() | layers_in_contracts() | {"advisor.pages", "benchmarks.models"}
    packages = {name.rpartition(".")[0] for name in names}
    for name in names | packages:
        path = tmp_path / name.replace(".", "/")
        module = path / "__init__.py" if name in packages else path.with_suffix(".py")
        module.parent.mkdir(parents=True, exist_ok=True)
        module.touch()
    (tmp_path / "tuning").mkdir(exist_ok=True)
    (tmp_path / "tuning" / "__init__.py").touch()
    return tmp_path


def test_a_house_without_imports_passes(made_up_house: Path) -> None:
    finished = lint_imports(made_up_house)
    assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("benchmarks/models.py", "import tuning"),
        ("benchmarks/errors.py", "import advisor.pages"),
        ("tuning/__init__.py", "from advisor import pages"),
        ("benchmarks/errors.py", "from django.db import models"),
        ("benchmarks/errors.py", "import celery"),
        ("benchmarks/errors.py", "def late() -> None:\n    import django"),
        ("benchmarks/outcomes.py", "from benchmarks import models"),  # which imports Django
        ("tuning/statistics.py", "import tuning.strategy"),
    ],
)
def test_a_breach_is_caught(made_up_house: Path, module: str, line: str) -> None:
    (made_up_house / "benchmarks" / "models.py").write_text("from django.db import models\n")
    with (made_up_house / module).open("a") as file:
        file.write(f"{line}\n")
    finished = lint_imports(made_up_house)
    assert finished.returncode == 1, finished.stdout + finished.stderr
    assert "BROKEN" in finished.stdout
