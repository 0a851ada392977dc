"""Names of the variables used in rules across knobs, and which servers have them."""

from __future__ import annotations

from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits

POOL = "innodb_buffer_pool_size"
INSTANCES = "innodb_buffer_pool_instances"
CHUNK = "innodb_buffer_pool_chunk_size"
CLEANERS = "innodb_page_cleaners"
DEDICATED = "innodb_dedicated_server"
LOG_BUFFER = "innodb_log_buffer_size"
IO_CAPACITY = "innodb_io_capacity"
IO_CEILING = "innodb_io_capacity_max"
MAX_CONNECTIONS = "max_connections"
MAX_STATEMENTS = "max_prepared_stmt_count"
GTID_MODE = "gtid_mode"
GTID_CONSISTENCY = "enforce_gtid_consistency"

FLUSH_METHOD = "innodb_flush_method"
DIRECT_METHODS = frozenset({"O_DIRECT", "O_DIRECT_NO_FSYNC", "ALL_O_DIRECT"})

SIZE, FILES, CAPACITY = REDO = (
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_redo_log_capacity",
)


def dedicated_chooses_flush(target: ServerTraits) -> bool:
    """Whether innodb_dedicated_server also chooses the flush method.

    MySQL Reference Manual 8.0, "Enabling Automatic InnoDB Configuration for a Dedicated MySQL
    Server"; no longer in 8.4.
    """
    return not target.mariadb and target.version < (8, 4, 0)


def has_capacity(target: ServerTraits) -> bool:
    """Whether the server has innodb_redo_log_capacity."""
    return load_catalogue().knobs[CAPACITY].exists_in(target)
