"""The redo log with all its files, under the names that a server has for it.

MySQL has `innodb_log_file_size` x `innodb_log_files_in_group` until 8.0.30 and
`innodb_redo_log_capacity` from then on, beside the old pair until 8.4. MariaDB has had one file of
`innodb_log_file_size` since 10.5.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.variables import CAPACITY, FILES, SIZE, has_capacity

#: Files where MySQL's number of files is not said: the default of 5.7 and 8.0.
USUAL_FILES = 2


def redo_bytes(
    value: Callable[[str], int | None], asked: Collection[str], target: ServerTraits
) -> int | None:
    """Return the bytes of all files together; None if they are unknown.

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
