"""Servers take the exported files and scripts as they are, and the rollback restores."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from pymysql.connections import Connection

from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.running import running_server
from tuning.catalogue.facts import Dynamic
from tuning.catalogue.knob import Durability, Kind, Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.presets import preset_names
from tuning.configs.readback import Difference, differences, effective_values
from tuning.configs.values import fixed_default, render_cnf
from tuning.export.changes import NEVER_PERSISTED, ChangeMode, persists
from tuning.export.facts import ExportFacts
from tuning.export.formats import ExportRequest, export
from tuning.export.lines import lines_of
from tuning.export.sql import planned_changes
from tuning.tests.export_cases import (
    facts,
    patched_cnf,
    preset_facts,
    rendered,
    statements_in,
)
from tuning.tests.test_export_patch import patched_by_patch

pytestmark = [pytest.mark.server, pytest.mark.slow]

CURRENT = b"[client]\nport=3306\n[mysqld]\nmax_connections = 200\nback_log=99 # was more\n"
# What a running server takes, but no fixed value of it can be read back or set again.
NO_VALUE = {"innodb_monitor_enable"}


def check_file(server: ServerBinary, text: str | bytes, folder: Path, name: str) -> None:
    """Have the server read the file as it does at its start."""
    config = folder / "my.cnf"
    config.write_bytes(text if isinstance(text, bytes) else text.encode())
    target = ServerTraits.of(server)
    validates = not target.mariadb and target.version >= (8, 0, 16)
    # MySQL's packaged default for that directory exists only where its package is installed.
    ask = ["--validate-config"] if validates else ["--verbose", "--help"]
    ask += [] if target.mariadb else ["--secure-file-priv=NULL"]
    finished = subprocess.run(
        [server.path, f"--defaults-file={config}", f"--datadir={folder}", "--user=root", *ask],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert finished.returncode == 0, f"{name}: {finished.stderr[-2000:]}\n{text!r}"
    # An unpacked 5.7 does not know where its messages lie; running_server tells it.
    said = [line for line in finished.stderr.splitlines() if "errmsg.sys" not in line]
    assert [line for line in said if "[ERROR]" in line] == [], f"{name}: {text!r}"


def settings_in(text: str | bytes) -> tuple[str, ...]:
    """What the file says but its comments: the lines that the server does more with than skip."""
    words = text.decode() if isinstance(text, bytes) else text
    lines = (line.strip() for line in words.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def test_the_server_accepts_the_files(any_server: ServerBinary, server_tmp: Path) -> None:
    target = ServerTraits.of(any_server)
    # A server takes its time to read a file. It gets one of those that differ in their comments,
    # and none whose every line is in another that it gets.
    files: dict[tuple[str, ...], tuple[str, str | bytes]] = {}
    for name in preset_names():
        given = preset_facts(name, target)
        for text in (
            rendered(given),
            rendered(given, "rollback-cnf"),
            patched_cnf(given, CURRENT),
        ):
            files.setdefault(settings_in(text), (name, text))
    assert len(files) > 2 * len(preset_names())
    for settings, (name, text) in files.items():
        if not any(set(settings) < set(others) for others in files):
            check_file(any_server, text, server_tmp, name)


def test_sizes_with_units_are_read_as_the_same_bytes(
    any_server: ServerBinary, server_tmp: Path
) -> None:
    target = ServerTraits.of(any_server)
    sizes = dict(_sizes(target))
    assert len(sizes) >= 8
    plain = "[mysqld]\n" + "".join(f"{name} = {value}\n" for name, value in sizes.items())
    with_units = render_cnf(sizes, target)
    for name in sizes:
        assert re.search(rf"^{name} = [0-9]+[KMG]$", with_units, re.MULTILINE), name
    read = read_sizes(any_server, with_units, server_tmp, sizes)
    assert read == read_sizes(any_server, plain, server_tmp, sizes)
    others = read_sizes(any_server, "[mysqld]\n", server_tmp, sizes)
    assert [name for name, value in read.items() if others[name] == value] == []


def _sizes(target: ServerTraits) -> Iterator[tuple[str, str]]:
    """Of each size that a config may set, one in whole KiB that is not the default."""
    for knob in load_catalogue().tunable(target):
        limits, default = knob.limits(target), fixed_default(knob, target)
        if knob.kind is not Kind.BYTES or limits is None:
            continue
        sizes = knob.values(target) or [f"{2**power}" for power in range(26, 9, -1)]
        fit = [one for one in sizes if limits.low <= int(one) <= limits.high and one != default]
        if fit:
            yield knob.name, fit[0]


def read_sizes(
    server: ServerBinary, text: str, folder: Path, names: Iterable[str]
) -> dict[str, str]:
    """The values that the server has with the file, as it prints them without starting."""
    config = folder / "my.cnf"
    config.write_text(text)
    finished = subprocess.run(
        [server.path, f"--defaults-file={config}", "--user=root", "--verbose", "--help"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    shown = dict(re.findall(r"^([a-z-]+) +([0-9]+)$", finished.stdout, re.MULTILINE))
    return {name: shown[name.replace("_", "-")] for name in names}


@pytest.fixture(scope="module")
def server(
    any_server: ServerBinary,
    pristine_data_dir: Callable[[ServerBinary], Path],
    server_session_tmp: Path,
) -> Iterator[ServerInstance]:
    """A server that runs with its defaults; each test leaves it as it was."""
    place = server_session_tmp / f"exported-{any_server.digest[:12]}"
    place.mkdir(parents=True)
    shutil.copytree(pristine_data_dir(any_server), place / "data")
    with running_server(
        any_server,
        data_dir=place / "data",
        run_dir=place / "run",
        options={},
    ) as running:
        yield running


def run(server: ServerInstance, script: str) -> None:
    """What a client does with the script."""
    with contextlib.closing(server.connect()) as connection:
        run_statements(connection, statements_in(script))


def run_statements(connection: Connection, statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
            cursor.fetchall()


def lasting_differences(
    server: ServerInstance, wanted: Mapping[str, str], target: ServerTraits
) -> list[Difference]:
    """What is not as wanted once the pool and the redo log, which take their time, could be."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and differences(wanted, server.variables(), target):
        time.sleep(0.1)
    return differences(wanted, server.variables(), target)


