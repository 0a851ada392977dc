"""Reading a server's error log: the lines that explain a failure."""

from __future__ import annotations

import os
import re
from pathlib import Path

from benchmarks.ownership import open_plain
from benchmarks.processes.users import server_user, uid_of
from benchmarks.servers.paths import InstancePaths

_TAIL_BYTES = 256 * 1024
_MAX_LINE = 4096
_ERROR = re.compile(r"\[ERROR\]|\bERROR:|[Ff]atal error|^mysqld: |^mariadbd: |got signal")
# "2026-11-21T01:08:06.9Z 0 [ERROR] [MY-010123] [Server] " and MariaDB's "2026-11-21  1:08:06 0 "
_PREFIX = re.compile(r"^\d{4}-\d\d-\d\d[T ]+[\d:.]+\S* +\d+ +(?:\[[^\]]+\] +)*")
_SAYS_NOTHING = re.compile(r"Aborting\s*$")

CRASH = re.compile(r"got signal \d+|got exception 0x")
# A server's message when it is asked to shut down (from its own errmsg.sys).
SHUTDOWN = re.compile(r"Received SHUTDOWN from user|: Normal shutdown\.?$")
DISK_FULL = re.compile(
    r"No space left on device|errno: ?28\b|OS errno 28\b|error(?: number)? 28\b"
    r"|[Dd]isk (?:is )?full"
)
OUT_OF_MEMORY = re.compile(r"Cannot allocate memory|Out of memory|errno: ?12\b|OS errno 12\b")
PERMISSION = re.compile(
    r"Permission denied|errno: ?13\b|OS errno 13\b|error(?: number)? 13\b"
    r"|Could not open required defaults file"
)
PORT_TAKEN = re.compile(r"Bind on TCP/IP port|server running on port")


def said(paths: InstancePaths, lines: int) -> list[str]:
    """Return the last lines of the console, written before the error log is opened, and that log.

    A link, pipe or foreign file that the server left in the place of its log is not read.
    """
    console = read_tail(paths.console, lines)
    return (console + read_tail(paths.error_log, lines, owner=uid_of(server_user())))[-lines:]


def read_tail(path: Path, lines: int, *, owner: int | None = None) -> list[str]:
    """Return the last `lines` lines of a file that may be huge, absent or not UTF-8, without NUL.

    With `owner` only a plain file of that user is read.
    """
    try:
        with path.open("rb") if owner is None else open_plain(path, owner) as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - _TAIL_BYTES))
            text = file.read(_TAIL_BYTES).decode(errors="replace")
    except OSError:
        return []
    return [line[:_MAX_LINE] for line in text.replace("\0", "").splitlines()[-lines:]]


def matching(lines: list[str], pattern: re.Pattern[str]) -> list[str]:
    """Return the lines in which `pattern` occurs."""
    return [line for line in lines if pattern.search(line)]


def meaningful(lines: list[str]) -> str:
    """Return the last 30 error lines, or the last 30 lines if there are none."""
    return "\n".join((matching(lines, _ERROR) or lines)[-30:])


def with_first_error(what: str, lines: list[str]) -> str:
    """Return `what` and the first error line that says something, if there is one."""
    errors = [line for line in matching(lines, _ERROR) if not _SAYS_NOTHING.search(line)]
    return f"{what}: {strip_prefix(errors[0])}" if errors else what


def strip_prefix(line: str) -> str:
    """Return a log line without its time, thread and tags."""
    return _PREFIX.sub("", line).strip()
