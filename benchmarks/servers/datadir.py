"""Creates an empty data directory whose root account cannot be used."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.errors import DeviceUnusable, NotAServer
from benchmarks.ownership import delete, give, trusted_path
from benchmarks.processes.child import Child, check_reachable, describe_exit
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.errorlog import meaningful, said
from benchmarks.servers.failures import start_failure
from benchmarks.servers.options import (
    check_options,
    config_text,
    location_options,
    network_options,
    share_folders,
)
from benchmarks.servers.paths import InstancePaths, make_run_dir, open_console, write_private
from benchmarks.servers.running import defaults_argument
from benchmarks.storage.reserve import no_room, room_of

_DEADLINE_S = 120.0
# The scripts were renamed from mysql_* to mariadb_* in MariaDB 11.
_SYSTEM_SCRIPTS = ("system_tables.sql", "performance_tables.sql", "system_tables_data.sql")

# system_tables_data.sql makes root accounts without a password, for this host's name too.
_LOCK_ROOT = """
DELETE FROM global_priv WHERE User IN ('', 'root');
INSERT INTO global_priv VALUES ('localhost', 'root', '{"access": 18446744073709551615, \
"plugin": "mysql_native_password", "authentication_string": "invalid", "account_locked": true}');
DELETE FROM proxies_priv;
"""


def create_data_dir(
    binary: ServerBinary, data_dir: Path, *, options: Mapping[str, str] | None = None
) -> None:
    """Initialise `data_dir`, which must not exist, owned by the server's user.

    `options` are what must be decided now, such as innodb_page_size. Afterwards no account can
    log in with an empty or known password: MySQL gives root a random one that is thrown away
    unread, MariaDB's is locked. On failure nothing is left behind; raises DeviceUnusable and
    RunFailed: NO_START, TIMED_OUT, DISK_FULL.
    """
    data_dir = data_dir.absolute()
    data_dir.mkdir()
    # It lies next to the data, so that the sweep of a killed process finds it too.
    scratch = Path(tempfile.mkdtemp(prefix=f"{data_dir.name}.init-", dir=data_dir.parent))
    try:
        paths = InstancePaths(data_dir, scratch)
        make_run_dir(paths)
        write_private(paths.config, _config(binary, paths, options or {}))
        give(data_dir)
        check_reachable(data_dir)
        _initialise(binary, paths)
    except BaseException:
        delete(data_dir)
        raise
    finally:
        delete(scratch)  # MySQL's log of it holds root's password


def _config(binary: ServerBinary, paths: InstancePaths, options: Mapping[str, str]) -> str:
    ours = [*location_options(binary, paths), *network_options(binary, paths)]
    ours.append(("skip_log_bin", None))
    if binary.flavour is Flavour.MARIADB:
        ours += [("max_allowed_packet", "8M"), ("enforce_storage_engine", "")]
    return config_text(ours, check_options(options))


def _initialise(binary: ServerBinary, paths: InstancePaths) -> None:
    command = [str(binary.path), defaults_argument(paths.run_dir)]
    with tempfile.TemporaryFile() as script, open_console(paths) as console:
        if binary.flavour is Flavour.MARIADB:
            # mariadb-install-db would call the server without the wrapper's own libraries.
            command.append("--bootstrap")
            script.write(_bootstrap_sql(binary).encode())
            script.seek(0)
        else:
            command.append("--initialize")
        with Child(command, cwd=paths.run_dir, stdin=script, stdout=console) as server:
            status = server.finish(
                "the server that makes a data directory",
                _DEADLINE_S,
                log_tail=lambda: meaningful(_log_lines(paths)),
            )
    if status != 0:
        if (room := room_of(paths.data_dir)).usable < 0:  # its log may be on the same full disk
            raise no_room(room)
        what = (
            f"the server could not make a data directory in {paths.data_dir} "
            f"({describe_exit(status)})"
        )
        raise start_failure(what, _log_lines(paths), binary.path)


def _bootstrap_sql(binary: ServerBinary) -> str:
    """Return MariaDB's system tables from the scripts it ships, with root locked."""
    parts = ["CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n"]
    for name in _SYSTEM_SCRIPTS:
        names = [f"{prefix}_{name}" for prefix in ("mariadb", "mysql")]
        scripts = [folder / name for folder in share_folders(binary) for name in names]
        script = next((script for script in scripts if script.is_file()), None)
        if script is None:
            raise NotAServer(f"{binary.path}: its package lacks mysql_{name} in share/")
        try:
            # The server does what it says: only root and we may be able to change it.
            parts.append(trusted_path(script).read_text(errors="replace"))
        except (OSError, DeviceUnusable) as error:
            raise NotAServer(f"{script} cannot be read: {error}") from error
    return "\n".join([*parts, _LOCK_ROOT])


def _log_lines(paths: InstancePaths) -> list[str]:
    return [line for line in said(paths, 1000) if "temporary password" not in line]
