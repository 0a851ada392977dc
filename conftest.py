"""Fixtures for tests that need a real server. An absent server is an error, never a skip."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.servers.binary import ServerBinary, identify
from benchmarks.servers.datadir import create_data_dir

_BROUGHT = Path(__file__).resolve().parent / "var" / "servers"
# More servers for the tests on `any_server`: paths of programs, separated as in PATH. None here
# by default: other versions are to be had from their makers and from other distributions.
_MORE = [path for path in os.environ.get("ADVISOR_TEST_SERVERS", "").split(os.pathsep) if path]


def _server(path: Path, variable: str) -> ServerBinary:
    if not path.exists():
        raise RuntimeError(f"no server at {path}: run `make setup`, or name one in {variable}")
    return identify(path)


def _brought(variable: str, name: str) -> ServerBinary:
    return _server(Path(os.environ.get(variable) or (_BROUGHT / name).resolve()), variable)


def _scratch() -> Iterator[Path]:
    """A directory that mysqld's user can enter, which pytest's own tmp_path (0700) is not."""
    path = Path(tempfile.mkdtemp(prefix="advt-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def mysql_binary() -> ServerBinary:
    """The MySQL that set-up brought, or ADVISOR_TEST_MYSQLD."""
    return _brought("ADVISOR_TEST_MYSQLD", "mysql/mysqld")


@pytest.fixture(scope="session")
def mariadb_binary() -> ServerBinary:
    """The MariaDB that set-up brought, or ADVISOR_TEST_MARIADBD."""
    return _brought("ADVISOR_TEST_MARIADBD", "mariadb/mariadbd")


@pytest.fixture(
    scope="session",
    params=["mysql", "mariadb", *_MORE],
    ids=lambda given: Path(given).parent.name or given,
)
def any_server(request: pytest.FixtureRequest) -> ServerBinary:
    """Both servers and those of ADVISOR_TEST_SERVERS, one after the other."""
    if request.param in _MORE:
        return _server(Path(request.param), "ADVISOR_TEST_SERVERS")
    binary: ServerBinary = request.getfixturevalue(f"{request.param}_binary")
    return binary


@pytest.fixture(scope="session")
def server_session_tmp() -> Iterator[Path]:
    """Like server_tmp, for what is made once per test session."""
    yield from _scratch()


@pytest.fixture
def server_tmp() -> Iterator[Path]:
    """A directory of this test that the server's user can reach; removed afterwards."""
    yield from _scratch()


@pytest.fixture
def registry(server_tmp: Path) -> Path:
    """An empty registry of running servers."""
    path = server_tmp / "registry"
    path.mkdir()
    return path


@pytest.fixture(scope="session")
def pristine_data_dir(server_session_tmp: Path) -> Callable[[ServerBinary], Path]:
    """Makes (once per server) an empty data directory; never start a server on it, copy it."""
    made: dict[str, Path] = {}

    def make(binary: ServerBinary) -> Path:
        if binary.digest not in made:
            path = server_session_tmp / f"pristine-{binary.digest[:12]}"
            create_data_dir(binary, path)
            made[binary.digest] = path
        return made[binary.digest]

    return make


@pytest.fixture
def fresh_data_dir(
    server_tmp: Path, pristine_data_dir: Callable[[ServerBinary], Path]
) -> Callable[[ServerBinary], Path]:
    """Gives this test its own copy of an empty data directory, in milliseconds."""

    def make(binary: ServerBinary, name: str = "data") -> Path:
        target = server_tmp / name
        shutil.copytree(pristine_data_dir(binary), target)
        return target

    return make
