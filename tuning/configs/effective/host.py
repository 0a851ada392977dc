"""What a config will meet on the host: the rules that need a figure are silent without it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HostFacts:
    """Where and under what load a config will run; None is unknown.

    `memory_budget_bytes` is what the server may use of the host (a control group's limit counts),
    `host_memory_bytes` what it sees, `connections` the most that a workload opens, `direct_io`
    whether the file system takes O_DIRECT, `open_files` the server's limit on open files,
    `binary_log` whether the study has it on.
    """

    memory_budget_bytes: int | None = None
    connections: int | None = None
    direct_io: bool | None = None
    logical_cpus: int | None = None
    host_memory_bytes: int | None = None
    open_files: int | None = None
    binary_log: bool | None = None


UNKNOWN = HostFacts()