def persisted(server: ServerInstance) -> set[str]:
    with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT variable_name FROM performance_schema.persisted_variables")
        return {row[0] for row in cursor.fetchall()}


def there_and_back(server: ServerInstance, given: ExportFacts) -> None:
    """Run the script and the rollback; whatever can be set is set, and restored."""
    target, before = given.server, server.variables()
    planned = planned_changes(given, lines_of(given))
    wanted = {
        one.knob.name: one.value
        for one in planned
        if one.how is ChangeMode.NOW and one.knob.name not in NO_VALUE
    }
    script = rendered(given, "sql", acknowledged=Durability.D2)
    run(server, script)
    assert lasting_differences(server, wanted, target) == [], given.candidate
    if persists(target):
        with contextlib.closing(server.connect()) as connection:
            later = re.findall(r"^-- (SET PERSIST_ONLY .*;)$", script, re.MULTILINE)
            run_statements(connection, later)
        lasting = {
            one.knob.name for one in planned if one.how in (ChangeMode.NOW, ChangeMode.RESTART)
        }
        assert persisted(server) == lasting
    run(server, rendered(given, "rollback-sql", acknowledged=Durability.D2))
    was, names = (
        effective_values(wanted, before, target),
        dict.fromkeys(load_catalogue().knobs, ""),
    )
    assert lasting_differences(server, was, target) == [], given.candidate
    assert effective_values(names, server.variables(), target) == (
        effective_values(names, before, target)
    )
    if persists(target):
        assert persisted(server) == set()


def test_scripts_of_presets_set_the_values_and_restore_them(server: ServerInstance) -> None:
    target = ServerTraits.of(server.binary)
    before = server.variables()
    for name in preset_names():
        there_and_back(server, preset_facts(name, target, baseline_variables=before))


# Not beyond its ceiling, not beyond the pool; what 5.7 accepts, but never changes; and what
# MariaDB switches on, but off again on some file systems only.
CHOSEN = {
    "transaction_isolation": "READ-COMMITTED",
    "binlog_format": "ROW",
    "innodb_max_dirty_pages_pct_lwm": "5",
    "innodb_buffer_pool_size_auto_min": f"{64 * 1024**2}",
    "innodb_support_xa": None,
    "innodb_log_file_buffering": None,
}


def other_value(knob: Knob, now: str, target: ServerTraits) -> str | None:
    """A value that the knob does not have, which no server rounds; None where there is none."""
    if knob.name in CHOSEN:
        return CHOSEN[knob.name]
    if knob.kind is Kind.BOOL:
        return "OFF" if now == "ON" else "ON"
    if knob.values(target):
        return next((word for word in knob.values(target) if word.lower() != now.lower()), None)
    if knob.kind is Kind.STRING:
        return "%"
    limits = knob.limits(target)
    value = float(now)
    if limits is None:
        return None
    new = 64 * 1024.0**2 if knob.kind is Kind.BYTES else 64.0
    for candidate in (value * 2, value / 2, new, limits.low + 1):
        if candidate != value and limits.low <= candidate <= min(limits.high, 2**33):
            return f"{candidate:g}" if knob.kind is Kind.FLOAT else f"{int(candidate)}"
    return None


