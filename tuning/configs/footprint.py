"""What a config takes of the host before it has done any work: memory and redo log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tuning.errors import InvalidConfig, Problem

# What the server, the driver and the system need beside the buffer pool.
LARGEST_POOL_SHARE = 0.85
_POOL = "innodb_buffer_pool_size"


class HasKnobs(Protocol):
    """A candidate: its name and normalised knobs."""

    @property
    def name(self) -> str: ...

    @property
    def knobs(self) -> Mapping[str, str]: ...


def check_memory(candidates: Sequence[HasKnobs], memory_bytes: int) -> None:
    """Refuse buffer pools that this host cannot hold; raises InvalidConfig with all of them.

    A pool above the memory would not fail cleanly: MySQL starts, and the host swaps or stands
    still (seen with 900 GiB on a host of 24 GiB).
    """
    most = int(memory_bytes * LARGEST_POOL_SHARE)
    problems = [
        Problem(
            candidate.name,
            None,
            _POOL,
            f"{_gib(int(candidate.knobs[_POOL]))} is more than {LARGEST_POOL_SHARE:.0%} of this "
            f"host's memory ({_gib(memory_bytes)})",
        )
        for candidate in candidates
        if int(candidate.knobs.get(_POOL, "0")) > most
    ]
    if problems:
        raise InvalidConfig(problems)


def redo_bytes(candidates: Sequence[HasKnobs]) -> int:
    """The largest redo log of the candidates, in bytes."""
    return max((_redo(candidate.knobs) for candidate in candidates), default=0)


def _redo(knobs: Mapping[str, str]) -> int:
    size = int(knobs.get("innodb_log_file_size", "0"))
    files = int(knobs.get("innodb_log_files_in_group", "1"))
    return max(size * files, int(knobs.get("innodb_redo_log_capacity", "0")))


def _gib(count: int) -> str:
    return f"{count / 1024**3:.1f} GiB"
