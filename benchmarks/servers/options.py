"""my.cnf as the server reads it: our instance options first, then the candidate's knobs."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.processes.users import ServerUser
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.flavours import instance_rules
from benchmarks.servers.forbidden import is_forbidden, leaves_the_run
from benchmarks.servers.option_file import MAX_LINE_BYTES, option_line
from benchmarks.servers.reach import Reach

OWN = "own"  # the folder that is the server's
_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?")
_PLUGIN_FOLDERS = ("lib/mysql/plugin", "lib64/mysql/plugin", "lib/plugin", "lib64/plugin")
_ON_OFF = {"on": True, "1": True, "true": True, "off": False, "0": False, "false": False}


@dataclass(frozen=True)
class InstancePaths:
    """Where one instance keeps what; every path absolute.

    `run_dir` is ours: the server can neither replace its my.cnf nor put a link where we write.
    """

    data_dir: Path
    run_dir: Path
    log_dir: Path | None = None
    socket_name: str = field(default_factory=lambda: f"{secrets.token_hex(4)}.sock")

    @property
    def config(self) -> Path:
        """The file named by --defaults-file."""
        return self.run_dir / "my.cnf"

    @property
    def init_file(self) -> Path:
        """SQL that makes the accounts; exists only while the server starts."""
        return self.run_dir / "init.sql"

    @property
    def own_dir(self) -> Path:
        """Folder for files outside of the data directory: the server's only part of `run_dir`."""
        return self.run_dir / OWN

    @property
    def error_log(self) -> Path:
        """The server's error log."""
        return self.own_dir / "error.log"

    @property
    def console(self) -> Path:
        """File for the output before the server opens its error log; we open it."""
        return self.run_dir / "console.log"

    @property
    def socket(self) -> Path:
        """The server's Unix socket; its folder is private to us and the server."""
        return self.own_dir / self.socket_name

    @property
    def socket_from_data(self) -> str:
        """The socket's path from the data directory, where mysqld runs.

        An absolute path may be longer than the 107 bytes of sockaddr_un.
        """
        return os.path.relpath(self.socket, self.data_dir)

    @property
    def certificate(self) -> Path:
        """The certificate of a server that is reached over TLS."""
        return self.run_dir / "server-cert.pem"

    @property
    def key(self) -> Path:
        """Its private key."""
        return self.run_dir / "server-key.pem"

    @property
    def tmp_dir(self) -> Path:
        """The server's temporary files, and the only place LOAD DATA may read on MariaDB."""
        return self.own_dir / "tmp"


def render_config(
    binary: ServerBinary,
    paths: InstancePaths,
    *,
    port: int,
    options: Mapping[str, str | None],
    fast_shutdown: bool,
    reach: Reach | None = None,
) -> str:
    """The text of my.cnf. Raises ValueError when `options` reach for what is ours."""
    ours: list[tuple[str, str | None]] = [
        *location_options(binary, paths),
        ("port", str(port)),
        ("init_file", str(paths.init_file)),
        # 2 leaves flushing to crash recovery: a run's clone is thrown away. 0 is for a data
        # directory that is kept.
        ("innodb_fast_shutdown", "2" if fast_shutdown else "0"),
        *(rule for rule in instance_rules(binary) if not (reach and reach.replaces(rule[0]))),
        *_offered(paths, reach),
    ]
    knobs = check_options(options)
    if "local_infile" not in (name for name, _ in knobs):
        ours.append(("local_infile", "OFF"))  # on by default before 8.0; only the loader needs it
    return config_text(ours, knobs)


def config_text(ours: list[tuple[str, str | None]], knobs: list[tuple[str, str | None]]) -> str:
    """An option file; the later line wins, so `knobs` must have passed `check_options`."""
    lines = ["# Written for one run; changes are lost.", "[mysqld]"]
    lines += [option_line(name, value) for name, value in ours]
    lines += ["# The candidate's settings.", *(option_line(name, value) for name, value in knobs)]
    return "\n".join(lines) + "\n"


