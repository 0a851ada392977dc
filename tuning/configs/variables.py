"""The variables used in rules across knobs, which servers have them, and the redo log's names.

MySQL has `innodb_log_file_size` x `innodb_log_files_in_group` until 8.0.30 and
`innodb_redo_log_capacity` from then on; the old pair stays until 8.4. MariaDB has had one file of
`innodb_log_file_size` since 10.5.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

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
#: Files where MySQL's number of files is not said: the default of 5.7 and 8.0.
USUAL_FILES = 2


def dedicated_chooses_flush(target: ServerTraits) -> bool:
    """Whether innodb_dedicated_server also chooses the flush method.

    MySQL Reference Manual 8.0, "Enabling Automatic InnoDB Configuration for a Dedicated MySQL
    Server"; no longer in 8.4.
    """
    return not target.mariadb and target.version < (8, 4, 0)


def has_capacity(target: ServerTraits) -> bool:
    """Whether the server has innodb_redo_log_capacity."""
    return load_catalogue().knobs[CAPACITY].exists_in(target)


def redo_bytes(
    value: Callable[[str], int | None], asked: Collection[str], target: ServerTraits
) -> int | None:
    """Return the bytes of the redo log, all files together; None if they are unknown.

    `value` gives the value of a variable. `asked` names the variables that somebody set: where
    the old pair is among them and the capacity is not, the old pair counts (MySQL Reference Manual
    8.0, "Redo Log").
    """
    if has_capacity(target) and (CAPACITY in asked or not {SIZE, FILES} & set(asked)):
        return value(CAPACITY)
    size, files = value(SIZE), 1 if target.mariadb else value(FILES)
    return None if size is None or files is None else size * files


def redo_settings(total: int, target: ServerTraits) -> dict[str, str]:
    """Return the variables that give a redo log of `total` bytes."""
    if target.mariadb:
        return {SIZE: f"{total}"}
    if has_capacity(target):
        return {CAPACITY: f"{total}"}
    return {SIZE: f"{total // USUAL_FILES}", FILES: f"{USUAL_FILES}"}
