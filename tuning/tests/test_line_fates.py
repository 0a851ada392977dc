"""What becomes of a line: typos are refused, harmless lines applied, dangerous ones never set."""

from __future__ import annotations

import pytest

from benchmarks.servers.binary import Flavour
from benchmarks.servers.forbidden import is_forbidden
from benchmarks.servers.options import check_options
from tuning.catalogue.knob import Durability
from tuning.catalogue.options import load_options
from tuning.catalogue.target import ServerTraits
from tuning.configs.config_check.check import ConfigReport, import_cnf
from tuning.configs.effective.durability import durability_of
from tuning.configs.effective.expected import HostFacts
from tuning.configs.line import Fate

MYSQL57 = ServerTraits(Flavour.MYSQL, (5, 7, 42))
MYSQL80 = ServerTraits(Flavour.MYSQL, (8, 0, 46))
MYSQL97 = ServerTraits(Flavour.MYSQL, (9, 7, 4))
PERCONA80 = ServerTraits(Flavour.PERCONA, (8, 0, 36))
MARIADB = ServerTraits(Flavour.MARIADB, (10, 11, 19))
GIB = 1024**3


def report(
    lines: str, target: ServerTraits = MYSQL97, host: HostFacts | None = None
) -> ConfigReport:
    data = f"[mysqld]\n{lines}\n".encode()
    return import_cnf(data, "my.cnf", target, host=host or HostFacts())


def test_a_limit_of_an_option_leaves_the_option_as_it_is() -> None:
    found = report("max_connections = 500\nmaximum-max_connections = 1000")
    assert found.knobs == {"max_connections": "500"}
    assert [line.fate for line in found.lines] == [Fate.MEASURED, Fate.KEPT]


def test_a_limit_that_the_workload_needs_is_noted_once() -> None:
    found = report("max_connections = 10", host=HostFacts(connections=64))
    raised = [note for note in found.notes if "too low" in note.detail]
    assert len([note for note in raised if note.name == "max_connections"]) == 1


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("innodb_io_capacity = 9223372036854775808", "too large a number"),
        ("innodb_max_dirty_pages_pct = NaN", "plain number"),
        ("innodb_flush_method = sideways", "must be one of"),
        ("innodb_buffer_pool_size = 3 G", "write 3G instead"),
        ("innodb_monitor_enable=`reboot`", "cannot be"),
        ("back_log=$(id)", "whole number"),
        ("back_log=", "has an empty value"),
        ("back_log", "needs a value"),
        ("table_cache = many", "whole number"),
        ("tmp_table_size = lots", "is not a number"),
        ("tmp_table_size = 1.5G", "is not a number"),
        ("tmp_table_size = 64 M", "is not a number"),
        ("tmp_table_size =", "is not a number"),
        ("tmp_table_size", "needs a value"),
        ("sql_mode = STRICT_TRANS_TABELS", "no server knows"),
        ("optimizer_switch = 'mrr=offf'", "no server knows"),
        ('sql_mode = "ANSI, NO_ZERO_DATE"', "no server knows"),
        ("sql_mode = ANSI,", "no server knows"),
        ("delay_key_write = sometimes", "cannot be"),
        ("log_output = FILEX", "cannot be"),
        ("tmp_tabel_size = 64M", "did you mean tmp_table_size?"),
        ("slow_qurey_log = 1", "did you mean slow_query_log?"),
        ("\x1b[31mname=1", "no server knows this option"),
    ],
)
def test_typos_and_values_that_the_server_refuses_are_refused(line: str, why: str) -> None:
    found = report(line)
    [problem] = found.problems
    assert why in problem.reason
    assert problem.line == 2
    assert f"{problem}".isprintable()


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("tmp-table-size = 64MB", "tmp_table_size", "64M"),
        ("skip-slow-query-log", "slow_query_log", "OFF"),
        ("disable_log_queries_not_using_indexes = 1", "log_queries_not_using_indexes", "OFF"),
        ("loose-innodb_lock_wait_timeout=5", "innodb_lock_wait_timeout", "5"),
        ('sql_mode = ""', "sql_mode", ""),
        ("log_output = 'FILE,TABLE'", "log_output", "FILE,TABLE"),
        ("default-time-zone = '+00:00'", "default_time_zone", "+00:00"),
        ("default-storage-engine = InnoDB", "default_storage_engine", "InnoDB"),
        ("long_query_time = 0.5", "long_query_time", "0.5"),
    ],
)
def test_harmless_lines_are_applied(line: str, name: str, value: str) -> None:
    found = report(line)
    assert found.lines[0].fate is Fate.APPLIED
    assert found.applied == {name: value}


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("key_buff = 4M", "key_buffer_size", "4M"),
        ("Innodb_IO_Capacity = 300", "innodb_io_capacity", "300"),
        ("slow_query_log = yes", "slow_query_log", "OFF"),
        ("innodb_adaptive_flushing = yes", "innodb_adaptive_flushing", "OFF"),
        ("character-set-server = utf8", "character_set_server", "utf8mb3"),
        ("collation_server = utf8_unicode_ci", "collation_server", "utf8mb3_unicode_ci"),
        ("default-character-set = utf8mb4", "character_set_server", "utf8mb4"),
        ("sql_mode = ANSI,NO_AUTO_CREATE_USER", "sql_mode", "ANSI"),
        ("innodb_io_capacity = 50", "innodb_io_capacity", "100"),
    ],
)
def test_the_line_that_this_server_needs(line: str, name: str, value: str) -> None:
    found = report(line)
    assert found.lines[0].fate is Fate.TRANSLATED
    assert found.lines[0].replacement == f"{name} = {value}"
    assert {**found.knobs, **found.applied} == {name: value}


