"""The value that a server uses for a variable that is not set, including computed ones.

The rules are those of the catalogue's computed defaults; None means not known.
"""

from __future__ import annotations

from collections.abc import Callable

from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.expected import Expected
from tuning.configs.effective.variables import (
    CLEANERS,
    FLUSH_METHOD,
    INSTANCES,
    IO_CAPACITY,
    IO_CEILING,
)
from tuning.configs.values import fixed_default

_COMPUTES_MORE = (8, 4, 0)
_OLD_CLEANERS = 4


def by_itself(name: str, expected: Expected) -> str | None:
    """The value that the server has where `expected` does not set the variable."""
    knob = load_catalogue().get(name)
    if knob is None or not knob.exists_in(expected.target):
        return None
    fixed = fixed_default(knob, expected.target)
    rule = _RULES.get(name)
    return rule(expected) if fixed is None and rule is not None else fixed


def default_ceiling(capacity: str, server: ServerTraits) -> str:
    """innodb_io_capacity_max if it is not set (catalogue: innodb_io_capacity_max)."""
    twice = 2 * int(capacity)
    newer = not server.mariadb and server.version >= _COMPUTES_MORE
    return f"{twice if newer else max(2000, twice)}"


def _ceiling(expected: Expected) -> str | None:
    capacity = expected.text(IO_CAPACITY)
    return None if capacity is None else default_ceiling(capacity, expected.target)


def _instances(expected: Expected) -> str | None:
    pool = expected.pool()
    found = None if pool is None else expected.instances(pool)
    return None if found is None else f"{found}"


def _cleaners(expected: Expected) -> str | None:
    instances = _instances(expected)
    if instances is None or expected.target.version >= _COMPUTES_MORE:
        return instances
    return f"{min(_OLD_CLEANERS, int(instances))}"


def _flush_method(expected: Expected) -> str | None:
    direct = expected.host.direct_io
    return None if direct is None else "O_DIRECT" if direct else "fsync"


def _log_writer_threads(expected: Expected) -> str | None:
    cpus = expected.host.logical_cpus
    if cpus is None:
        return None
    return "ON" if cpus >= (5 if expected.host.binary_log is False else 32) else "OFF"


def _purge_threads(expected: Expected) -> str | None:
    cpus = expected.host.logical_cpus
    return None if cpus is None else "1" if cpus <= 16 else "4"


def _read_io_threads(expected: Expected) -> str | None:
    cpus = expected.host.logical_cpus
    return None if cpus is None else f"{min(max(cpus // 2, 4), 64)}"


_RULES: dict[str, Callable[[Expected], str | None]] = {
    IO_CEILING: _ceiling,
    INSTANCES: _instances,
    CLEANERS: _cleaners,
    FLUSH_METHOD: _flush_method,
    "innodb_log_writer_threads": _log_writer_threads,
    "innodb_purge_threads": _purge_threads,
    "innodb_read_io_threads": _read_io_threads,
    "innodb_doublewrite_pages": lambda expected: expected.text("innodb_write_io_threads"),
}
