"""Verdicts on servers that died, and the evidence they name."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from benchmarks.emulation.device import CgroupLimits
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.processes import child
from benchmarks.servers import errorlog, failures
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.failures import explain_death, find_trouble, start_failure, variables_of
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.running import running_server

PROGRAM = Path("/usr/sbin/mysqld")

# Recorded from MySQL 9.7.4 and MariaDB 10.11.19 on a tmpfs that was too small.
DISK_FULL_LINES = [
    "2026-11-21T01:10:44.138214Z 0 [ERROR] [MY-012639] [InnoDB] Write to file "
    "./#innodb_redo/#ib_redo1_tmp failed at offset 2097152, 1048576 bytes should have been "
    "written, only 425984 were written. Operating system error number 28. Check that your OS and "
    "file system support files of this size.",
    "2026-11-21T01:10:48.111974Z 11 [ERROR] [MY-000035] [Server] Disk is full writing "
    "'./binlog.000001' (OS errno 28 - No space left on device). Waiting for someone to free space",
    "2026-11-21  1:13:47 0 [ERROR] InnoDB: preallocating 100663296 bytes for file "
    "./ib_logfile101 failed with error 28",
    "2026-11-21  1:14:24 0 [ERROR] mariadbd: Error writing file '/d/aria_log_control' "
    '(Errcode: 28 "No space left on device")',
    "2026-11-21  1:14:24 3 [ERROR] mariadbd: Disk full (/tmp/#sql-temptable-1.MAI); waiting for "
    "someone to free some space",
]
# After the lists of messages of MySQL 9.7.4, MariaDB 10.11.19 and MySQL 5.7.
SHUTDOWN_LINES = [
    "2026-11-21T23:38:51.213400Z 0 [System] [MY-013172] [Server] Received SHUTDOWN from user <via "
    "user signal>. Shutting down mysqld (Version: 9.7.4).",
    "2026-11-21 23:38:55 0 [Note] /usr/sbin/mariadbd (initiated by: unknown): Normal shutdown",
    "2026-11-21T23:38:58.100000Z 0 [Note] /usr/sbin/mysqld: Normal shutdown.",
]
STARTED = [
    "2026-11-21T01:11:19.705138Z 0 [System] [MY-015015] [Server] MySQL Server - start.",
    "2026-11-21T01:11:20.445438Z 0 [Warning] [MY-010069] [Server] Failed to set up SSL",
]


@dataclass(frozen=True)
class MemoryLimit:
    """A control group in which the kernel killed so many processes."""

    kills: int
    label: str = "a memory limit"
    entry_words: list[str] = field(default_factory=list)

    def holds(self, _: int) -> bool:
        return True

    def lift(self) -> None:
        """Nothing is held back."""

    def oom_kills(self) -> int:
        return self.kills


@pytest.fixture
def server(
    mariadb_binary: ServerBinary,
    fresh_data_dir: Callable[[ServerBinary], Path],
    server_tmp: Path,
) -> Iterator[ServerInstance]:
    """A running MariaDB, the quicker one to start."""
    with running_server(
        mariadb_binary,
        data_dir=fresh_data_dir(mariadb_binary),
        run_dir=server_tmp / "run",
        options={},
    ) as instance:
        yield instance


@pytest.mark.parametrize("line", DISK_FULL_LINES)
def test_a_full_disk_is_recognised_in_every_wording(line: str) -> None:
    found = start_failure("it did not start", [*STARTED, line], PROGRAM)
    assert found.outcome is Outcome.DISK_FULL
    assert found.log_tail == line
    assert errorlog.strip_prefix(line) in str(found)


def test_a_failed_start_says_the_first_error_and_keeps_them_all() -> None:
    errors = [
        "2026-11-21T01:13:35.268591Z 0 [ERROR] [MY-000067] [Server] unknown variable 'nope=1'.",
        "2026-11-21T01:13:35.268918Z 0 [ERROR] [MY-010119] [Server] Aborting",
    ]
    found = start_failure("it did not start", [*STARTED, *errors], PROGRAM)
    assert found.outcome is Outcome.NO_START
    assert str(found) == "it did not start: unknown variable 'nope=1'."
    assert found.log_tail == "\n".join(errors)


@pytest.mark.parametrize("line", SHUTDOWN_LINES)
def test_an_ordered_shutdown_is_recognised_in_every_wording(line: str) -> None:
    assert errorlog.matching([*STARTED, line], errorlog.SHUTDOWN) == [line]


def test_the_tail_is_what_there_is_in_bounds() -> None:
    found = start_failure("it did not start", STARTED, PROGRAM)
    assert (str(found), found.log_tail) == ("it did not start", "\n".join(STARTED))
    found = start_failure("it did not start", ["[ERROR] " + "x" * 10**6], PROGRAM)
    assert len(str(found)) < 20_000
    assert len(found.log_tail) < 300_000


@pytest.mark.parametrize(
    ("profiles", "lines", "named"),
    [
        ("/usr/sbin/mysqld (enforce)\n", "Could not open required defaults file: /d", True),
        ("mysqld (enforce)\n", "[ERROR] OS errno 13 - Permission denied", True),
        ("/usr/sbin/mysqld (complain)\n", "[ERROR] OS errno 13 - Permission denied", False),
        ("/usr/sbin/cupsd (enforce)\n", "[ERROR] OS errno 13 - Permission denied", False),
        ("/usr/sbin/mysqld (enforce)\n", "[ERROR] unknown variable 'nope=1'", False),
    ],
)
def test_a_profile_that_confines_the_server_is_named_when_it_may_be_the_cause(
    profiles: str, lines: str, named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "profiles").write_text(profiles)
    monkeypatch.setattr(failures, "APPARMOR_PROFILES", tmp_path / "profiles")
    found = start_failure("it did not start", [lines], PROGRAM)
    assert ("AppArmor" in str(found)) is named


def verdict(server: ServerInstance) -> tuple[Outcome, str]:
    found = explain_death(server)
    assert isinstance(found, RunFailed)
    return found.outcome, str(found)


@pytest.mark.server
class TestOnARealServer:
    def test_one_that_is_well_is_not_in_trouble(self, server: ServerInstance) -> None:
        assert find_trouble(server) is None

    def test_a_crash_keeps_its_signal_and_stack(self, server: ServerInstance) -> None:
        os.kill(server.pid, signal.SIGSEGV)
        found = find_trouble(server)
        assert found is not None
        assert found.outcome is Outcome.CRASHED
        assert "SIGSEGV" in str(found)
        assert "got signal 11" in found.log_tail

    @pytest.mark.parametrize(
        ("rise", "in_group", "outcome", "why"),
        [
            (0, None, Outcome.LOST, "did not rise"),
            (1, None, Outcome.OUT_OF_MEMORY, "rose by 1"),
            (None, None, Outcome.LOST, "cannot be read"),
            # Under the limits of an emulated device the group's own count decides.
            (0, 0, Outcome.LOST, "did not rise"),
            (0, 1, Outcome.OUT_OF_MEMORY, "more memory than the limit of a memory limit allows"),
        ],
    )
    def test_a_kill_by_another_is_judged_by_the_kernels_count(
        self,
        server: ServerInstance,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        rise: int | None,
        in_group: int | None,
        outcome: Outcome,
        why: str,
    ) -> None:
        before = int(child.VMSTAT.read_text().partition("\noom_kill ")[2].split()[0])
        if rise is not None:
            (tmp_path / "vmstat").write_text(f"nr_free_pages 1\noom_kill {before + rise}\n")
        monkeypatch.setattr(child, "VMSTAT", tmp_path / "vmstat")
        if in_group is not None:
            server.resource_limits = cast(CgroupLimits, MemoryLimit(in_group))
        os.kill(server.pid, signal.SIGKILL)
        found, message = verdict(server)
        server.resource_limits = None
        assert found is outcome
        assert why in message

    def test_one_that_is_killed_before_it_was_asked_anything_is_lost_too(
        self, server: ServerInstance
    ) -> None:
        assert variables_of(server)["port"] == str(server.port)
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(RunFailed) as ended:
            variables_of(server)
        assert ended.value.outcome is Outcome.LOST

    def test_a_shutdown_that_a_stranger_ordered_is_no_crash(self, server: ServerInstance) -> None:
        os.kill(server.pid, signal.SIGTERM)
        outcome, message = verdict(server)
        assert outcome is Outcome.LOST
        assert "the server was shut down from outside" in message

    def test_one_that_is_still_shutting_down_is_recognised_by_its_log(
        self, server: ServerInstance, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with server.paths.error_log.open("a") as log:
            log.write(SHUTDOWN_LINES[1] + "\n")
        monkeypatch.setattr(failures, "_DEATH_THROES_S", 0.1)
        assert verdict(server)[0] is Outcome.LOST
        assert server.alive()

    def test_a_kill_after_a_crash_is_still_a_crash(self, server: ServerInstance) -> None:
        """One that hangs in its stack trace may be ended by whoever watches over the host."""
        with server.paths.error_log.open("a") as log:
            log.write("231121  1:14:24 [ERROR] mariadbd got signal 11 ;\n")
        os.kill(server.pid, signal.SIGKILL)
        assert verdict(server)[0] is Outcome.CRASHED

    def test_one_that_waits_for_disk_space_is_in_trouble_though_it_lives(
        self, server: ServerInstance
    ) -> None:
        with server.paths.error_log.open("a") as log:
            log.write(DISK_FULL_LINES[1] + "\n")
        found = find_trouble(server)
        assert found is not None
        assert found.outcome is Outcome.DISK_FULL
        assert server.alive()

    def test_one_that_is_frozen_has_not_crashed(
        self, server: ServerInstance, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(failures, "_DEATH_THROES_S", 0.1)
        monkeypatch.setattr(failures, "ANSWER_S", 1)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            found = find_trouble(server)
        finally:
            os.kill(server.pid, signal.SIGCONT)
        assert found is not None
        assert found.outcome is Outcome.TIMED_OUT
        assert "no longer answers" in str(found)


def test_the_tail_of_a_huge_log_is_read_without_reading_it_all(tmp_path: Path) -> None:
    path = tmp_path / "error.log"
    with path.open("wb") as file:
        file.seek(10 * 1024**3)  # sparse
        file.write(b"\xff\nlast \0but one\nlast\n")
    assert errorlog.read_tail(path, 2) == ["last but one", "last"]
    assert errorlog.read_tail(tmp_path / "absent", 2) == []


@pytest.mark.server
def test_a_password_in_the_log_is_not_repeated(server: ServerInstance) -> None:
    with server.paths.error_log.open("a") as log:
        log.write(f"[ERROR] near '{server.admin.password}' {server.driver_account.password}\n")
    assert server.error_log_tail(1) == "[ERROR] near '***' ***"


@pytest.mark.server
def test_no_log_is_no_error(server: ServerInstance) -> None:
    shutil.rmtree(server.paths.tmp_dir)
    server.paths.error_log.unlink()
    server.paths.console.unlink()
    assert server.error_log_tail() == ""