def location_options(binary: ServerBinary, paths: InstancePaths) -> list[tuple[str, str | None]]:
    """The options that say where things are."""
    options: list[tuple[str, str | None]] = []
    if binary.basedir is not None:
        options.append(("basedir", str(binary.basedir)))
        for share in share_folders(binary):
            if (share / "english" / "errmsg.sys").exists():
                options.append(("lc_messages_dir", str(share)))
                options.append(("character_sets_dir", str(share / "charsets")))
                break
        plugins = (binary.basedir / folder for folder in _PLUGIN_FOLDERS)
        if found := next((folder for folder in plugins if folder.is_dir()), None):
            options.append(("plugin_dir", str(found)))
    options += [
        ("datadir", str(paths.data_dir)),
        ("tmpdir", str(paths.tmp_dir)),
        ("socket", paths.socket_from_data),
        ("pid_file", str(paths.own_dir / "mysqld.pid")),
        ("log_error", str(paths.error_log)),
    ]
    if paths.log_dir is not None:
        options.append(("innodb_log_group_home_dir", str(paths.log_dir)))
    if binary.flavour is Flavour.MARIADB:  # which has no NULL here
        options.append(("secure_file_priv", str(paths.tmp_dir)))
    return options


def _offered(paths: InstancePaths, reach: Reach | None) -> list[tuple[str, str | None]]:
    """The options of a server that a load host reaches."""
    if reach is None:
        return []
    offered: list[tuple[str, str | None]] = [("bind_address", reach.address)]
    if reach.encrypted:
        offered += [("ssl_cert", str(paths.certificate)), ("ssl_key", str(paths.key))]
    return offered


def share_folders(binary: ServerBinary) -> list[Path]:
    """Where packages and tarballs keep messages and system-table scripts, likeliest first."""
    root = binary.basedir or binary.path.resolve().parent.parent
    return [root / "share" / "mysql", root / "share" / "mariadb", root / "share"]


def check_options(options: Mapping[str, str | None]) -> list[tuple[str, str | None]]:
    """Normalised (name, value) pairs; ValueError for a name or value that has no place here.

    The last guard before a file that a server reads: one that is reached means that a gate above
    is broken.
    """
    checked: list[tuple[str, str | None]] = []
    for given, value in options.items():
        name = given.strip().lower().replace("-", "_")
        if not _NAME.fullmatch(name):
            raise ValueError(f"{given!r} is not an option name")
        if name in ("log_bin", "skip_log_bin"):
            checked.append(_binary_log(name, value))
            continue
        if is_forbidden(name):
            raise ValueError(f"the option {name} belongs to the instance and cannot be set")
        if value is not None and any(ord(char) < 32 for char in value):
            raise ValueError(f"the value of {name} holds a control character")
        if len(option_line(name, value).encode()) > MAX_LINE_BYTES:
            raise ValueError(f"the line of {name} is longer than {MAX_LINE_BYTES} bytes")
        if leaves_the_run(value):
            raise ValueError(f"the value of {name} could name a file")
        checked.append((name, value))
    return checked


def write_private(path: Path, text: str, user: ServerUser | None) -> None:
    """Write a file, in a folder of ours, that only the server's user can read."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        if user is not None:
            os.fchown(descriptor, user.uid, user.gid)
        file.write(text)


def _binary_log(name: str, value: str | None) -> tuple[str, str | None]:
    """log_bin as the variable it is read back as (ON/OFF).

    In an option file its value is a file name: `log_bin = OFF` would log to a file called OFF.
    """
    wanted = True if value is None else _ON_OFF.get(value.strip().lower())
    if wanted is None:
        raise ValueError(f"{name} takes ON or OFF here, not {value!r}")
    return ("log_bin", "binlog") if wanted == (name == "log_bin") else ("skip_log_bin", None)
