"""Fixtures of all floors. A server that is not installed is an error, never a skip."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

# numpy reads this when it is loaded: threads slow down small matrices.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# The disk of a developer may be nearly full. Tests of the reserve set their own.
os.environ["ADVISOR_DISK_RESERVE"] = "0"

import hypothesis
import pytest
from django.conf import settings

from benchmarks.datasets.golden import initialized_data_dir
from benchmarks.datasets.shared_folders import make_folders
from benchmarks.servers.binary import ServerBinary, identify

pytest_plugins = ["tuning.tests.fakes", "advisor.tests.browsing"]

_INSTALLED = Path(__file__).resolve().parent / "var" / "servers"
_MORE = [path for path in os.environ.get("ADVISOR_TEST_SERVERS", "").split(os.pathsep) if path]
_SHARED = "ADVISOR_TEST_SHARED"
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile("repeatable")


def pytest_configure(config: pytest.Config) -> None:
    """Make the directory that all processes of pytest-xdist share: they inherit its name."""
    if not hasattr(config, "workerinput"):
        path = os.environ[_SHARED] = str(_make_scratch())
        config.add_cleanup(lambda: shutil.rmtree(path, ignore_errors=True))


def _make_scratch() -> Path:
    """Make a directory that mysqld's user can enter. Nobody else can enter pytest's tmp_path."""
    path = Path(tempfile.mkdtemp(prefix="advt-"))
    path.chmod(0o755)
    return path


def _scratch() -> Iterator[Path]:
    path = _make_scratch()
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def shared_tmp() -> Path:
    """A directory of all processes of this run, for files that are made once, under a lock."""
    return Path(os.environ[_SHARED])


@pytest.fixture(scope="session")
def server_session_tmp() -> Iterator[Path]:
    """A directory of this process that the server's user can enter."""
    yield from _scratch()


@pytest.fixture
def server_tmp() -> Iterator[Path]:
    """A directory of this test that the server's user can enter."""
    yield from _scratch()


@pytest.fixture(scope="session", autouse=True)
def own_home(server_session_tmp: Path) -> Iterator[None]:
    """Locks and logs of this process of the run, not those of the checkout."""
    home = server_session_tmp / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "HOME", home)
        patch.setattr(settings, "DEFAULT_DEVICE", home / "device")
        for name in ("RUN", "LOG"):
            patch.setattr(settings, f"{name}_DIR", home / name.lower())
            (home / name.lower()).mkdir(parents=True)

        patch.setattr(settings, "MEASURING_LOCK", home / "run" / "measuring.lock")
        yield


def _installed(name: str, variable: str) -> ServerBinary:
    return _server(Path(os.environ.get(variable) or (_INSTALLED / name).resolve()), variable)


def _server(path: Path, variable: str) -> ServerBinary:
    if not path.exists():
        raise RuntimeError(f"no server at {path}: run `make setup`, or name one in {variable}")
    return identify(path)


@pytest.fixture(scope="session")
def mysql_binary() -> ServerBinary:
    """The MySQL that set-up installed, or ADVISOR_TEST_MYSQLD."""
    return _installed("mysql/mysqld", "ADVISOR_TEST_MYSQLD")


@pytest.fixture(scope="session")
def mariadb_binary() -> ServerBinary:
    """The MariaDB that set-up installed, or ADVISOR_TEST_MARIADBD."""
    return _installed("mariadb/mariadbd", "ADVISOR_TEST_MARIADBD")


@pytest.fixture(
    scope="session",
    params=["mysql", "mariadb", *_MORE],
    ids=lambda given: Path(given).parent.name or given,
)
def any_server(request: pytest.FixtureRequest) -> ServerBinary:
    """Both servers and those of ADVISOR_TEST_SERVERS: paths, separated as in PATH."""
    if request.param in _MORE:
        return _server(Path(request.param), "ADVISOR_TEST_SERVERS")
    return cast(ServerBinary, request.getfixturevalue(f"{request.param}_binary"))


@pytest.fixture(scope="session")
def shared_folder(shared_tmp: Path) -> Path:
    """Our folder of a device: `datasets` holds the empty data directories and golden copies."""
    return make_folders(shared_tmp / "device").parent


@pytest.fixture(scope="session")
def pristine_data_dir(shared_tmp: Path, shared_folder: Path) -> Callable[[ServerBinary], Path]:
    """Makes an empty data directory, once per server. Copy it: never start a server on it."""
    return lambda binary: initialized_data_dir(binary, shared_folder)


@pytest.fixture
def fresh_data_dir(
    server_tmp: Path, pristine_data_dir: Callable[[ServerBinary], Path]
) -> Callable[[ServerBinary], Path]:
    """Gives this test its own copy of an empty data directory."""

    def make(binary: ServerBinary, name: str = "data") -> Path:
        return Path(shutil.copytree(pristine_data_dir(binary), server_tmp / name))

    return make
