"""Identifies a server program: flavour, version and the digest of the actual binary."""

from __future__ import annotations

import hashlib
import os
import re
import select
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from benchmarks.errors import NotAServer
from benchmarks.servers.privileges import (
    ASK_STEP_S,
    KILLED,
    clean_environment,
    launcher,
    server_user,
    unless_killed,
)
from benchmarks.servers.trusted import trusted_program

IDENTIFY_DEADLINE_S = 10.0
MAX_SAID_BYTES = 64 * 1024
_MAX_HELP_BYTES = 2 * 1024**2
# A line of the explanations ("  -u, --user=name") or of the list of values ("user   mysql").
_OPTION = re.compile(r"^(?: {1,4}(?:-\S, )?--|(?=[a-z0-9-]+  ))([a-z][a-z0-9_-]*)", re.M | re.I)
_SETTLED_S = 10.0  # the times of files have steps, of two seconds at most
OLDEST_MYSQL = (5, 7, 0)
OLDEST_MARIADB = (10, 6, 0)

# Only the server says "<...>/mysqld  Ver 8.0.36 for Linux ..."; mysqldump, mysqladmin and the
# `mysql` client print lines that differ in nothing but that first word.
_VERSION_LINE = re.compile(
    r"(?:^|/)(?:mysqld|mariadbd)(?:-\w+)?\s+Ver\s+"
    r"(?P<text>(?P<major>\d+)\.(?P<minor>\d+)\.(?P<patch>\d+)\S*)\s+"
    r"(?:from\s.*\s)?for\s+(?P<rest>.*)$",  # "from Debian": MariaDB of Debian 13
    re.MULTILINE,
)

# By what the file system says of the file; to read a server takes more than to ask its version.
_DIGESTS: dict[tuple[int, ...], str] = {}


class Flavour(StrEnum):
    """The flavours, whose options differ."""

    MYSQL = "mysql"
    PERCONA = "percona"
    MARIADB = "mariadb"


@dataclass(frozen=True)
class ServerBinary:
    """A server program that was seen to answer `--version`.

    `version_text` is what `SELECT version()` starts with, `digest` the SHA-256 (hex) of the ELF
    program, `basedir` the root of an unpacked server (None: the server knows its own).
    """

    path: Path
    flavour: Flavour
    version: tuple[int, int, int]
    version_text: str
    digest: str
    basedir: Path | None


def identify(path: Path) -> ServerBinary:
    """Identify the program at `path` by its `--version`.

    Its file is judged before it is run, see `trusted_program`. It is asked as the user the server
    will run as, never as root. Raises NotAServer when it is missing, not executable, something
    else, too old, others could change it, or it does not answer in 10 s and 64 KiB; NoServerUser
    when that user does not exist.
    """
    try:
        path = path.expanduser().absolute()
        if path.is_dir():
            raise NotAServer(f"{path} is a directory; name the server program itself (mysqld)")
        if not path.exists():
            raise NotAServer(f"{path} does not exist")
    except (OSError, RuntimeError) as error:  # too long, not to be entered, ~nobody
        raise NotAServer(f"{path} cannot be accessed: {error}") from error
    if not os.access(path, os.X_OK):
        raise NotAServer(f"{path} is not executable")
    program = trusted_program(path)
    flavour, version, text = parse_version(_ask(path), path)
    return ServerBinary(
        path=path,
        flavour=flavour,
        version=version,
        version_text=text,
        digest=_sha256(program),
        basedir=_basedir(path, program),
    )


