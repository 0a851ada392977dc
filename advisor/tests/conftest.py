from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from advisor.tests.harness import Home
from benchmarks.servers.binary import ServerBinary
from benchmarks.storage.layout import FOLDER


@pytest.fixture(autouse=True)
def quick_requests(settings: Settings) -> None:
    """What would be half of the pages' test time: the slow hash that protects real passwords,
    and the list of all static files that each client would make.
    """
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture(scope="session")
def shared_device(shared_tmp: Path) -> Iterator[Path]:
    """A device of this process; the datasets on it are those of all processes of the test run."""
    datasets = shared_tmp / "studies" / "datasets"
    datasets.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="adv-device-") as folder:
        path = Path(folder)
        path.chmod(0o755)
        (path / FOLDER).mkdir()
        (path / FOLDER / "datasets").symlink_to(datasets)
        yield path


@pytest.fixture
def home(shared_device: Path, mysql_binary: ServerBinary) -> Iterator[Home]:
    """A fresh home; afterwards nothing of it may run."""
    with tempfile.TemporaryDirectory(prefix="adv-home-") as folder:
        place = Home(Path(folder), shared_device, mysql_binary)
        yield place
        for process in place.processes():
            process.kill()
