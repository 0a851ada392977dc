"""Facts about the host; rules that need an unknown fact do not apply."""

from __future__ import annotations

from dataclasses import dataclass


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
