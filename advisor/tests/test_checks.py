"""What is checked before a commit, by `make test` and by continuous integration is the same."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

ROOT = Path(__file__).resolve().parents[2]
HOOKS = ROOT / ".pre-commit-config.yaml"


def planned(goal: str) -> list[str]:
    """The commands that make would run for the goal, whichever of them at the same time."""
    finished = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", goal],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    return [line for line in finished.stdout.splitlines() if not line.startswith("make ")]


def test_the_hook_runs_make_check_whatever_was_changed() -> None:
    [repository] = yaml.safe_load(HOOKS.read_text())["repos"]
    assert repository["repo"] == "local", "a hook must fetch nothing"
    [hook] = repository["hooks"]
    assert hook["entry"] == "make check"
    assert (hook["language"], hook["always_run"], hook["pass_filenames"]) == (
        "system",
        True,
        False,
    )


def test_pre_commit_takes_the_file() -> None:
    program = Path(sys.executable).with_name("pre-commit")
    subprocess.run([program, "validate-config", HOOKS], cwd=ROOT, check=True, timeout=60)


def test_make_test_and_so_continuous_integration_runs_the_same_checks() -> None:
    checks = planned("check")
    assert any("ruff check" in line for line in checks)
    # The processes of the tests collect what they run.
    assert {line for line in checks if "--collect-only" not in line} <= set(planned("test"))
    assert (ROOT / ".ci" / "run").read_text().endswith("\nexec make test\n")


def test_make_test_leaves_no_test_out() -> None:
    [words] = [shlex.split(line) for line in planned("pytest") if "/pytest " in line]
    assert not {"-m", "-k", "--deselect", "--ignore"} & set(words)
    assert not [word for word in words[1:] if word.endswith((".py", "tests"))]


def test_tests_keep_out_of_the_home_of_the_checkout() -> None:
    places = [settings.HOME, settings.RUN_DIR, settings.LOG_DIR, settings.INSTANCE_REGISTRY]
    assert not any(place.is_relative_to(ROOT) for place in [*places, settings.DEFAULT_DEVICE])


@pytest.mark.django_db
def test_tests_work_on_the_tables_of_the_migrations(request: pytest.FixtureRequest) -> None:
    applied = {name for app, name in MigrationRecorder(connection).applied_migrations()}
    written = {path.stem for path in ROOT.glob("*/migrations/0*.py")}
    assert written
    assert written <= applied or request.config.getoption("nomigrations")


def make_pytest(programs: Path, *, ruff: int = 0, first: int = 0) -> tuple[bool, int]:
    """Whether it ended well and how often it started pytest, with stand-ins for what it starts:
    these statuses have ruff and the first pytest.
    """
    runs = programs / "runs"
    runs.touch()
    scripts = dict.fromkeys(("lint-imports", "shellcheck", "check-jsonschema", "python"), "exit 0")
    scripts["ruff"] = f"exit {ruff}"
    scripts["pytest"] = (
        f'echo "$@" >>{runs}\ncase "$*" in *--last-failed*) exit 0;; *) exit {first};; esac'
    )
    for name, script in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    finished = subprocess.run(
        ["make", "--silent", f"PYTHON_BIN={programs}", "pytest"],
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=20,
    )
    return finished.returncode == 0, len(runs.read_text().splitlines())


@pytest.mark.parametrize(("first", "runs", "passes"), [(0, 1, True), (1, 2, True), (3, 1, False)])
def test_only_failures_are_tried_again(
    tmp_path: Path, first: int, runs: int, passes: bool
) -> None:
    """When pytest breaks down, most tests have not run and failed ones are not all there is."""
    assert make_pytest(tmp_path, first=first) == (passes, runs)


def test_no_test_is_run_where_lint_finds_something(tmp_path: Path) -> None:
    assert make_pytest(tmp_path, ruff=1) == (False, 0)
