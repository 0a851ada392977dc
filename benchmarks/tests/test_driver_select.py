"""The driver that a study gets, and what is said where there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.drivers.protocol import Target
from benchmarks.drivers.select import find_driver
from benchmarks.errors import NoDriver


@pytest.fixture
def tmp_path(server_tmp: Path) -> Path:
    """Where the user that drivers run as can go."""
    return server_tmp


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An otherwise empty PATH on which programs can be put."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TPCC_MYSQL_HOME", raising=False)
    return tmp_path


def install(directory: Path, name: str, says: str = "") -> None:
    program = directory / name
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(0o755)


def test_tpcc_mysql_comes_first_where_both_are_installed(programs: Path) -> None:
    install(programs, "tpcc_start")
    install(programs, "sysbench", "sysbench 1.0.20")
    assert find_driver().name == find_driver("auto").name == "tpcc-mysql"
    assert find_driver("sysbench").name == "sysbench"


def test_sysbench_takes_over_where_tpcc_mysql_is_absent(programs: Path) -> None:
    install(programs, "sysbench", "sysbench 1.0.20")
    driver = find_driver("auto")
    assert driver.name == "sysbench"
    assert driver.version.startswith("1.0.20 scripts:")


@pytest.mark.skipif(os.geteuid() != 0, reason="drivers run as another user only under root")
def test_a_program_that_the_drivers_user_cannot_run_counts_as_missing(programs: Path) -> None:
    install(programs, "tpcc_start")
    (programs / "tpcc_start").chmod(0o700)
    with pytest.raises(NoDriver, match=r"tpcc_start: the user .* cannot run it.*Get sysbench"):
        find_driver()
    install(programs, "sysbench", "sysbench 1.0.20")
    assert find_driver().name == "sysbench"
    with pytest.raises(NoDriver, match="cannot run it"):
        find_driver("tpcc-mysql")


@pytest.mark.parametrize(
    ("name", "named", "not_named"),
    [
        ("auto", ["No workload driver", "TPCC_MYSQL_HOME", "package sysbench"], []),
        # Another one may be there.
        ("tpcc-mysql", ["driver tpcc-mysql cannot", "TPCC_MYSQL_HOME"], ["sysbench", "No work"]),
        ("sysbench", ["driver sysbench cannot", "package sysbench"], ["TPCC_MYSQL_HOME"]),
    ],
)
def test_without_a_driver_the_error_says_what_to_install(
    programs: Path, name: str, named: list[str], not_named: list[str]
) -> None:
    with pytest.raises(NoDriver) as missing:
        find_driver(name)
    assert all(words in str(missing.value) for words in named)
    assert not any(words in str(missing.value) for words in not_named)
    assert missing.value.code == "no_driver"


def test_an_unknown_driver_is_refused_with_the_names_of_the_known() -> None:
    with pytest.raises(NoDriver, match="'hammerdb'; there are: auto, tpcc-mysql, sysbench"):
        find_driver("hammerdb")


@pytest.mark.parametrize("says", ["sysbench 0.4.12:  multi-threaded", "hello", ""])
def test_a_sysbench_that_cannot_run_our_workload_is_refused(programs: Path, says: str) -> None:
    install(programs, "sysbench", says)
    with pytest.raises(NoDriver, match=r"not sysbench 1\.0 or later"):
        find_driver("sysbench")


def test_the_password_of_a_target_is_not_in_its_text() -> None:
    assert "hush" not in repr(Target("localhost", 1, "tpcc", "hush-hush", database="tpcc"))