#: What must never be set in a run, in every spelling that servers understand.
ATTACKS = """
plugin-load=evil.so | plugin_load_add=../../evil.so | loose-plugin-load-add=evil.so
early-plugin-load=evil.so | plugin_dir=/tmp | plugin-lo=evil.so | skip-plugin-load
init_file=/tmp/x.sql | init-file=x.sql | init_connect='DROP TABLE x' | init-con='SET GLOBAL x=1'
init_slave='x' | init_replica='x' | set-variable=plugin_load=evil.so | loose_init_file=x
datadir=../../../etc | datad=/etc | DATADIR=/etc | innodb_data_home_dir=/ | innodb-data-home-dir=/
innodb_data_file_path=../../x:12M | innodb_temp_data_file_path=../../x:12M:autoextend
innodb_undo_directory=/u | innodb_doublewrite_dir=/d | innodb_log_group_home_dir=..
innodb_directories=/etc | innodb_tmpdir=/tmp | innodb_buffer_pool_filename=../../x
tmpdir=/tmp | slave_load_tmpdir=/tmp | replica_load_tmpdir=/tmp | lc_messages_dir=/tmp
character-sets-dir=/tmp | lc_messages=de_DE | language=/tmp | general_log_file=/etc/cron.d/x
slow_query_log_file=../../x | slow-query-log-f=../../x | log_error=/etc/x | log-error
log_bin=../x | log_bin_index=/x | relay_log=/x | log_isam=/x | log_tc=/x | log_basename=../x
pid_file=/x | socket=/x | secure_file_priv= | secure-file-priv=/ | local_infile=1
enable-local-infile | symbolic_links=1 | chroot=/ | basedir=/x | user=root
maximum-sort_buffer_size=1
ssl_key=/x | tls_version=x | skip-grant-tables | skip-networking=0 | bind_address=0.0.0.0
port=1 | admin_port=1 | mysqlx_port=1 | wsrep_provider=/x.so | wsrep_notify_cmd=/x
wsrep_sst_auth=a:b | log_error_services=evil | feedback_url=http://x | debug=d:o,/tmp/x
debug_dbug=d:o,/tmp/x | core-file | gdb | daemonize | external_locking | event_scheduler=ON
component_x.y=/tmp | keyring_file_data=/x | innodb_redo_log_archive_dirs=a:/x | audit_log=FORCE
des_key_file=/x | ft_stopword_file=/etc/passwd | innodb_ft_server_stopword_table=a/b
default_time_zone=Europe/Berlin | default_storage_engine=ROCKSDB | lc_time_names=../../x
log_timestamps=../x | session_track_schema=1 | read_only=ON | super_read_only=1 | autocommit=0
skip-loose-plugin-load=x | enable-plugin-load=x | loose_skip_plugin_load | log=/etc/x
log-slow-queries=/x | slow_query_log_file | performance_schema_instrument='x/y=ON'
"""


