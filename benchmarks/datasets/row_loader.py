"""The program that makes rows and loads them, with LOAD DATA from memory.

`loading.load_rows` starts several. The first line on standard input has the account, the user to
run as and the functions that make rows; each further one has a batch: the table, the function that
makes its rows, and the function's arguments. The program answers each batch with a line: the
number of rows, or why they could not be loaded. All lines are JSON.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pymysql
from pymysql.connections import Connection

from benchmarks.datasets.text import Bytes
from benchmarks.errors import LoadFailed
from benchmarks.processes.users import ServerUser, become
from benchmarks.servers.instance import pinned_socket

#: The server's account and schema.
_account: dict[str, str] = {}


def main() -> None:
    """Load each batch that standard input names, and answer with its rows."""
    account, user, makers = json.loads(sys.stdin.readline())
    begin(account, ServerUser(*user) if user else None, makers)
    for line in sys.stdin:
        try:
            answer: int | str = load_batch(*json.loads(line))
        except LoadFailed as error:
            answer = str(error)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def begin(account: Mapping[str, str], user: ServerUser | None, makers: Sequence[str]) -> None:
    """Become the servers' user before the first word with the server.

    A server may ask for any file that its client can read. That user may not be able to import the
    makers of rows.
    """
    for maker in makers:
        resolve_name(maker)
    _account.update(account)
    if user is not None:
        become(user)


def load_batch(table: str, make: str, arguments: Sequence[int]) -> int:
    """Load a batch and return the number of its rows. Raises LoadFailed."""
    try:
        return send(_connected(), table, resolve_name(make)(*arguments))
    except AttributeError as error:  # PyMySQL sends on the socket that a dead server closed
        raise LoadFailed("a loading process failed: Lost connection to the server") from error
    except (pymysql.Error, OSError, MemoryError) as error:
        raise LoadFailed(f"a loading process failed: {type(error).__name__}: {error}") from error


@cache
def _connected() -> Connection[Any]:
    with pinned_socket(Path(_account["socket"])) as name:
        connection = pymysql.connect(
            unix_socket=name,
            user=_account["user"],
            password=_account["password"],
            database=_account["database"],
            local_infile=True,
            autocommit=False,
        )
    with connection.cursor() as cursor:
        # unique_checks stays on: there is no secondary unique key to save work on, and
        # off it makes MariaDB load through temporary files, which took half as long again.
        cursor.execute("SET SESSION foreign_key_checks = 0")
    return connection


def send(connection: Connection[Any], table: str, lines: Bytes) -> int:
    """Load the lines in one transaction and return the number of rows. LoadFailed on any loss.

    PyMySQL reads a file by name; one in memory needs no disk and leaves nothing behind.
    """
    with os.fdopen(os.memfd_create("oltp-advisor-rows"), "wb", buffering=0) as file:
        left = lines.data
        while left:
            left = left[file.write(left) :]
        with connection.cursor() as cursor:
            # binary: the rows are ASCII, which every character set of the servers contains.
            count: int = cursor.execute(
                f"LOAD DATA LOCAL INFILE '/proc/self/fd/{file.fileno()}'"
                f" INTO TABLE {table} CHARACTER SET binary"
            )
            # LOCAL turns errors, duplicate keys among them, into warnings.
            if cursor.execute("SHOW WARNINGS LIMIT 1"):
                raise LoadFailed(f"{table}: {cursor.fetchone()}")
    connection.commit()
    return count
