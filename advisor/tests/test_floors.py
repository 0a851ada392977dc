"""The import contracts in pyproject.toml hold, cover every core module and catch breaches."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PYPROJECT = REPOSITORY / "pyproject.toml"
# What may use Django in the two lower packages; everything else there is core.
DJANGO_PARTS = {
    "apps",
    "bundles",
    "comparison",
    "inventory",
    "jobs",
    "migrations",
    "models",
    "ready_query",
    "results",
    "studies",
    "tasks",
    "tests",
}


Lint = Callable[[Path], tuple[int, str]]

# Forks for each directory that it is told: to import the linter takes longer than to lint.
LINTER = """
import os, sys
from importlinter.cli import lint_imports_command
for folder in iter(sys.stdin.readline, ""):
    child = os.fork()
    if not child:
        os.chdir(folder.strip())
        said = os.open(sys.argv[1], os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        os.dup2(said, 1)
        os.dup2(said, 2)
        lint_imports_command(sys.argv[2:])
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def lint_imports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lint]:
    """Runs the contracts of this repository on the packages that lie in a directory: the status
    that `lint-imports` ends with, and what it says.
    """
    place = tmp_path_factory.mktemp("linter")
    said = place / "said"
    words = [str(said), "--no-logo", "--no-cache", "--config", str(PYPROJECT)]
    with subprocess.Popen(
        [sys.executable, "-c", LINTER, *words], cwd=place, stdin=-1, stdout=-1, text=True
    ) as linter:
        assert linter.stdin
        assert linter.stdout
        asked, answers = linter.stdin, linter.stdout

        def lint(directory: Path) -> tuple[int, str]:
            asked.write(f"{directory}\n")
            asked.flush()
            return int(answers.readline()), said.read_text()

        yield lint
        asked.close()


def contracts() -> list[dict[str, Any]]:
    return list(tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]["contracts"])


def cores_in_contract() -> set[str]:
    [cores] = [c["source_modules"] for c in contracts() if c["id"] == "plain-cores"]
    return set(cores)


@pytest.mark.long
def test_no_room_imports_upwards_and_cores_are_plain(lint_imports: Lint) -> None:
    status, said = lint_imports(REPOSITORY)
    assert status == 0, said


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


def modules_in_contracts() -> set[str]:
    """Every module that a contract names."""
    found = set()
    for contract in contracts():
        found |= set(contract.get("source_modules", []))
        found |= {
            name
            for name in contract.get("forbidden_modules", [])
            if name.startswith(("advisor.", "benchmarks.", "tuning."))
        }
        prefixes = [f"{container}." for container in contract.get("containers", [])] or [""]
        names = re.findall(r"[\w.]+", " ".join(contract.get("layers", [])))
        found |= {prefix + name for prefix in prefixes for name in names}
    return found


# Modules that no contract names by themselves.
HOLDS_TOO = {
    "benchmarks.models",
    "tuning.results.findings",
    "tuning.studies.hosts",
    "tuning.studies.lifecycle",
    "tuning.studies.preparation",
}


