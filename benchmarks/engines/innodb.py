"""InnoDB: its options, files and counters, and how it is loaded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

MIB = 1 << 20
DEFAULT_PAGE_SIZE = 16_384
PAGE_SIZES = (4_096, 8_192, 16_384, 32_768, 65_536)
_MARIADB_REDO_BYTES = 96 * MIB  # its own default since 10.5
_MIN_REDO_BYTES = 8 * MIB
#: Below this the server would crawl. Servers round to a multiple of it.
MIN_POOL_BYTES = 128 * MIB
#: About what the server's own files take: 181 to 233 MB with 16 KiB pages.
SYSTEM_BYTES = 260_000_000
#: Loads and trial starts leave a dump beside the data: it would warm up some runs.
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

    Its redo log is small: every trial start copies it.
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
    # Room for all data where half of the free memory suffices.
    pool = min(data_bytes * 5 // 4 + MIN_POOL_BYTES, memory // 2)
    pool = max(MIN_POOL_BYTES, pool // MIN_POOL_BYTES * MIN_POOL_BYTES)
    options: dict[str, str | None] = {
        **template_options(page_size),
        "innodb_buffer_pool_size": str(pool),
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


def instance_options(*, fast_shutdown: bool, log_dir: Path | None) -> list[tuple[str, str]]:
    """Return the options of every instance.

    fast_shutdown: flushing is left to crash recovery, for data that is thrown away. log_dir: a
    directory of its own for the redo log.
    """
    options = [("innodb_fast_shutdown", "2" if fast_shutdown else "0")]
    if log_dir is not None:
        options.append(("innodb_log_group_home_dir", str(log_dir)))
    return options


#: Read at both ends of a run: the server's status variables, then the engine's monitor.
DEBT_QUERIES = (
    "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Innodb%' OR Variable_name = 'Com_commit'",
    "SHOW ENGINE INNODB STATUS",
)


def write_behind(status: Mapping[str, str], monitor: str) -> dict[str, int | None]:
    """Return what the server has put off, by the fields of `DebtReading`; None if it is not said.

    What has no status variable stands in the monitor's text: in MySQL 5.7 all of it.
    """

    def counter(*names: str, pattern: str = "") -> int | None:
        texts = [status[name] for name in names if status.get(name, "").isdigit()]
        if not texts and pattern:
            texts = re.findall(pattern, monitor, re.MULTILINE)
        return int(texts[0]) if texts else None

    lsn = counter(
        "Innodb_redo_log_current_lsn",
        "Innodb_lsn_current",
        pattern=r"^Log sequence number\s+(\d+)",
    )
    age = counter("Innodb_checkpoint_age")
    if age is None:
        checkpoint = counter(
            "Innodb_redo_log_checkpoint_lsn",
            "Innodb_lsn_last_checkpoint",
            pattern=r"^Last checkpoint at\s+(\d+)",
        )
        # The counters are not read atomically.
        age = None if lsn is None or checkpoint is None else max(lsn - checkpoint, 0)
    history = counter("Innodb_history_list_length", pattern=r"^History list length\s+(\d+)")
    flushed, page = counter("Innodb_buffer_pool_pages_flushed"), counter("Innodb_page_size")
    return {
        "lsn": lsn,
        "checkpoint_age_bytes": age,
        "dirty_bytes": counter("Innodb_buffer_pool_bytes_dirty"),
        "history_length": history,
        "flushed_bytes": None if flushed is None or page is None else flushed * page,
        "commits": counter("Com_commit"),
        # Not what the variable says where older variables size the log, or the server itself does.
        "redo_capacity": counter("Innodb_redo_log_capacity_resized"),
    }


def redo_capacity(variables: Mapping[str, str]) -> int | None:
    """Bytes of redo log by the variables as read back, names in lower case; None: not said.

    For servers before MySQL 8.0.30, whose status says it, and for MariaDB.
    """
    size = variables.get("innodb_log_file_size", "")
    # MariaDB has one file since 10.5 and no variable for their number since 10.6.
    files = variables.get("innodb_log_files_in_group", "1")
    return int(size) * int(files) if size.isdigit() and files.isdigit() else None


def _can_disable_redo(server: Server) -> bool:
    return server.flavour != "mariadb" and server.version >= (8, 0, 21)


def _can_resize_redo(server: Server) -> bool:
    """Whether a large redo log can be made small again, so that no clone has to copy it."""
    return server.flavour == "mariadb" and server.version >= (10, 9, 0)
