"""The names of our cgroups. They contain the owner, so that no list of them is needed."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from benchmarks.servers.process import ProcessId, boot_id, process_id

PREFIX = "oltp-advisor-"
_PID_NAMESPACE = Path("/proc/self/ns/pid")
_NAME = re.compile(re.escape(PREFIX) + r".*\.(\d+)\.(\d+)\.(\d+)\.[0-9a-f]{8}")


def new_name(run: str) -> str:
    """A name for a cgroup of this process: run, pid namespace, pid, start time, something random.

    A cgroup does not outlive a boot, so pid and start time are the identity of its owner.
    """
    owner = process_id(os.getpid())
    if owner is None:
        raise RuntimeError("/proc does not show this process; is it mounted?")
    readable = re.sub(r"[^A-Za-z0-9_-]", "-", run)[:60]
    numbers = f"{_pid_namespace()}.{owner.pid}.{owner.started}"
    return f"{PREFIX}{readable}.{numbers}.{secrets.token_hex(4)}"


def is_abandoned(name: str) -> bool:
    """Whether it is the name of a cgroup of ours whose owner is no more.

    False for owners in another pid namespace (a container), which cannot be seen from here.
    """
    match = _NAME.fullmatch(name)
    if match is None or int(match[1]) != _pid_namespace():
        return False
    return not ProcessId(int(match[2]), int(match[3]), boot_id()).alive()


def _pid_namespace() -> int:
    return _PID_NAMESPACE.stat().st_ino