def test_every_dynamic_knob_can_be_set_and_restored(server: ServerInstance) -> None:
    target = ServerTraits.of(server.binary)
    before = server.variables()
    knobs: dict[str, str] = {}
    for knob in load_catalogue().tunable(target):
        shown = effective_values({knob.name: ""}, before, target).get(knob.name)
        if knob.dynamic(target) in (Dynamic.GLOBAL, Dynamic.SESSION) and shown is not None:
            value = other_value(knob, shown or "0", target)
            if value is not None:
                knobs[knob.name] = value
    assert len(knobs) > 30
    there_and_back(server, facts(server=target, knobs=knobs, baseline_variables=before))


def test_only_the_named_variables_are_never_persisted(server: ServerInstance) -> None:
    target = ServerTraits.of(server.binary)
    if not persists(target):
        return
    refused = set()
    variables = server.variables()
    with contextlib.closing(server.connect()) as connection:
        for knob in load_catalogue().tunable(target):
            shown = effective_values({knob.name: ""}, variables, target).get(knob.name)
            if not shown:
                continue
            value = shown if re.fullmatch(r"[0-9.]+", shown) else f"'{shown}'"
            try:
                run_statements(connection, [f"SET PERSIST_ONLY {knob.variable(target)} = {value}"])
            except Exception as error:
                assert "non persistent" in str(error), error  # noqa: PT017
                refused.add(knob.name)
    run(server, "RESET PERSIST;")
    assert refused == {n for n in NEVER_PERSISTED if load_catalogue().knobs[n].exists_in(target)}


#: Files as distributions, containers and administrators lay them out; FOLDER has other files.
LAYOUTS = {
    "debian": "[mysqld]\n# * Basic\npid-file = FOLDER/x.pid\nmax_allowed_packet\t= 64M\n"
    "skip-external-locking\n\n!includedir FOLDER/conf.d/\n",
    "windows": "# My server\r\n[client]\r\nport=3306\r\n[mysqld]\r\nport=3306\r\n"
    'sort_buffer_size="2M"\r\ninnodb_flush_log_at_trx_commit = 1',
    "5.6 era": "[mysqld]\nkey_buffer_size=16M\nquery_cache_size = 0\ninnodb_log_file_size=256M\n"
    "innodb_log_files_in_group = 2\ninnodb-io-capacity = 200 # slow\nsync_frm = 1\n",
    "several groups": "[mysqld_safe]\nnice = 0\n[mysqld]\nloose-unknown_option = 1\n"
    "skip-name-resolve\n[mysqld-5.7]\ninnodb_file_format = Barracuda\n[mysqld]\n"
    "innodb_io_capacity = 300\ninnodb_io_capacity = 400\n[mysqldump]\nquick\n",
    "latin-1": "[mysqld]\n# Gr\xfc\xdfe\nthread_cache_size = 16 # f\xfcr alle\n"
    "performance_schema = ON\nloose_innodb_flush_neighbors=1",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_server_starts_with_the_users_own_file_patched(
    any_server: ServerBinary,
    fresh_data_dir: Callable[[ServerBinary], Path],
    server_tmp: Path,
    layout: str,
) -> None:
    target = ServerTraits.of(any_server)
    (server_tmp / "conf.d").mkdir()
    (server_tmp / "conf.d" / "x.cnf").write_text("[mysqld]\nmax_connections = 77\n")
    current = LAYOUTS[layout].replace("FOLDER", str(server_tmp)).encode("latin-1")
    knobs = {"innodb_io_capacity": "1234", "innodb_flush_method": "O_DIRECT"}
    given = facts(server=target, knobs=knobs)
    new = patched_by_patch(
        current, export(given, ExportRequest("diff", current=current)).data, server_tmp
    )
    assert new == patched_cnf(given, current)
    data = fresh_data_dir(any_server)
    run_dir = server_tmp / "run"
    run_dir.mkdir()
    log = run_dir / "error.log"
    own = [f"--datadir={data}", f"--socket={run_dir}/s", f"--log-error={log}", "--user=root"]
    own += [f"--pid-file={run_dir}/pid", "--skip-networking", f"--tmpdir={run_dir}"]
    own += [] if target.mariadb else ["--mysqlx=OFF", "--secure-file-priv=NULL"]
    process = subprocess.Popen([any_server.path, f"--defaults-file={server_tmp}/my.cnf", *own])
    try:
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            text = log.read_text(errors="replace") if log.exists() else ""
            if "ready for connections" in text:
                break
            time.sleep(0.1)
        assert "ready for connections" in log.read_text(errors="replace"), log.read_text()[-3000:]
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
