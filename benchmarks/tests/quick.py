"""Servers for tests: options that take less of the processors, and servers that are none."""

from __future__ import annotations

from pathlib import Path

from benchmarks.servers.binary import Flavour, ServerBinary

#: MySQL starts and ends in half of the time: it makes no tables of events and no binary log, reads
#: and writes its files through the page cache, each page once and without queues of the kernel's,
#: has less memory to clear and no thread that waits for events.
QUICK = {
    "performance_schema": "OFF",
    "log_bin": "OFF",
    "innodb_flush_method": "fsync",
    "innodb_log_buffer_size": "1M",
    "innodb_doublewrite": "OFF",
    "innodb_use_native_aio": "OFF",
    "event_scheduler": "OFF",
}


def unhurried(binary: ServerBinary) -> dict[str, str]:
    """Of one connection each commit waits for others that do not come, a hundredth of a second.

    Whoever drives the server for seconds then takes a part of a processor and not all of it.
    """
    if binary.flavour is Flavour.MARIADB:
        waits = {"binlog_commit_wait_count": "2", "binlog_commit_wait_usec": "10000"}
    else:
        waits = {"binlog_group_commit_sync_delay": "10000"}
    lazy = {"innodb_flush_log_at_trx_commit": "0", "sync_binlog": "0"}
    return {**QUICK, **lazy, "log_bin": "ON", **waits}


def made_up(
    flavour: Flavour = Flavour.MYSQL,
    version: tuple[int, int, int] = (8, 4, 6),
    path: Path = Path("/nowhere/sbin/mysqld"),
) -> ServerBinary:
    """A server that is not here; its path has no share/ beside it."""
    return ServerBinary(path, flavour, version, ".".join(map(str, version)), "ab" * 32, None)


def pretend(folder: Path, text: str) -> ServerBinary:
    """A `server` made of shell, for what no real one does on demand."""
    path = folder / "pretend-mysqld"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return made_up(path=path)
