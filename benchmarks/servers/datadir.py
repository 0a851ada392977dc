"""Creates an empty data directory whose root account cannot be used."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.errors import DeviceUnusable, NotAServer
from benchmarks.ownership.deleting import delete
from benchmarks.ownership.handover import give
from benchmarks.processes.child import Child, check_reachable
from benchmarks.processes.kills import describe_exit
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.errorlog import meaningful, said
from benchmarks.servers.failures import start_failure
from benchmarks.servers.flavours import instance_rules
from benchmarks.servers.options import check_options, config_text, location_options, share_folders
from benchmarks.servers.paths import InstancePaths, make_run_dir, open_console, write_private
from benchmarks.servers.trusted import trusted_file
from benchmarks.storage.reserve import no_room, room_of

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
    binary: ServerBinary,
    data_dir: Path,
    *,
    options: Mapping[str, str] | None = None,
    deadline_s: float = 120,
) -> None:
    """Initialise `data_dir` (absent or empty), owned by the server's user.

    `options` are what must be decided now, such as innodb_page_size. Afterwards no account can
    log in with an empty or known password: MySQL gives root a random one that is thrown away
    unread, MariaDB's is locked. On failure nothing is left behind; raises RunFailed(NO_START),
    RunFailed(TIMED_OUT), RunFailed(DISK_FULL), DeviceUnusable.
    """
    data_dir = data_dir.absolute()
    existed = data_dir.is_dir()
    if existed and any(data_dir.iterdir()):
        raise FileExistsError(f"{data_dir} is not empty")
    data_dir.mkdir(exist_ok=True)
    # It lies next to the data, so that the sweep of a killed process finds it too.
    scratch = Path(tempfile.mkdtemp(prefix=f"{data_dir.name}.init-", dir=data_dir.parent))
    try:
        paths = InstancePaths(data_dir, scratch)
        make_run_dir(paths)
        write_private(paths.config, _config(binary, paths, options or {}))
        give(data_dir)
        check_reachable(data_dir)
        _initialise(binary, paths, deadline_s)
    except BaseException:
        delete(data_dir)
        if existed:
            data_dir.mkdir()
        raise
    finally:
        delete(scratch)  # MySQL's log of it holds root's password


def _config(binary: ServerBinary, paths: InstancePaths, options: Mapping[str, str]) -> str:
    ours = [*location_options(binary, paths), *instance_rules(binary), ("skip_log_bin", None)]
    if binary.flavour is Flavour.MARIADB:
        ours += [("max_allowed_packet", "8M"), ("enforce_storage_engine", "")]
    return config_text(ours, check_options(options))


def _initialise(binary: ServerBinary, paths: InstancePaths, deadline_s: float) -> None:
    command = [str(binary.path), f"--defaults-file={paths.config}"]
    with (
        tempfile.TemporaryFile() as script,
        open_console(paths) as console,
    ):
        if binary.flavour is Flavour.MARIADB:
            # mariadb-install-db would call the server without the wrapper's own libraries.
            command.append("--bootstrap")
            script.write(bootstrap_sql(binary).encode())
            script.seek(0)
        else:
            command.append("--initialize")
        with Child(command, cwd=paths.run_dir, stdin=script, stdout=console) as server:
            status = server.finish(
                "the server that makes a data directory",
                deadline_s,
                log_tail=lambda: "\n".join(meaningful(_log_lines(paths))),
            )
    if status != 0:
        if (room := room_of(paths.data_dir)).usable < 0:  # its log may be on the same full disk
            raise no_room(room)
        what = (
            f"the server could not make a data directory in {paths.data_dir} "
            f"({describe_exit(status)})"
        )
        raise start_failure(what, _log_lines(paths), binary.path)


def bootstrap_sql(binary: ServerBinary) -> str:
    """MariaDB's system tables from the scripts it ships, with root locked."""
    parts = ["CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n"]
    for name in _SYSTEM_SCRIPTS:
        for folder in share_folders(binary):
            scripts = [folder / f"{prefix}_{name}" for prefix in ("mariadb", "mysql")]
            found = next((script for script in scripts if script.is_file()), None)
            if found is not None:
                parts.append(_read(found))
                break
        else:
            raise NotAServer(f"{binary.path}: its package lacks mysql_{name} in share/")
    return "\n".join([*parts, _LOCK_ROOT])


def _read(script: Path) -> str:
    """Return a script of the server's package: it is told to the server, so only a file that
    nobody but us and root can change is read.
    """
    try:
        return trusted_file(script).read_text(errors="replace")
    except (OSError, DeviceUnusable) as error:
        raise NotAServer(f"{script} cannot be read: {error}") from error


def _log_lines(paths: InstancePaths) -> list[str]:
    return [line for line in said(paths, 1000) if "temporary password" not in line]
