"""The lock files hold every direct dependency, by hash, and nothing of the machine that locked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).resolve().parents[2]


def wanted(name: str) -> list[Requirement]:
    lines = (line.partition(" #")[0] for line in (REPOSITORY / name).read_text().splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]


def locked(name: str) -> list[Requirement]:
    """Every pin; a package has several when the platform decides."""
    text = (REPOSITORY / name).read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if re.match(r"\w", line)]
    for line in lines:
        assert "--hash=sha256:" in line, f"{line} is not locked by hash"
    return [Requirement(line.partition("--hash")[0]) for line in lines]


@pytest.mark.parametrize("name", ["requirements", "requirements-dev", "scripts/uv"])
def test_every_direct_dependency_is_locked_at_a_version_that_it_allows(name: str) -> None:
    pins = {canonicalize_name(pin.name): pin for pin in locked(f"{name}.txt")}
    for requirement in wanted(f"{name}.in"):
        pin = pins.get(canonicalize_name(requirement.name))
        assert pin is not None, f"{requirement.name} is not locked: run `make lock`"
        [version] = [specifier.version for specifier in pin.specifier]
        assert requirement.specifier.contains(version), f"run `make lock`: {requirement}"


@pytest.mark.parametrize("name", ["requirements", "requirements-dev", "scripts/uv"])
def test_every_direct_dependency_says_why_it_is_there(name: str) -> None:
    for line in (REPOSITORY / f"{name}.in").read_text().splitlines():
        assert not re.match(r"\w", line) or " # " in line, line


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt", "scripts/uv.txt"])
def test_the_lock_names_no_index_and_no_path(name: str) -> None:
    text = (REPOSITORY / name).read_text()
    for trace in ("://", "--index-url", "--find-links", "@ file", "/home", "/root", "/tmp"):
        assert trace not in text
    assert "make lock" in text


def test_both_locks_agree() -> None:
    run_time = {(p.name, str(p.marker)): str(p.specifier) for p in locked("requirements.txt")}
    for pin in locked("requirements-dev.txt"):
        assert run_time.get((pin.name, str(pin.marker)), str(pin.specifier)) == str(pin.specifier)
