from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.errors import NoServerFound, NotAServer
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.discovery import find_server


@pytest.fixture
def installed(server_tmp: Path, mysql_binary: ServerBinary, mariadb_binary: ServerBinary) -> Path:
    """A folder of set-up with both servers in it."""
    folder = server_tmp / "installed"
    for name, binary in (("mysql/mysqld", mysql_binary), ("mariadb/mariadbd", mariadb_binary)):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).symlink_to(binary.path)
    return folder


@pytest.fixture
def on_path(server_tmp: Path, mariadb_binary: ServerBinary) -> Path:
    """A PATH folder whose mysqld is MariaDB, as on Debian."""
    folder = server_tmp / "bin"
    folder.mkdir()
    (folder / "mysqld").symlink_to(mariadb_binary.path)
    return folder


def test_the_named_server_wins(installed: Path, on_path: Path, mysql_binary: ServerBinary) -> None:
    assert find_server(mysql_binary.path, installed, str(on_path)) == mysql_binary


def test_a_wrong_name_is_an_error_and_no_other_server_is_taken(
    installed: Path, on_path: Path
) -> None:
    with pytest.raises(NotAServer, match="/bin/true"):
        find_server(Path("/bin/true"), installed, str(on_path))


def test_path_comes_before_installed_servers(
    installed: Path, on_path: Path, mariadb_binary: ServerBinary
) -> None:
    assert find_server(None, installed, str(on_path)).digest == mariadb_binary.digest


def test_of_the_installed_servers_mysql_comes_first(
    installed: Path, server_tmp: Path, mysql_binary: ServerBinary
) -> None:
    assert find_server(None, installed, str(server_tmp)).digest == mysql_binary.digest


def test_a_broken_one_on_path_is_ignored(
    installed: Path, server_tmp: Path, mysql_binary: ServerBinary
) -> None:
    folder = server_tmp / "broken"
    folder.mkdir()
    (folder / "mysqld").symlink_to("/bin/true")
    assert find_server(None, installed, str(folder)).digest == mysql_binary.digest


def test_when_there_is_none_the_error_says_what_was_tried(server_tmp: Path) -> None:
    (server_tmp / "mysqld").symlink_to("/bin/true")
    with pytest.raises(NoServerFound, match=r"mysqld is not a mysqld.*make setup"):
        find_server(None, server_tmp / "nothing", str(server_tmp))
