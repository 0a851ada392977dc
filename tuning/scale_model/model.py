"""The proportions of a scale model, and what of it does not shrink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from benchmarks.counted import percent
from benchmarks.emulation.profile import scale_model_text
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.expected import DEFAULT_CHUNK, FIXED_CHUNKS_UNTIL, MIB
from tuning.configs.effective.memory import MAX_SHARE
from tuning.configs.effective.variables import CHUNK, FLUSH_METHOD
from tuning.scale_model.sizes import GB, size_text

#: Assumed bytes of a warehouse: 10 take 991 MB with MySQL 9.7 and 931 MB with MariaDB 10.11.
WAREHOUSE_BYTES = GB // 10
#: Every server begins with a buffer pool of 128 MiB, which the baseline has to find room for.
MIN_MEMORY_BYTES = int(DEFAULT_CHUNK / MAX_SHARE)
# A pool grows in chunks: with fewer of them than this in all memory its sizes would be too coarse.
_MIN_CHUNKS = 128


@dataclass(frozen=True)
class ScaleModel:
    """A server of `data_bytes` and `memory_bytes`, modelled with so many warehouses.

    own_bytes: what a server needs whatever its size (code, performance schema, connections); the
    model gets it on top, because it does not shrink. limits_memory: whether a control group holds
    the server to its memory; else only its buffer pool is scaled, and all configs use O_DIRECT.
    """

    data_bytes: int
    memory_bytes: int
    warehouses: int
    own_bytes: int
    limits_memory: bool = True

    @property
    def model_data_bytes(self) -> int:
        """The data of the model."""
        return self.warehouses * WAREHOUSE_BYTES

    @property
    def model_memory_bytes(self) -> int:
        """The memory of the model for its buffer pool and its page cache."""
        return self.model_data_bytes * self.memory_bytes // self.data_bytes

    @property
    def scale(self) -> float:
        """How many times larger the real server is."""
        return self.data_bytes / self.model_data_bytes

    @property
    def limit_bytes(self) -> int:
        """The memory limit of the server, its own needs included."""
        return self.model_memory_bytes + self.own_bytes

    @property
    def title(self) -> str:
        """ "scale model 1:200"."""
        return scale_model_text(self.scale)

    @property
    def min_warehouses(self) -> int:
        """The fewest warehouses with which the model has memory enough for a server."""
        return ceil(MIN_MEMORY_BYTES * self.data_bytes / self.memory_bytes / WAREHOUSE_BYTES)

    def max_warehouses(self, memory_bytes: int) -> int:
        """The most warehouses of a model that fits into so much memory; 0 if none does."""
        room = max(memory_bytes - self.own_bytes, 0)
        by_memory = room * self.data_bytes // self.memory_bytes // WAREHOUSE_BYTES
        return min(by_memory, self.data_bytes // WAREHOUSE_BYTES)

    @property
    def sentence(self) -> str:
        """A sentence that says what was modelled and how memory was limited."""
        held = (
            f"mysqld is held to {size_text(self.limit_bytes)}: that and "
            f"{size_text(self.own_bytes)} for what does not shrink"
            if self.limits_memory
            else "memory could not be limited here, so only the buffer pool is scaled, and every "
            "config bypasses the page cache with O_DIRECT"
        )
        share = percent(self.memory_bytes / self.data_bytes)
        return (
            f"S{self.title[1:]}: {size_text(self.memory_bytes)} of memory for "
            f"{size_text(self.data_bytes)} of data ({share}), "
            f"measured as {size_text(self.model_memory_bytes)} for "
            f"{size_text(self.model_data_bytes)} ({self.warehouses} warehouses); {held}."
        )

    @property
    def note_on_sizes(self) -> str:
        """The note beside sizes that are shown as the model has them."""
        return f"Sizes that scale with memory are those of the {self.title}."

    def fitted(self, target: ServerTraits) -> dict[str, str]:
        """The options that every config sets only because it is in a model."""
        found: dict[str, str] = {}
        chunk = self.chunk_bytes(target)
        if chunk is not None:
            found[CHUNK] = f"{chunk}"
        if not self.limits_memory:
            found[FLUSH_METHOD] = "O_DIRECT"
        return found

    def only_here(self, target: ServerTraits) -> dict[str, str]:
        """The part of `fitted` that has no meaning outside the model."""
        return {name: value for name, value in self.fitted(target).items() if name == CHUNK}

    def chunk_bytes(self, target: ServerTraits) -> int | None:
        """The unit in which a pool grows here; None where the server's own is fine enough."""
        has_chunks = not target.mariadb or target.version < FIXED_CHUNKS_UNTIL
        if not has_chunks or self.model_memory_bytes >= _MIN_CHUNKS * DEFAULT_CHUNK:
            return None
        chunk = MIB
        while chunk * 2 * _MIN_CHUNKS <= self.model_memory_bytes:
            chunk *= 2
        return chunk

    def as_json(self) -> dict[str, Any]:
        """For a row; `from_json` reads it back."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None) -> ScaleModel | None:
        """The model as stored with a study; None for a study without."""
        return cls(**stored) if stored else None