@pytest.fixture(scope="module")
def made_up_house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three packages, with an empty one below them for all that the contracts name."""
    house = tmp_path_factory.mktemp("house")
    for name in modules_in_contracts() | HOLDS_TOO:
        folder = house / name.replace(".", "/")
        folder.mkdir(parents=True, exist_ok=True)
        while folder != house:
            (folder / "__init__.py").touch()
            folder = folder.parent
    return house


def test_a_house_without_imports_passes(lint_imports: Lint, made_up_house: Path) -> None:
    status, said = lint_imports(made_up_house)
    assert status == 0, said


SHOWING = "Pages, API and terminal"
# Module, lines that it must not have, beginning of the name of the contract that says so.
BREACHES = [
    ("benchmarks.models", "import tuning", "Floors"),
    ("benchmarks.errors", "import advisor.pages", "Floors"),
    ("tuning", "from advisor import pages", "Floors"),
    ("benchmarks.errors", "from django.db import models", "The cores"),
    ("benchmarks.errors", "import celery", "The cores"),
    ("benchmarks.errors", "def late() -> None:\n    import django", "The cores"),
    # Which imports Django.
    ("benchmarks.outcomes", "from benchmarks import models", "The cores"),
    ("tuning.statistics", "import tuning.strategy", "A study's rows"),
    ("tuning.search_space", "import tuning.results", "A study's rows"),
    ("tuning.comparison", "import tuning.studies", "A study's rows"),
    ("tuning.studies.hosts", "import subprocess", "Who plans"),
    ("tuning.studies.preparation", "import subprocess", "Who plans"),
    ("tuning.export", "import psutil", "Who plans"),
    ("advisor.webhooks", "import subprocess", "Who plans"),
    ("tuning.studies.lifecycle", "import benchmarks.servers.discovery", "Who plans"),
    ("advisor.pages", "import benchmarks.inventory.here", "Who plans"),
    ("tuning.configs.files", "import tuning.configs.gate", "A config goes"),
    ("advisor.api", "import advisor.pages", SHOWING),
    ("advisor.pages", "from advisor import api", SHOWING),
    ("advisor.terminal", "import advisor.pages", SHOWING),
    ("advisor.terminal", "import advisor.api", SHOWING),
    ("advisor.api", "import advisor.terminal", SHOWING),
    ("advisor.charts", "import advisor.pages", SHOWING),
    ("advisor.wording", "import advisor.charts", SHOWING),
    ("advisor.responses", "import advisor.wording", SHOWING),
    ("advisor.pages", "import advisor.management", SHOWING),
    ("advisor.pages", "import advisor.monitoring", SHOWING),
    ("advisor.webhooks", "import advisor.api", SHOWING),
    ("advisor.access", "import advisor.webhooks", SHOWING),
]


def _broken(said: str) -> dict[str, str]:
    """What is said of each broken contract, by its name, on one line."""
    report = " ".join(said.partition("\nBroken contracts\n")[2].split())
    begins = {name: report.find(name) for name in (contract["name"] for contract in contracts())}
    ends = [*sorted(begins.values()), len(report)]
    return {name: report[at : ends[ends.index(at) + 1]] for name, at in begins.items() if at >= 0}


@pytest.mark.long
def test_each_breach_is_caught(lint_imports: Lint, made_up_house: Path) -> None:
    """All at once; the contract that each breaks names its module and line."""
    house = {"benchmarks.models": ["from django.db import models"]}
    asked = []
    for module, lines, broken in BREACHES:
        written = house.setdefault(module, [])
        written += lines.splitlines()
        asked.append((broken, rf"- {module} -> [\w.]+ \((l\.\d+, )*l\.{len(written)}[,)]"))
    files = {made_up_house / name.replace(".", "/") / "__init__.py": house[name] for name in house}
    for path, written in files.items():
        path.write_text("\n".join([*written, ""]))
    status, said = lint_imports(made_up_house)
    for path in files:
        path.write_text("")  # as the next test is to find it
    assert status == 1, said
    found = _broken(said)
    for broken, line in asked:
        (section,) = [text for name, text in found.items() if name.startswith(broken)]
        assert re.search(line, section), f"{line} not in: {section}"


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "lines"),
    [
        # Each with what the house has already: the other half of the circle.
        ("tuning.catalogue", "import tuning.configs"),
        ("tuning.results", "import tuning.study_templates"),
        ("benchmarks.storage", "import benchmarks.servers"),
        ("tuning.configs.gate", "import tuning.configs.presets"),
    ],
)
def test_a_circle_is_caught(
    lint_imports: Lint, made_up_house: Path, module: str, lines: str
) -> None:
    files = []
    for name, line in [
        ("tuning.configs", "import tuning.catalogue"),
        ("tuning.study_templates", "import tuning.results"),
        ("benchmarks.servers", "import benchmarks.storage"),
        ("tuning.configs.presets", "import tuning.configs.gate"),
        (module, lines),
    ]:
        files.append(made_up_house / name.replace(".", "/") / "__init__.py")
        with files[-1].open("a") as file:
            file.write(f"{line}\n")
    status, said = lint_imports(made_up_house)
    for path in files:
        path.write_text("")  # as the next test is to find it
    assert status == 1, said
    assert re.search("No circles((?! KEPT).)* BROKEN", " ".join(said.split())), said
