"""The unprivileged user that servers, drivers and fio run as, and the clean room they start in."""

from __future__ import annotations

import os
import pwd
import resource
import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import NoServerUser

USER_VARIABLE = "ADVISOR_SERVER_USER"
DEFAULT_USER = "oltp-advisor"

# Nothing else reaches the server: MYSQL_HOME, MYSQL_TCP_PORT, MYSQL_UNIX_PORT, NOTIFY_SOCKET and
# LD_PRELOAD would each change what is measured, or where it listens.
_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "TZ")
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Enough for every candidate's table_open_cache and max_connections; a constant, so that
# open_files_limit and what the server derives from it do not differ from shell to shell.
OPEN_FILES = 65_536
_CAP_SYS_RESOURCE = 24


@dataclass(frozen=True)
class ServerUser:
    """The system user that a server is started as."""

    name: str
    uid: int
    gid: int


def server_user() -> ServerUser | None:
    """Return the user servers run as: None when we are not root, because then it is ourselves.

    Raises NoServerUser when we are root and the user is missing or is root by another name.
    """
    if os.geteuid() != 0:
        return None
    name = os.environ.get(USER_VARIABLE) or DEFAULT_USER
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise NoServerUser(
            f"servers and drivers are never run as root and there is no system user {name!r}; "
            f"run `make setup`, or name another user in {USER_VARIABLE}"
        ) from None
    if entry.pw_uid == 0:
        raise NoServerUser(
            f"{USER_VARIABLE}={name} is root; servers and drivers are never run as root"
        )
    return ServerUser(name, entry.pw_uid, entry.pw_gid)


def uid_of(user: ServerUser | None) -> int:
    """Return the owner of what a server writes."""
    return os.geteuid() if user is None else user.uid


def launcher(user: ServerUser | None, file_bytes: int | None = None) -> list[str]:
    """Return the words before a program's command: limits, user, and death with the parent.

    `file_bytes` limits what the program can write into any one file, its output included.
    PR_SET_PDEATHSIG is cleared by a change of user, hence setpriv does both in the right order.
    It follows the parent *thread*: a server must be started by a thread that outlives it.
    """
    soft = open_files()
    # No core file: it would hold the data of the run and could fill the device.
    command = [tool("prlimit"), f"--nofile={soft}:{soft}", "--core=0:0"]
    if file_bytes is not None:
        command.append(f"--fsize={file_bytes}:{file_bytes}")
    command.append(tool("setpriv"))
    if user is not None:
        command += [f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups"]
        command += ["--no-new-privs"]
    return [*command, "--pdeathsig", "KILL", "--"]


def clean_environment() -> dict[str, str]:
    """Return the environment a server is started with."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {"PATH": _SYSTEM_PATH, "LC_ALL": "C", "HOME": "/nonexistent", **kept}


def open_files() -> int:
    """Return how many files a server may open: OPEN_FILES, or fewer where that is not allowed."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= OPEN_FILES:
        return OPEN_FILES
    # Root in a container often lacks the right to raise limits.
    status = Path("/proc/self/status").read_text()
    effective = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    may_raise = int(effective.split()[1], 16) >> _CAP_SYS_RESOURCE & 1
    return OPEN_FILES if may_raise else hard


def tool(name: str) -> str:
    """Return the path of a system program. Raises NoServerUser if it is not installed."""
    found = shutil.which(name, path=_SYSTEM_PATH)
    if found is None:
        raise NoServerUser(f"{name} (of util-linux and coreutils) is missing; run `make setup`")
    return found
