"""The values that a running server will have: the config's, else its defaults.

Formulas from the servers' sources (MySQL 5.7.37, 8.0.41, 9.7.0; MariaDB 10.11), see the catalogue.
None means that a value cannot be known without the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.values import fixed_default
from tuning.configs.variables import (
    CHUNK,
    CLEANERS,
    DEDICATED,
    DIRECT_METHODS,
    FLUSH_METHOD,
    GTID_CONSISTENCY,
    GTID_MODE,
    INSTANCES,
    IO_CAPACITY,
    IO_CEILING,
    POOL,
    REDO,
    has_capacity,
    redo_bytes,
)

MIB = 1024**2
GIB = 1024**3
DEFAULT_CHUNK = 128 * MIB
_ONE_INSTANCE_BELOW = GIB
#: MariaDB's chunks are fixed before this version; from then on they depend on the pool.
FIXED_CHUNKS_UNTIL = (10, 8, 0)
_MARIADB_WITHOUT_CHUNKS = (10, 11, 12)
_COMPUTES_MORE = (8, 4, 0)
_OLD_CLEANERS = 4


@dataclass(frozen=True)
class HostFacts:
    """The host and the load under which a config will run; None is unknown.

    `memory_budget_bytes` is the memory that the server may use (limits of control groups count),
    `host_memory_bytes` what it sees, `connections` the most that a workload opens, `direct_io`
    whether the file system supports O_DIRECT, `open_files` the server's limit on open files,
    `binary_log` whether the study enables it. `pool_chunk_bytes` is the chunk of the buffer pool
    that every config of a scale model has instead of the server's default. `server_options` are
    the options that the server program lists. `is_stated`: the user stated the memory, as that of
    the server for which their files were written, so a file must fit into it as it is.
    """

    memory_budget_bytes: int | None = None
    connections: int | None = None
    direct_io: bool | None = None
    logical_cpus: int | None = None
    host_memory_bytes: int | None = None
    open_files: int | None = None
    binary_log: bool | None = None
    pool_chunk_bytes: int | None = None
    server_options: frozenset[str] | None = None
    is_stated: bool = False


UNKNOWN = HostFacts()


def dedicated_pool(memory: int) -> int:
    """Return the buffer pool that innodb_dedicated_server of MySQL chooses for the memory."""
    if memory < GIB:
        return 128 * MIB
    return memory * 3 // 4 if memory > 4 * GIB else memory // 2


def dedicated_redo(cpus: int) -> int:
    """Return the redo log that innodb_dedicated_server of MySQL 8.4 and later chooses."""
    return max(1, min(cpus // 2, 16)) * GIB


class Expected:
    """The values that result from these normalised knobs on the target."""

    def __init__(
        self,
        knobs: Mapping[str, str],
        target: ServerTraits,
        host: HostFacts = UNKNOWN,
    ) -> None:
        self.knobs = knobs
        self.target = target
        self.host = host

    def text(self, name: str) -> str | None:
        """The requested value, else the default if that is a plain value."""
        if name in self.knobs:
            return self.knobs[name]
        if name == CHUNK and self.host.pool_chunk_bytes is not None:
            return f"{self.host.pool_chunk_bytes}"
        knob = load_catalogue().get(name)
        return fixed_default(knob, self.target) if knob else None

    def number(self, name: str) -> float | None:
        """The value as a number."""
        text = self.text(name)
        try:
            return None if text is None else float(text)
        except ValueError:
            return None

    def whole(self, name: str) -> int | None:
        """The value as a whole number, exact however large."""
        text = self.text(name)
        return int(text) if text is not None and text.isascii() and text.isdigit() else None

    def dedicated(self) -> bool:
        """Whether the server sizes itself for the host (innodb_dedicated_server)."""
        return self.knobs.get(DEDICATED) == "ON"

    def unsupported_flush(self) -> str | None:
        """The flush method, if the device's file system is known not to support direct I/O."""
        method = self.text(FLUSH_METHOD)
        return method if self.host.direct_io is False and method in DIRECT_METHODS else None

    def breaks_gtid(self) -> bool:
        """Whether GTIDs are on without their prerequisites; the server does not start then."""
        return self.text(GTID_MODE) == "ON" and self.text(GTID_CONSISTENCY) != "ON"

    def pool(self) -> int | None:
        """Bytes of buffer pool, rounded as the server rounds them."""
        asked = self.whole(POOL)
        if POOL not in self.knobs and self.dedicated():
            memory = self.host.host_memory_bytes
            asked = None if memory is None else dedicated_pool(memory)
        return None if asked is None else self._rounded(asked)

    def instances(self, pool: int) -> int | None:
        """Parts of a pool of that size; MariaDB has one."""
        if self.target.mariadb or pool < _ONE_INSTANCE_BELOW:
            return 1
        asked = int(self.knobs.get(INSTANCES, "0"))
        if asked:
            return asked
        if self.target.version < (8, 4, 0):
            return 8
        cpus = self.host.logical_cpus
        chunk = self.whole(CHUNK)
        if cpus is None or chunk is None:
            return None
        return max(1, min(pool // (2 * chunk), cpus // 4, 64))

    def redo(self) -> int | None:
        """Bytes of redo log, all files together."""
        asked = self.knobs.keys() & set(REDO)
        if not asked and self.dedicated() and has_capacity(self.target):
            cpus = self.host.logical_cpus
            is_known = cpus is not None and self.target.version >= (8, 4, 0)
            return dedicated_redo(cpus or 0) if is_known else None
        return redo_bytes(self.whole, asked, self.target)

    def _rounded(self, asked: int) -> int:
        if self.target.mariadb:
            if self.target.version < FIXED_CHUNKS_UNTIL and asked > 128 * MIB:
                unit = self.whole(CHUNK) or DEFAULT_CHUNK
                return -(-asked // unit) * unit
            if self.target.version < _MARIADB_WITHOUT_CHUNKS:
                return asked
            return asked // MIB * MIB
        # Up to whole chunks of every instance; a chunk that is too large shrinks first.
        asked = asked // MIB * MIB
        instances = self.instances(asked)
        chunk = self.whole(CHUNK)
        if instances is None or not chunk:
            return asked
        if chunk * instances > asked:
            chunk = -(-asked // instances)
            if self.target.version >= (8, 0, 0):
                chunk = -(-chunk // MIB) * MIB
        unit = chunk * instances
        return -(-asked // unit) * unit


def by_itself(name: str, expected: Expected) -> str | None:
    """Return the value that the server has where `expected` does not set the variable."""
    knob = load_catalogue().get(name)
    if knob is None or not knob.exists_in(expected.target):
        return None
    fixed = fixed_default(knob, expected.target)
    return _computed(name, expected) if fixed is None else fixed


def default_ceiling(capacity: str, server: ServerTraits) -> str:
    """Return innodb_io_capacity_max if it is not set (catalogue: innodb_io_capacity_max)."""
    twice = 2 * int(capacity)
    newer = not server.mariadb and server.version >= _COMPUTES_MORE
    return f"{twice if newer else max(2000, twice)}"


def _computed(name: str, expected: Expected) -> str | None:
    """Return a default that the server computes, by the rule in the catalogue."""
    target, host = expected.target, expected.host
    if name == IO_CEILING:
        capacity = expected.text(IO_CAPACITY)
        return None if capacity is None else default_ceiling(capacity, target)
    if name in (INSTANCES, CLEANERS):
        pool = expected.pool()
        instances = None if pool is None else expected.instances(pool)
        if instances is None:
            return None
        is_bounded = name == CLEANERS and target.version < _COMPUTES_MORE
        return f"{min(_OLD_CLEANERS, instances) if is_bounded else instances}"
    if name == FLUSH_METHOD and host.direct_io is not None:
        return "O_DIRECT" if host.direct_io else "fsync"
    if name == "innodb_doublewrite_pages":
        return expected.text("innodb_write_io_threads")
    if (cpus := host.logical_cpus) is None:
        return None
    writers_from = 5 if host.binary_log is False else 32
    by_cpus = {
        "innodb_log_writer_threads": "ON" if cpus >= writers_from else "OFF",
        "innodb_purge_threads": "1" if cpus <= 16 else "4",
        "innodb_read_io_threads": f"{min(max(cpus // 2, 4), 64)}",
    }
    return by_cpus.get(name)
