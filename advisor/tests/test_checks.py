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
    assert set(checks) <= set(planned("test"))
    assert (ROOT / ".ci" / "run").read_text().endswith("\nexec make test\n")


def test_make_test_leaves_no_test_out() -> None:
    runs = [line for line in planned("pytest") if "--collect-only" not in line]
    [words] = [shlex.split(line) for line in runs]
    assert not {"-m", "-k", "--deselect", "--ignore"} & set(words)
    assert not [word for word in words[1:] if word.endswith((".py", "tests"))]


def test_tests_keep_out_of_the_home_of_the_checkout() -> None:
    places = [settings.HOME, settings.RUN_DIR, settings.LOG_DIR, settings.INSTANCE_REGISTRY]
    assert not any(place.is_relative_to(ROOT) for place in [*places, settings.DEFAULT_DEVICE])


@pytest.mark.django_db
def test_tests_work_on_the_tables_of_the_migrations(request: pytest.FixtureRequest) -> None:
    applied = {name for app, name in MigrationRecorder(connection).applied_migrations()}
    written = {path.stem for path in ROOT.glob("*/migrations/0*.py")}
    assert len(written) > 20
    assert written <= applied or request.config.getoption("nomigrations")


@pytest.mark.parametrize(("first", "runs", "passes"), [(0, 1, True), (1, 2, True), (3, 1, False)])
def test_only_failures_are_tried_again(
    tmp_path: Path, first: int, runs: int, passes: bool
) -> None:
    """When pytest breaks down, most tests have not run and failed ones are not all there is."""
    program = tmp_path / "pytest"
    program.write_text(
        f'#!/bin/sh\necho "$@" >>{tmp_path}/runs\n'
        f'case "$*" in *--collect-only*|*--last-failed*) exit 0;; *) exit {first};; esac\n'
    )
    program.chmod(0o755)
    finished = subprocess.run(
        ["make", "--silent", f"PYTHON_BIN={tmp_path}", "pytest"],
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=20,
    )
    assert len((tmp_path / "runs").read_text().splitlines()) == 1 + runs  # collected before
    assert (finished.returncode == 0) is passes
