"""my.cnf as the server reads it: our instance options first, then the candidate's knobs.

Facts on the format: MySQL Reference Manual, "Using Option Files".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from benchmarks.engines import innodb
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.flavours import instance_rules
from benchmarks.servers.forbidden import is_forbidden, leaves_the_run
from benchmarks.servers.paths import InstancePaths
from benchmarks.servers.reach import Reach

#: The server reads a file in pieces of 4 KiB: what is longer continues as another line.
MAX_LINE_BYTES = 4095
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
    ours: list[tuple[str, str | None]] = [
        *location_options(binary, paths),
        ("port", str(port)),
        ("init_file", str(paths.init_file)),
        *innodb.shutdown_options(is_kept=not fast_shutdown),
        *(rule for rule in instance_rules(binary) if not (reach and reach.replaces(rule[0]))),
        *_offered(paths, reach),
    ]
    knobs = check_options(options)
    if "local_infile" not in (name for name, _ in knobs):
        ours.append(("local_infile", "OFF"))  # on by default before 8.0; only the loader needs it
    return config_text(ours, knobs)


def option_value(value: str) -> str:
    """A value as it must be written for the server to read back exactly this text."""
    if _PLAIN.fullmatch(value):
        return value
    return '"' + "".join(_ESCAPES.get(letter, letter) for letter in value) + '"'


def option_line(name: str, value: str | None) -> str:
    """One line; None is a bare option."""
    return name if value is None else f"{name} = {option_value(value)}"


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
        options += innodb.log_options(paths.log_dir)
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


def _binary_log(name: str, value: str | None) -> tuple[str, str | None]:
    """log_bin as the variable it is read back as (ON/OFF).

    In an option file its value is a file name: `log_bin = OFF` would log to a file called OFF.
    """
    wanted = True if value is None else _ON_OFF.get(value.strip().lower())
    if wanted is None:
        raise ValueError(f"{name} takes ON or OFF here, not {value!r}")
    return ("log_bin", "binlog") if wanted == (name == "log_bin") else ("skip_log_bin", None)
