from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from advisor.tests.harness import Home
from benchmarks.servers.binary import ServerBinary


@pytest.fixture(autouse=True)
def fast_passwords(settings: Settings) -> None:
    """The slow hash that protects real passwords would be a third of the pages' test time."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(scope="session")
def shared_device() -> Iterator[Path]:
    """A device whose datasets all tests of the session share."""
    with tempfile.TemporaryDirectory(prefix="adv-device-") as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path


@pytest.fixture
def home(shared_device: Path, mysql_binary: ServerBinary) -> Iterator[Home]:
    """A fresh home; afterwards nothing of it may run."""
    with tempfile.TemporaryDirectory(prefix="adv-home-") as folder:
        place = Home(Path(folder), shared_device, mysql_binary)
        yield place
        for process in place.processes():
            process.kill()
