"""The names of our cgroups. They contain the owner, so that no list of them is needed."""

from __future__ import annotations

import re
import secrets

from benchmarks.servers.process import ProcessId, boot_id, this_process

PREFIX = "oltp-advisor-"
_NAME = re.compile(re.escape(PREFIX) + r".*\.(\d+)\.(\d+)\.(\d+)\.[0-9a-f]{8}")


def new_name(run: str) -> str:
    """A name for a cgroup of this process: run, pid namespace, pid, start time, something random.

    A cgroup does not outlive a boot, so pid and start time are the identity of its owner.
    """
    owner = this_process()
    readable = re.sub(r"[^A-Za-z0-9_-]", "-", run)[:60]
    numbers = f"{owner.namespace}.{owner.pid}.{owner.started}"
    return f"{PREFIX}{readable}.{numbers}.{secrets.token_hex(4)}"


def is_abandoned(name: str) -> bool:
    """Whether it is the name of a cgroup of ours whose owner is no more.

    False for owners in another pid namespace (a container), which cannot be seen from here.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return False
    namespace, pid, started = map(int, match.groups())
    return ProcessId(pid, started, boot_id(), namespace).is_dead()
