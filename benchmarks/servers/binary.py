"""Identifies a server program: flavour, version and the digest of the actual binary."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from benchmarks.errors import DeviceUnusable, NotAServer
from benchmarks.ownership import trusted_path
from benchmarks.processes.child import MAX_OUTPUT_BYTES, run

IDENTIFY_DEADLINE_S = 10.0
_MAX_HELP_BYTES = 2 * 1024**2
# A line of the explanations ("  -u, --user=name") or of the list of values ("user   mysql").
_OPTION = re.compile(r"^(?: {1,4}(?:-\S, )?--|(?=[a-z0-9-]+  ))([a-z][a-z0-9_-]*)", re.M | re.I)
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

    It is asked as the user the server will run as, never as root. Raises NotAServer when it is
    missing, not executable, something else, too old, others could change it, or it does not answer
    in 10 s and 64 KiB; NoServerUser when that user does not exist.
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
    program = _trusted_program(path)
    flavour, version, text = parse_version(_ask(path, "--version"), path)
    with program.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return ServerBinary(path, flavour, version, text, digest, _basedir(path, program))


def parse_version(output: str, path: Path) -> tuple[Flavour, tuple[int, int, int], str]:
    """Read the answer to --version; raises NotAServer when no supported server gave it."""
    match = _VERSION_LINE.search(output)
    if match is None:
        seen = output.strip().splitlines()[0][:120] if output.strip() else "nothing"
        raise NotAServer(f"{path} is not a mysqld: with --version it printed {seen!r}")
    version = (int(match["major"]), int(match["minor"]), int(match["patch"]))
    said = f"{match['text']} {match['rest']}".lower()
    flavour = next(
        (one for one in (Flavour.MARIADB, Flavour.PERCONA) if one in said), Flavour.MYSQL
    )
    oldest = OLDEST_MARIADB if flavour is Flavour.MARIADB else OLDEST_MYSQL
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
    said = _ask(binary.path, "--verbose", "--help", most_bytes=_MAX_HELP_BYTES)
    return frozenset(name.replace("-", "_").lower() for name in _OPTION.findall(said))


def _ask(path: Path, *arguments: str, most_bytes: int = MAX_OUTPUT_BYTES) -> str:
    """Return the output of a server program, standard error included; raises NotAServer."""
    try:
        # --no-defaults: a broken /etc/my.cnf must not decide whether this is a server.
        finished = run(
            path, "--no-defaults", *arguments, timeout_s=IDENTIFY_DEADLINE_S, most_bytes=most_bytes
        )
    except TimeoutError as error:
        raise NotAServer(
            f"{path} is not a mysqld: with --version it did not answer "
            f"in {IDENTIFY_DEADLINE_S:.0f} s"
        ) from error
    except OSError as error:
        raise NotAServer(f"{path} cannot be run: {error.strerror}") from error
    if finished.is_cut:
        raise NotAServer(f"{path} is not a mysqld: it printed more than {most_bytes // 1024} KiB")
    return finished.output


def _trusted_program(path: Path) -> Path:
    """Return the ELF program that `path` runs, without links; for a digest.

    That is the file itself; for a script it is the mysqld or mariadbd in usr/sbin below the
    script's folder. Set-up installs its servers with such a wrapper, which finds their libraries.
    Raises NotAServer unless only root and this user can change or replace script and program.
    """
    try:
        real = trusted_path(path)
        if not real.is_file():
            raise NotAServer(f"{path} is not started: {real} is not a file")
        for program in (
            real,
            *(real.parent / f"usr/sbin/{name}" for name in ("mysqld", "mariadbd")),
        ):
            if program.is_file() and _is_elf(found := trusted_path(program)):
                return found
    except DeviceUnusable as error:
        raise NotAServer(f"{path} is not started: {error}") from error
    except OSError as error:
        raise NotAServer(f"{path} cannot be read: {error.strerror}") from error
    raise NotAServer(f"{path} is a script; name the server program itself (an ELF binary)")


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _basedir(path: Path, program: Path) -> Path | None:
    """The root of a server that was unpacked anywhere; None where the package's paths hold."""
    if path.resolve() != program:  # a wrapper
        return path.resolve().parent / "usr"
    root = program.parent.parent
    if root == Path("/usr"):
        return None
    return root if (root / "share").is_dir() else None