@pytest.mark.parametrize("target", [MYSQL57, MYSQL80, MYSQL97, PERCONA80, MARIADB])
def test_nothing_that_runs_code_or_leaves_the_run_is_set(target: ServerTraits) -> None:
    for line in ATTACKS.replace("\n", " | ").split(" | "):
        if line.strip():
            found = report(line.strip(), target)
            assert (found.knobs, found.applied) == ({}, {}), line
            assert found.lines[0].fate in (Fate.KEPT, Fate.REMOVED, Fate.REFUSED), line


def test_the_second_wall_lets_applied_options_through_and_no_path() -> None:
    options = load_options().options.items()
    assert [name for name, option in options if option.applied and is_forbidden(name)] == []
    assert check_options({name: "1" for name, option in options if option.applied})
    for value in ("../../x", "/etc/x", "C:\\x"):
        with pytest.raises(ValueError, match="could name a file"):
            check_options({"tmp_table_size": value})


def test_the_users_durability_is_their_own() -> None:
    found = report("innodb_flush_log_at_trx_commit = 0\ninnodb_doublewrite = OFF")
    assert found.problems == ()
    assert durability_of(found.knobs, MYSQL97) is Durability.D2


def test_what_the_server_corrects_is_no_refusal() -> None:
    found = report("innodb_io_capacity = 2000\ninnodb_io_capacity_max = 1000")
    assert found.problems == ()


@pytest.mark.parametrize(
    ("budget", "low", "high"),
    [
        (4 * GIB, 2 * GIB, 3.2 * GIB),
        # The server's own defaults do not fit either: the pool is as small as theirs.
        (GIB // 2, GIB // 16, GIB // 8),
    ],
)
def test_a_pool_that_does_not_fit_here_is_made_smaller(
    budget: int, low: float, high: float
) -> None:
    host = HostFacts(memory_budget_bytes=budget, connections=10)
    found = report("innodb_buffer_pool_size = 80G", host=host)
    assert found.problems == ()
    assert found.lines[0].fate is Fate.TRANSLATED
    assert low < int(found.knobs["innodb_buffer_pool_size"]) <= high


def test_an_option_of_the_hosts_own_server_is_known() -> None:
    host = HostFacts(server_options=frozenset({"brand_new_option"}))
    assert report("brand_new_option=1", host=host).lines[0].fate is Fate.KEPT
    assert report("brand_new_option=1").lines[0].fate is Fate.REFUSED


@pytest.mark.parametrize(
    ("version", "fate"),
    [((8, 0, 46), Fate.KEPT), ((8, 4, 6), Fate.KEPT), ((9, 7, 4), Fate.REMOVED)],
)
def test_options_of_a_plugin_stay_though_the_server_does_not_list_them(
    version: tuple[int, int, int], fate: Fate
) -> None:
    target = ServerTraits(Flavour.MYSQL, version)
    host = HostFacts(server_options=frozenset({"port"}))
    data = b"[mysqld]\nrpl_semi_sync_master_enabled = 1\n"
    assert import_cnf(data, "mine", target, host=host).lines[0].fate is fate
