"""Server options for loading only: nothing is durable, because a failed load is thrown away.

None of them leaves a trace in the loaded tables, apart from the requested page size.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.datasets.rules import estimated_bytes
from benchmarks.memory import available_memory
from benchmarks.servers.binary import Flavour, ServerBinary

MIB = 1 << 20
DEFAULT_PAGE_SIZE = 16_384
PAGE_SIZES = (4_096, 8_192, 16_384, 32_768, 65_536)
#: MariaDB's own default since 10.5.
MARIADB_REDO_BYTES = 96 * MIB
#: Below this the server would start but crawl.
MIN_POOL = 128 * MIB


def page_size_options(page_size: int) -> dict[str, str]:
    """Options that every start of a server on a dataset needs, runs included."""
    return {"innodb_page_size": str(page_size)}


def load_options(
    binary: ServerBinary,
    *,
    warehouses: int,
    page_size: int,
    cpus: int,
    memory: Callable[[], int] | None = None,
) -> dict[str, str | None]:
    """Options for a server that is only loaded; `memory` returns the free memory in bytes."""
    pool = buffer_pool_bytes(warehouses, (memory or available_memory)())
    options: dict[str, str | None] = {
        **page_size_options(page_size),
        "local_infile": "ON",
        "skip_log_bin": None,
        "performance_schema": "OFF",
        "innodb_buffer_pool_size": str(pool),
        # A pool dump in the golden copy would warm some runs and not others.
        "innodb_buffer_pool_dump_at_shutdown": "OFF",
        "innodb_buffer_pool_load_at_startup": "OFF",
        "innodb_doublewrite": "OFF",
        "innodb_flush_log_at_trx_commit": "0",
        "innodb_adaptive_hash_index": "OFF",
        "innodb_io_capacity": "20000",
        "innodb_io_capacity_max": "40000",
        "max_allowed_packet": str(64 * MIB),
    }
    mysql = binary.flavour is not Flavour.MARIADB
    if mysql and binary.version >= (8, 0, 27):
        options["innodb_ddl_threads"] = str(max(2, cpus))
        options["innodb_ddl_buffer_size"] = str(128 * MIB)
        options["innodb_parallel_read_threads"] = str(max(2, cpus))
    else:
        options["innodb_sort_buffer_size"] = str(32 * MIB)
    if can_resize_redo(binary):
        options["innodb_log_file_size"] = str(512 * MIB)
    return options


def can_disable_redo(binary: ServerBinary) -> bool:
    """Whether ALTER INSTANCE DISABLE INNODB REDO_LOG exists; then no redo is written at all."""
    return binary.flavour is not Flavour.MARIADB and binary.version >= (8, 0, 21)


def can_resize_redo(binary: ServerBinary) -> bool:
    """Whether a large redo log can be made small again, so that no clone has to copy it."""
    return binary.flavour is Flavour.MARIADB and binary.version >= (10, 9, 0)


def buffer_pool_bytes(warehouses: int, available: int) -> int:
    """Room for the whole dataset where half of the free memory suffices, never less than 128 MiB.

    A multiple of 128 MiB, which is what servers round to.
    """
    wanted = estimated_bytes(warehouses) * 5 // 4 + MIN_POOL
    pool = min(wanted, available // 2)
    return max(MIN_POOL, pool // MIN_POOL * MIN_POOL)
