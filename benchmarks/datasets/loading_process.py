"""One loading process: makes rows and streams them into the server.

A program of its own (`python -m benchmarks.datasets.loading_process`) and not a forked child: the
worker of a task queue may not fork children that way, and a fork would hold our parent's locks
and sockets after the parent's death. Talks in lines of JSON: where to connect comes first on
stdin, then one line per batch; stdout answers each batch with its rows or an error. End of input
ends the program, so it never outlives its parent by more than one table.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import IO, Any

import pymysql
from pymysql.connections import Connection

from benchmarks.datasets import rows
from benchmarks.datasets.text import Bytes
from benchmarks.processes.users import ServerUser, become
from benchmarks.servers.instance import pinned_socket


def make(table: str, warehouse: int, seed: int) -> Bytes:
    """The lines of one job; only `item` belongs to no warehouse."""
    if table == "item":
        return rows.item(seed)
    return rows.PER_WAREHOUSE[table](seed, warehouse)


def send(connection: Connection[Any], table: str, lines: Bytes) -> int:
    """Load the lines in one transaction and return the number of rows; ValueError on any loss.

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
                raise ValueError(f"{table}: {cursor.fetchone()}")
    connection.commit()
    return count


def serve(requests: IO[str], answers: IO[str]) -> None:
    """Answer jobs until the input ends; an error is reported and ends the program."""
    target = json.loads(requests.readline())
    seed = target.pop("seed")
    user = target.pop("as_user")
    try:
        if user is not None:
            # Before the first word with the server, which may ask for any file that we can read.
            become(ServerUser(**user))
        with pinned_socket(Path(target.pop("socket"))) as name:
            connection = pymysql.connect(
                unix_socket=name, local_infile=True, autocommit=False, **target
            )
        with connection, connection.cursor() as cursor:
            # unique_checks stays on: there is no secondary unique key to save work on, and
            # off it makes MariaDB load through temporary files, which took half as long again.
            cursor.execute("SET SESSION foreign_key_checks = 0")
            for line in requests:
                job = json.loads(line)
                count = send(connection, job["table"], make(job["table"], job["warehouse"], seed))
                print(json.dumps({**job, "rows": count}), file=answers, flush=True)
    except (pymysql.Error, OSError, MemoryError, ValueError) as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.stdin, sys.stdout)
