"""Reading a server's error log: the lines that explain a failure."""

from __future__ import annotations

import os
import re
from pathlib import Path

_TAIL_BYTES = 256 * 1024
_ERROR = re.compile(r"\[ERROR\]|\bERROR:|^Fatal|mysqld got signal|mariadbd got signal", re.M)
DISK_FULL = re.compile(
    r"No space left on device|errno:? ?28\b|error (?:number )?28\b|Disk is full|disk is full"
)
OUT_OF_MEMORY = re.compile(r"Cannot allocate memory|[Oo]ut of memory|errno:? ?12\b")
PERMISSION = re.compile(r"Permission denied|errno:? ?13\b|Operation not permitted")
PORT_TAKEN = re.compile(
    r"Bind on TCP/IP port|another mysqld server running on port|"
    r"another (?:server|mariadbd) .*port|Address already in use"
)


def read_tail(path: Path, lines: int, size: int = _TAIL_BYTES) -> list[str]:
    """The last `lines` lines of a file that may be huge, absent or not UTF-8."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - size))
            text = file.read(size).decode(errors="replace")
    except OSError:
        return []
    return text.splitlines()[-lines:]


def meaningful(lines: list[str], limit: int = 30) -> list[str]:
    """The error lines if there are any, else the last `limit` lines."""
    errors = [line for line in lines if _ERROR.search(line)]
    return (errors or lines)[-limit:]


def matching(lines: list[str], pattern: re.Pattern[str]) -> list[str]:
    """The lines in which `pattern` occurs."""
    return [line for line in lines if pattern.search(line)]


def redact(text: str, *secrets: str) -> str:
    """`text` without the given secrets: a server quotes the statement it could not parse."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text
