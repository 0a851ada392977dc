"""my.cnf as the server reads it: our instance options first, then the candidate's knobs.

Facts on the format: MySQL Reference Manual, "Using Option Files".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from benchmarks.engines import innodb
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.forbidden import is_forbidden, leaves_the_run
from benchmarks.servers.paths import InstancePaths
from benchmarks.servers.reach import Reach

#: The server reads a file in pieces of 4 KiB: what is longer continues as another line.
MAX_LINE_BYTES = 4095
#: Name and value; None is a bare option.
Option = tuple[str, str | None]
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b"}
_PLAIN = re.compile(r"[A-Za-z0-9_.%:/,+-]+")
_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?")
_PLUGIN_FOLDERS = ("lib/mysql/plugin", "lib64/mysql/plugin", "lib/plugin", "lib64/plugin")
_ON_OFF = {"on": True, "1": True, "true": True, "off": False, "0": False, "false": False}


def render_config(
    binary: ServerBinary,
    paths: InstancePaths,
    *,
    port: int,
    options: Mapping[str, str | None],
    fast_shutdown: bool,
    reach: Reach | None = None,
) -> str:
    """Return the text of my.cnf. Raises ValueError if `options` set what the advisor sets."""
    ours = [
        *location_options(binary, paths),
        ("port", str(port)),
        ("init_file", str(paths.init_file)),
        *innodb.instance_options(fast_shutdown=fast_shutdown, log_dir=paths.log_dir),
        *network_options(binary, paths, reach),
    ]
    return config_text(ours, check_options(options))


def config_text(ours: list[Option], knobs: list[Option]) -> str:
    """Return an option file; the later line wins, so `knobs` must have passed `check_options`."""
    lines = ["# Written for one run; changes are lost.", "[mysqld]"]
    lines += [option_line(name, value) for name, value in ours]
    lines += ["# The candidate's settings.", *(option_line(name, value) for name, value in knobs)]
    return "\n".join(lines) + "\n"


def option_line(name: str, value: str | None) -> str:
    """Return one line; None is a bare option."""
    return name if value is None else f"{name} = {option_value(value)}"


def option_value(value: str) -> str:
    """Return a value as it must be written for the server to read back exactly this text."""
    if _PLAIN.fullmatch(value):
        return value
    return '"' + "".join(_ESCAPES.get(letter, letter) for letter in value) + '"'


def location_options(binary: ServerBinary, paths: InstancePaths) -> list[Option]:
    """Return the options that say where things are, and that nothing else is read or written."""
    options: list[Option] = []
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
        ("secure_file_priv", str(paths.rows_dir)),  # where LOAD DATA may read
        ("local_infile", "OFF"),  # on by default before 8.0
    ]
    if binary.flavour is not Flavour.MARIADB and binary.version >= (8, 0, 0):
        # mysqld-auto.cnf must not add to this file.
        options.append(("persisted_globals_load", "OFF"))
        if binary.flavour is Flavour.PERCONA:  # it writes into directories of its own
            options.append(("loose_percona_telemetry_disable", "ON"))
    return options


def network_options(
    binary: ServerBinary, paths: InstancePaths, reach: Reach | None = None
) -> list[Option]:
    """Return the options that decide who reaches the server; without a `reach` loopback only."""
    options: list[Option] = [
        ("bind_address", reach.address if reach else "127.0.0.1"),
        ("skip_name_resolve", None),  # accounts go by address
        ("server_id", "1"),  # 5.7 refuses log_bin without one
    ]
    is_mysql = binary.flavour is not Flavour.MARIADB
    if is_mysql and binary.version >= (8, 0, 11):  # a second port, for the X protocol
        options.append(("loose_mysqlx", "OFF"))
    if reach and reach.encrypted:
        return [*options, ("ssl_cert", str(paths.certificate)), ("ssl_key", str(paths.key))]
    # MySQL 8.4 no longer knows skip_ssl; MariaDB switches TLS on by itself since 11.4.
    is_newer = is_mysql and binary.version >= (8, 0, 16)
    return [*options, ("tls_version", "") if is_newer else ("skip_ssl", None)]


def share_folders(binary: ServerBinary) -> list[Path]:
    """Return where messages and system-table scripts of a package may be, likeliest first."""
    root = binary.basedir or binary.path.resolve().parent.parent
    return [root / "share" / "mysql", root / "share" / "mariadb", root / "share"]


def check_options(options: Mapping[str, str | None]) -> list[Option]:
    """Return normalised options; ValueError for a name or value that has no place here.

    The last guard before a file that a server reads: one that is reached means that a gate above
    is broken.
    """
    checked: list[Option] = []
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


def _binary_log(name: str, value: str | None) -> Option:
    """Return log_bin as the variable it is read back as (ON/OFF).

    In an option file its value is a file name: `log_bin = OFF` would log to a file called OFF.
    """
    wanted = True if value is None else _ON_OFF.get(value.strip().lower())
    if wanted is None:
        raise ValueError(f"{name} takes ON or OFF here, not {value!r}")
    return ("log_bin", "binlog") if wanted == (name == "log_bin") else ("skip_log_bin", None)
