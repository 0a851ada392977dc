"""The unprivileged user that servers, drivers and fio run as, and the clean room they start in."""

from __future__ import annotations

import ctypes
import os
import pwd
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchmarks.errors import DeviceUnusable, NoServerUser
from benchmarks.ownership import handover

USER_VARIABLE = "ADVISOR_SERVER_USER"
DEFAULT_USER = "oltp-advisor"
T = TypeVar("T")

# Nothing else reaches the server: MYSQL_HOME, MYSQL_TCP_PORT, MYSQL_UNIX_PORT, NOTIFY_SOCKET and
# LD_PRELOAD would each change what is measured, or where it listens.
_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "TZ")
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Enough for every candidate's table_open_cache and max_connections; a constant, so that
# open_files_limit and what the server derives from it do not differ from shell to shell.
OPEN_FILES = 65_536
_CAP_SYS_RESOURCE = 24
#: How often a program is asked that is killed from outside before it has answered.
_ASK_TIMES = 3
#: Exit statuses of one that was killed; of its shell, if it has one.
KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
#: Seconds that are waited at a time: what is longer, for the host stood still, counts as much.
ASK_STEP_S = 0.5
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38  # of linux/prctl.h


@dataclass(frozen=True)
class ServerUser:
    """The system user that a server is started as."""

    name: str
    uid: int
    gid: int


def server_user() -> ServerUser | None:
    """The user servers run as: None when we are not root, because then it is ourselves.

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


def launcher(user: ServerUser | None) -> list[str]:
    """The words before a server's command: limits, user, and death with the parent.

    PR_SET_PDEATHSIG is cleared by a change of user, hence setpriv does both in the right order.
    It follows the parent *thread*: a server must be started by a thread that outlives it.
    """
    soft = open_files()
    # No core file: it would hold the data of the run and could fill the device.
    command = [tool("prlimit"), f"--nofile={soft}:{soft}", "--core=0:0", tool("setpriv")]
    if user is not None:
        command += [f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups"]
        command += ["--no-new-privs"]
    return [*command, "--pdeathsig", "KILL", "--"]


def ask(program: Path, *words: str, timeout_s: float = 10) -> subprocess.CompletedProcess[str]:
    """Return the output of a program that is no server, as the servers' user: its version, say.

    One that is killed from outside is asked again; a time in which the host stood still does not
    count. Raises OSError, subprocess.TimeoutExpired and NoServerUser.
    """
    return unless_killed(
        lambda: _ask_once(program, *words, timeout_s=timeout_s),
        lambda said: said.returncode in KILLED,
    )


def unless_killed(ask_once: Callable[[], T], was_killed: Callable[[T], bool]) -> T:
    """The answer of a program; asked again while it is killed from outside, which says nothing."""
    for _ in range(_ASK_TIMES - 1):
        answer = ask_once()
        if not was_killed(answer):
            return answer
    return ask_once()


def _ask_once(program: Path, *words: str, timeout_s: float) -> subprocess.CompletedProcess[str]:
    with subprocess.Popen(
        [*launcher(server_user()), str(program), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=clean_environment(),
        cwd="/",
    ) as process:
        left_s = timeout_s
        while True:
            try:
                out, err = process.communicate(timeout=min(left_s, ASK_STEP_S))
                return subprocess.CompletedProcess(process.args, process.returncode, out, err)
            except subprocess.TimeoutExpired:
                left_s -= ASK_STEP_S
                if left_s <= 0:
                    process.kill()
                    raise


def clean_environment() -> dict[str, str]:
    """The environment a server is started with."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {"PATH": _SYSTEM_PATH, "LC_ALL": "C", "HOME": "/nonexistent", **kept}


def give(path: Path, user: ServerUser | None) -> None:
    """Make `path`, in a folder of ours, and everything below it the server user's.

    What is that user's already is left as it is.
    """
    if user is not None:
        handover.give(path, user.uid, user.gid)


def uid_of(user: ServerUser | None) -> int:
    """The owner of what a server writes."""
    return os.geteuid() if user is None else user.uid


def check_reachable(path: Path, user: ServerUser | None) -> None:
    """Raise DeviceUnusable when the server's user cannot write in the directory `path`.

    Asked of the kernel as that user, so that ACLs and read-only mounts count too.
    """
    if user is None:
        if not os.access(path, os.W_OK | os.X_OK):
            raise DeviceUnusable(f"{path} is not writable")
        return
    if may(user, "-w", path) and may(user, "-x", path):
        return
    for folder in reversed(path.parents):
        if not may(user, "-x", folder):
            raise DeviceUnusable(
                f"the user {user.name}, which mysqld runs as, cannot enter {folder}"
            )
    raise DeviceUnusable(f"the user {user.name}, which mysqld runs as, cannot write in {path}")


def become(user: ServerUser) -> None:
    """Make this process, which must have one thread, the server user's for good.

    For programs of our own that have to start as we do, because that user may not be able to read
    where we are installed. The kernel ends it with its parent, as it does what `launcher` starts.
    """
    os.setgroups([])
    os.setresgid(user.gid, user.gid, user.gid)
    os.setresuid(user.uid, user.uid, user.uid)
    libc = ctypes.CDLL(None, use_errno=True)
    for option, value in ((_PR_SET_NO_NEW_PRIVS, 1), (_PR_SET_PDEATHSIG, signal.SIGKILL)):
        if libc.prctl(option, value, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def may(user: ServerUser, right: str, path: Path) -> bool:
    """Whether that user has a right ("-x" as for test(1)) to a path, ACLs and mounts included."""
    command = [*launcher(user), tool("test"), right, str(path)]
    answer = unless_killed(
        lambda: subprocess.run(command, cwd="/", check=False).returncode,
        lambda status: status in KILLED,
    )
    return answer == 0


def open_files() -> int:
    """How many files a server of ours may open: OPEN_FILES, or fewer where that is not allowed."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= OPEN_FILES or _may_raise_limits():
        return OPEN_FILES
    return hard


def _may_raise_limits() -> bool:
    """Whether we hold CAP_SYS_RESOURCE, which root in a container often does not."""
    status = Path("/proc/self/status").read_text()
    effective = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective.split()[1], 16) >> _CAP_SYS_RESOURCE & 1)


def tool(name: str) -> str:
    """The path of a program of the system; NoServerUser when it is missing."""
    found = shutil.which(name, path=_SYSTEM_PATH)
    if found is None:
        raise NoServerUser(f"{name} (of util-linux and coreutils) is missing; run `make setup`")
    return found
