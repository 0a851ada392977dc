"""The values that a running server will have: those of the config, else its defaults.

Formulas from the servers' sources (MySQL 5.7.37, 8.0.41, 9.7.0; MariaDB 10.11), see the catalogue.
None means that a value cannot be known without the server.
"""

from __future__ import annotations

from collections.abc import Mapping

from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.host import UNKNOWN, HostFacts
from tuning.configs.effective.redo import redo_bytes
from tuning.configs.effective.variables import (
    CHUNK,
    DEDICATED,
    DIRECT_METHODS,
    FLUSH_METHOD,
    GTID_CONSISTENCY,
    GTID_MODE,
    INSTANCES,
    POOL,
    REDO,
    has_capacity,
)
from tuning.configs.values import fixed_default

MIB = 1024**2
GIB = 1024**3
DEFAULT_CHUNK = 128 * MIB
_ONE_INSTANCE_BELOW = GIB
#: MariaDB's chunks are fixed before this version; from then on they depend on the pool.
FIXED_CHUNKS_UNTIL = (10, 8, 0)
_MARIADB_WITHOUT_CHUNKS = (10, 11, 12)


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