def parse_version(output: str, path: Path) -> tuple[Flavour, tuple[int, int, int], str]:
    """Read the answer to --version; raises NotAServer when no supported server gave it."""
    match = _VERSION_LINE.search(output)
    if match is None:
        seen = output.strip().splitlines()[0][:120] if output.strip() else "nothing"
        raise NotAServer(f"{path} is not a mysqld: with --version it printed {seen!r}")
    version = (int(match["major"]), int(match["minor"]), int(match["patch"]))
    said = f"{match['text']} {match['rest']}".lower()
    if "mariadb" in said:
        flavour, oldest = Flavour.MARIADB, OLDEST_MARIADB
    elif "percona" in said:
        flavour, oldest = Flavour.PERCONA, OLDEST_MYSQL
    else:
        flavour, oldest = Flavour.MYSQL, OLDEST_MYSQL
    if version < oldest:
        raise NotAServer(
            f"{path} is {flavour} {match['text']}; "
            f"the oldest supported version is {oldest[0]}.{oldest[1]}"
        )
    return flavour, version, match["text"]


def known_options(binary: ServerBinary) -> frozenset[str]:
    """Return the options that the server program lists, with underscores; raises NotAServer.

    Options of loadable plugins are missing.
    """
    said = _ask(binary.path, ("--verbose", "--help"), _MAX_HELP_BYTES)
    return frozenset(name.replace("-", "_").lower() for name in _OPTION.findall(said))


def _ask(
    path: Path, arguments: tuple[str, ...] = ("--version",), most: int = MAX_SAID_BYTES
) -> str:
    """Return its output; a program that is killed from outside before is started again."""
    said, _ = unless_killed(
        lambda: _ask_once(path, arguments, most),
        lambda found: not found[0] and found[1] in KILLED,
    )
    return said


def _ask_once(path: Path, arguments: tuple[str, ...], most: int) -> tuple[str, int | None]:
    """Return its output, and its exit status unless it goes on."""
    # --no-defaults: a broken /etc/my.cnf must not decide whether this is a server.
    command = [*launcher(server_user()), str(path), "--no-defaults", *arguments]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=clean_environment(),
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise NotAServer(f"{path} cannot be run: {error.strerror}") from error
    with process:  # closes the pipe
        try:
            said = _said(process, path, most).decode(errors="replace")
            with suppress(subprocess.TimeoutExpired):
                process.wait(ASK_STEP_S)
            return said, process.returncode
        finally:
            with suppress(ProcessLookupError):  # it and what it started
                os.killpg(process.pid, signal.SIGKILL)


def _said(process: subprocess.Popen[bytes], path: Path, most: int) -> bytes:
    """Return its output until it ends; raises NotAServer when that is too late or too much.

    A time in which the host stood still does not count.
    """
    left_s = IDENTIFY_DEADLINE_S
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    said = b""
    while True:
        began = time.monotonic()
        has_output = bool(select.select([process.stdout], [], [], min(left_s, ASK_STEP_S))[0])
        left_s -= min(time.monotonic() - began, ASK_STEP_S)
        if left_s <= 0:
            raise NotAServer(
                f"{path} is not a mysqld: with --version it did not answer "
                f"in {IDENTIFY_DEADLINE_S:.0f} s"
            )
        if not has_output:
            continue
        part = os.read(process.stdout.fileno(), MAX_SAID_BYTES)
        said += part
        if not part:
            return said
        if len(said) > most:
            raise NotAServer(f"{path} is not a mysqld: it printed more than {most // 1024} KiB")


def _basedir(path: Path, program: Path) -> Path | None:
    """The root of a server that was unpacked anywhere; None where the package's paths hold."""
    if path.resolve() != program:  # a wrapper
        return path.resolve().parent / "usr"
    root = program.parent.parent
    if root == Path("/usr"):
        return None
    return root if (root / "share").is_dir() else None


def _sha256(path: Path) -> str:
    """Digest of the file, which is read again once its inode or its times have changed."""
    with path.open("rb") as file:
        found = os.fstat(file.fileno())
        # Both times are set by whatever writes to it; nobody can set the second one.
        seen = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        if seen not in _DIGESTS:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            if time.time() - found.st_ctime < _SETTLED_S:
                return digest  # it may be written to once more without another time
            _DIGESTS[seen] = digest
        return _DIGESTS[seen]
