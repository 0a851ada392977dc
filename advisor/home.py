"""The advisor's home: private folders, the secret key, and where its own Redis listens."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

#: The kernel takes 107 bytes for the path of a Unix socket; some are left for a suffix.
MAX_SOCKET_PATH = 100


def private_dir(path: Path) -> Path:
    """Make `path` if need be, closed to everyone but this user. Raises ImproperlyConfigured."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o700)
    except OSError as error:
        raise ImproperlyConfigured(f"ADVISOR_HOME cannot be used: {error}") from error
    return path


def kept_secret(path: Path) -> str:
    """The secret in `path`; made on first use, readable by this user only."""
    if not path.exists():
        # Written whole and then linked: two processes that start together get the same secret.
        descriptor, draft = tempfile.mkstemp(dir=path.parent)
        try:
            with open(descriptor, "w") as file:
                file.write(secrets.token_urlsafe(50))
            with suppress(FileExistsError):
                os.link(draft, path)
        finally:
            os.unlink(draft)
    return path.read_text().strip()


def machine_wide_file() -> Path:
    """A file that all containers of this machine see as one, without anything mounted.

    It stands for a namespace of the kernel: that of times, which container engines leave alone,
    or of users on a kernel before 5.6.
    """
    times = Path("/proc/self/ns/time")
    return times if times.exists() else Path("/proc/self/ns/user")


def socket_path(run_dir: Path, name: str) -> Path:
    """`run_dir/name`, or a short private folder when that is too long for a Unix socket."""
    path = run_dir / name
    if len(str(path)) <= MAX_SOCKET_PATH:
        return path
    short = sha256(str(run_dir).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"oltp-advisor-{os.geteuid()}-{short}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    # Anybody may have made a folder of that name in /tmp, to be the Redis that we talk to.
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
        raise ImproperlyConfigured(f"{folder} is not a private folder of this user: remove it")
    return folder / name
