"""InnoDB: its options, files and counters, and how it is loaded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

MIB = 1 << 20
DEFAULT_PAGE_SIZE = 16_384
PAGE_SIZES = (4_096, 8_192, 16_384, 32_768, 65_536)
#: MariaDB's own default since 10.5.
_MARIADB_REDO_BYTES = 96 * MIB
_MIN_REDO_BYTES = 8 * MIB
#: Below this the server would start but crawl. Servers round to a multiple of it.
MIN_POOL_BYTES = 128 * MIB
#: About what the server's own files take: 181 to 233 MB with 16 KiB pages.
SYSTEM_BYTES = 260_000_000
#: What loads and trial starts leave beside the data: a dump would warm up some runs.
UNWANTED_FILES = ("ib_buffer_pool",)
#: The redo log: a folder since MySQL 8.0.30, files before and in MariaDB.
_REDO_LOG = re.compile(r"#innodb_redo|ib_logfile\d+")


class Server(Protocol):
    """The part of `ServerBinary` on which options depend."""

    @property
    def flavour(self) -> str: ...

    @property
    def version(self) -> tuple[int, int, int]: ...


def is_redo_log(name: str) -> bool:
    """Return whether a name in a data directory is that of the redo log."""
    return _REDO_LOG.fullmatch(name) is not None


def page_size_of(options: Mapping[str, str | None]) -> int:
    """Return the page size in bytes that a config asks for."""
    return int(options.get("innodb_page_size") or DEFAULT_PAGE_SIZE)


def template_options(page_size: int) -> dict[str, str]:
    """Return the options that every start of a server on such a data directory needs.

    Raises ValueError for a page size that no server has.
    """
    if page_size not in PAGE_SIZES:
        raise ValueError(f"page_size must be one of {PAGE_SIZES}, not {page_size}")
    return {"innodb_page_size": str(page_size)}


def empty_options(server: Server, page_size: int) -> dict[str, str]:
    """Return the options of a new data directory.

    Its redo log is small: every trial start copies it, and a server makes it as configured.
    """
    options = template_options(page_size)
    if server.flavour == "mariadb":
        options["innodb_log_file_size"] = str(_MIN_REDO_BYTES)
    elif server.version >= (8, 0, 30):
        options["innodb_redo_log_capacity"] = str(_MIN_REDO_BYTES)
    return options


def load_options(
    server: Server, *, data_bytes: int, page_size: int, cpus: int, memory: int
) -> dict[str, str | None]:
    """Return the options of a server that only loads: nothing is durable.

    A failed load is thrown away. None of them leaves a trace in the tables, but for the page size.
    data_bytes: estimated size of tables and indexes. memory: free memory in bytes.
    """
    options: dict[str, str | None] = {
        **template_options(page_size),
        "innodb_buffer_pool_size": str(_pool_bytes(data_bytes, memory)),
        "innodb_buffer_pool_dump_at_shutdown": "OFF",
        "innodb_buffer_pool_load_at_startup": "OFF",
        "innodb_doublewrite": "OFF",
        "innodb_flush_log_at_trx_commit": "0",
        "innodb_adaptive_hash_index": "OFF",
        "innodb_io_capacity": "20000",
        "innodb_io_capacity_max": "40000",
    }
    if server.flavour != "mariadb" and server.version >= (8, 0, 27):
        options["innodb_ddl_threads"] = str(max(2, cpus))
        options["innodb_ddl_buffer_size"] = str(128 * MIB)
        options["innodb_parallel_read_threads"] = str(max(2, cpus))
    else:
        options["innodb_sort_buffer_size"] = str(32 * MIB)
    if _can_resize_redo(server):
        options["innodb_log_file_size"] = str(512 * MIB)
    return options


def before_load(server: Server) -> Sequence[str]:
    """Return the statements that switch the redo log off where the server can do without."""
    return ["ALTER INSTANCE DISABLE INNODB REDO_LOG"] if _can_disable_redo(server) else []


def after_load(server: Server) -> Sequence[str]:
    """Return the statements that give a loaded server its usual redo log: clones copy it."""
    if _can_disable_redo(server):
        return ["ALTER INSTANCE ENABLE INNODB REDO_LOG"]
    if _can_resize_redo(server):
        return [f"SET GLOBAL innodb_log_file_size = {_MARIADB_REDO_BYTES}"]
    return []


#: Statements after which the server writes all its dirty pages.
WRITE_BACK = (
    "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0",
    "SET GLOBAL innodb_max_dirty_pages_pct = 0",
)


def dirty_pages(status: Mapping[str, int]) -> int:
    """Return the number of pages that are still to be written, from SHOW GLOBAL STATUS."""
    return status["Innodb_buffer_pool_pages_dirty"]


def _can_disable_redo(server: Server) -> bool:
    return server.flavour != "mariadb" and server.version >= (8, 0, 21)


def _can_resize_redo(server: Server) -> bool:
    """Whether a large redo log can be made small again, so that no clone has to copy it."""
    return server.flavour == "mariadb" and server.version >= (10, 9, 0)


def _pool_bytes(data_bytes: int, memory: int) -> int:
    """Room for all data where half of the free memory suffices."""
    pool = min(data_bytes * 5 // 4 + MIN_POOL_BYTES, memory // 2)
    return max(MIN_POOL_BYTES, pool // MIN_POOL_BYTES * MIN_POOL_BYTES)
