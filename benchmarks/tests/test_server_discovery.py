from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.inventory.inspection import server_candidates


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder of set-up with both servers in it."""
    folder = tmp_path / "installed"
    for name in ("mysql/mysqld", "mariadb/mariadbd"):
        program(folder / name)
    return folder


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o755)
    return path


def test_path_comes_before_installed_servers_and_mysql_before_mariadb(
    installed: Path, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    mariadbd = program(first / "mariadbd")
    mysqld = program(second / "mysqld")
    program(second / "mariadbd")
    there = [installed / "mysql" / "mysqld", installed / "mariadb" / "mariadbd"]
    assert server_candidates(installed, f"{first}:{second}") == [mysqld, mariadbd, *there]
    (installed / "mysql" / "mysqld").unlink()
    assert server_candidates(installed, str(tmp_path)) == there[1:]


def test_folders_that_an_ordinary_path_lacks_are_searched_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("benchmarks.inventory.inspection._SERVER_FOLDERS", (str(tmp_path),))
    assert server_candidates(tmp_path) == []
    mysqld = program(tmp_path / "mysqld")
    assert server_candidates(tmp_path / "none") == [mysqld]
