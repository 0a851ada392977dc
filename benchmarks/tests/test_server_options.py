from __future__ import annotations

import configparser
import stat
from pathlib import Path

import pytest

from benchmarks.servers.accounts import Account, account_sql
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.options import option_line, render_config
from benchmarks.servers.paths import InstancePaths, write_private
from benchmarks.tests.quick import made_up

PATHS = InstancePaths(Path("/d/data"), Path("/d/run"), socket_name="s.sock")


MYSQL = made_up()


def rendered(
    binary: ServerBinary = MYSQL,
    options: dict[str, str | None] | None = None,
    *,
    fast_shutdown: bool = True,
    paths: InstancePaths = PATHS,
) -> dict[str, str | None]:
    """The options of the file as a server would take them: the last line of a name wins."""
    text = render_config(
        binary, paths, port=3399, options=options or {}, fast_shutdown=fast_shutdown
    )
    parser = configparser.RawConfigParser(
        allow_no_value=True, strict=False, delimiters=("=",), inline_comment_prefixes=None
    )
    parser.read_string(text)
    assert parser.sections() == ["mysqld"]
    return dict(parser["mysqld"])


@pytest.mark.parametrize(
    ("flavour", "version", "names"),
    [
        (Flavour.MYSQL, (5, 7, 42), "skip_ssl"),
        (Flavour.MYSQL, (8, 0, 4), "skip_ssl persisted_globals_load"),
        (Flavour.MYSQL, (8, 0, 36), "tls_version loose_mysqlx persisted_globals_load"),
        (Flavour.MYSQL, (9, 7, 4), "tls_version loose_mysqlx persisted_globals_load"),
        (
            Flavour.PERCONA,
            (8, 0, 36),
            "tls_version loose_mysqlx persisted_globals_load loose_percona_telemetry_disable",
        ),
        (Flavour.PERCONA, (5, 7, 44), "skip_ssl"),
        (Flavour.MARIADB, (10, 6, 7), "skip_ssl"),
        (Flavour.MARIADB, (11, 8, 9), "skip_ssl"),
    ],
)
def test_each_flavour_gets_the_options_it_knows(
    flavour: Flavour, version: tuple[int, int, int], names: str
) -> None:
    lines = rendered(made_up(flavour, version))
    some = {
        *("skip_ssl", "tls_version", "loose_mysqlx", "persisted_globals_load"),
        "loose_percona_telemetry_disable",
    }
    assert set(lines) & some == set(names.split())
    assert lines["bind_address"] == "127.0.0.1"
    assert lines["server_id"] == "1"
    assert lines["secure_file_priv"] == "/d/run/rows"
    assert lines["local_infile"] == "OFF"


@pytest.mark.parametrize(
    ("binary", "clause"),
    [
        (made_up(Flavour.MYSQL, (5, 7, 42)), "IDENTIFIED WITH mysql_native_password BY 'f00d'"),
        (made_up(Flavour.MYSQL, (8, 0, 36)), "IDENTIFIED WITH caching_sha2_password BY 'f00d'"),
        (made_up(Flavour.PERCONA, (8, 4, 1)), "IDENTIFIED WITH caching_sha2_password BY 'f00d'"),
        (
            made_up(Flavour.MARIADB, (10, 6, 7)),
            "IDENTIFIED VIA mysql_native_password USING PASSWORD('f00d')",
        ),
    ],
)
def test_accounts_are_made_in_each_flavours_words(binary: ServerBinary, clause: str) -> None:
    sql = account_sql(binary, Account("advisor_admin", "beef"), Account("tpcc", "f00d"))
    assert f"CREATE USER 'tpcc'@'%' {clause};\n" in sql
    assert sql.startswith("SET SESSION sql_log_bin = 0;\n")
    assert "ALTER USER IF EXISTS 'root'@'localhost' ACCOUNT LOCK;\n" in sql


def test_an_account_does_not_show_its_password() -> None:
    assert "f00d" not in repr(Account("tpcc", "f00d"))


def test_what_the_caller_asks_for_is_set() -> None:
    assert rendered(fast_shutdown=True)["innodb_fast_shutdown"] == "2"
    assert rendered(fast_shutdown=False)["innodb_fast_shutdown"] == "0"
    assert "innodb_log_group_home_dir" not in rendered()
    paths = InstancePaths(PATHS.data_dir, PATHS.run_dir, Path("/nvme/redo"))
    assert rendered(paths=paths)["innodb_log_group_home_dir"] == "/nvme/redo"


def test_candidates_come_through_normalised() -> None:
    lines = rendered(
        options={"Innodb-IO-Capacity": "200", "skip_innodb_doublewrite": None, "loose_x": "1"}
    )
    assert lines["innodb_io_capacity"] == "200"
    assert lines["skip_innodb_doublewrite"] is None
    assert lines["loose_x"] == "1"


# Servers take unambiguous beginnings of names.
OURS = """
datadir DataDir datad loose-datadir loose_skip_ssl skip-networking skip_grant_tables port
bind-address log_error init_file plugin_load_add innodb_log_group_home_dir innodb_fast_shutdown
persisted_globals_load tls_version mysqlx user loose_ loose_log_bin enable_log_bin
innodb_directories general_log_fil skip-keyring_file_data any_plugin loose_wsrep_provider
enable_component_x secure_file_priv skip_name_resolve server_id percona_telemetry_disable
"""


@pytest.mark.parametrize("name", OURS.split())
def test_a_candidate_cannot_reach_for_what_is_ours(name: str) -> None:
    with pytest.raises(ValueError, match="belongs to the instance"):
        rendered(options={name: "x"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("a b", "1"),
        ("!include", "/etc/x"),
        ("x]\n[client", "1"),
        ("sort_buffer_size", "1\ndatadir=/"),
        ("sort_buffer_size", "1\x00"),
        ("sort_buffer_size", "1" + " " * 4096 + "datadir=/"),  # read in pieces of 4 KiB
    ],
)
def test_names_and_values_cannot_break_out_of_their_line(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=r"not an option name|control character|longer than 4095"):
        rendered(options={name: value})


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("200M", "report_host = 200M"),
        ("a b", 'report_host = "a b"'),
        ('a "#" b', 'report_host = "a \\"#\\" b"'),
        ("", 'report_host = ""'),
    ],
)
def test_a_value_is_quoted_where_the_server_would_misread_it(value: str, line: str) -> None:
    assert option_line("report_host", value) == line
    text = render_config(MYSQL, PATHS, port=1, options={"report_host": value}, fast_shutdown=True)
    assert text.splitlines()[-1] == line


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"log_bin": "ON"}, ("log_bin", "binlog")),
        ({"log-bin": None}, ("log_bin", "binlog")),
        ({"log_bin": "OFF"}, ("skip_log_bin", None)),
        ({"log_bin": "0"}, ("skip_log_bin", None)),
        ({"skip_log_bin": None}, ("skip_log_bin", None)),
        ({"skip_log_bin": "OFF"}, ("log_bin", "binlog")),
    ],
)
def test_log_bin_is_a_switch_and_never_a_file_called_off(
    given: dict[str, str | None], line: tuple[str, str | None]
) -> None:
    lines = rendered(options=given)
    assert lines[line[0]] == line[1]
    assert len({"log_bin", "skip_log_bin"} & set(lines)) == 1


def test_log_bin_takes_no_path() -> None:
    with pytest.raises(ValueError, match="ON or OFF"):
        rendered(options={"log_bin": "/var/log/binlog"})


def test_private_files_are_private_even_over_an_old_one(tmp_path: Path) -> None:
    path = tmp_path / "init.sql"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
