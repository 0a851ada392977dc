"""Any my.cnf gets an answer line by line; nothing is dropped, changed or refused in silence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.servers.forbidden import is_forbidden
from benchmarks.servers.options import check_options
from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.options import load_options
from tuning.catalogue.target import ANY_VERSION, RELEASES, Origin, ServerTraits, parse_traits
from tuning.configs.candidates import plan_file, share_applied
from tuning.configs.check import ConfigReport, check_knobs, import_cnf
from tuning.configs.expected import UNKNOWN, HostFacts
from tuning.configs.judge import translate_knobs
from tuning.configs.line import Fate
from tuning.configs.parse import MAX_SETTINGS
from tuning.configs.price import durability_of
from tuning.configs.readback import signature
from tuning.configs.values import readable
from tuning.configs.variables import FILES, REDO
from tuning.errors import InvalidConfig

MYSQL57 = parse_traits("mysql 5.7.42")
MYSQL80 = parse_traits("mysql 8.0.46")
MYSQL84 = parse_traits("mysql 8.4.13")
MYSQL97 = parse_traits("mysql 9.7.4")
PERCONA80 = parse_traits("percona 8.0.36")
MARIADB = parse_traits("mariadb 10.11.19")
SERVERS = {
    "5.7": MYSQL57,
    "8.0": MYSQL80,
    "8.4": MYSQL84,
    "9.7": MYSQL97,
    "percona": PERCONA80,
    "mariadb": MARIADB,
}
GIB = 1024**3


def report(
    lines: str,
    target: ServerTraits = MYSQL97,
    host: HostFacts = UNKNOWN,
    origin: Origin = ANY_VERSION,
) -> ConfigReport:
    data = f"[mysqld]\n{lines}\n".encode()
    return import_cnf(data, "my.cnf", target, translate_from=origin, host=host)


OLD_FILE = """\
[client]
port = 3306
[mysqld]
user = mysql
innodb-buffer-pool-size = 3GB
innodb_log_file_size = 1G
innodb_log_files_in_group = 3
query_cache_size = 64M
query_cache_limit = 1M
innodb_io_capacity = 400
innodb_io_capacity = 500
loose_innodb_kill_idle_transaction = 3
wait_timeout = 60
sql_mode = STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER
slow-query-log
innodb_bufer_pool_size = 1G
"""


def test_an_old_file_is_explained_line_by_line() -> None:
    found = import_cnf(OLD_FILE.encode(), "old.cnf", MYSQL97)
    assert [(line.number, line.name, line.fate) for line in found.lines] == [
        (2, "port", Fate.KEPT),
        (4, "user", Fate.KEPT),
        (5, "innodb_buffer_pool_size", Fate.MEASURED),
        (6, "innodb_log_file_size", Fate.TRANSLATED),
        (7, "innodb_log_files_in_group", Fate.REMOVED),
        (8, "query_cache_size", Fate.REMOVED),
        (9, "query_cache_limit", Fate.REMOVED),
        (10, "innodb_io_capacity", Fate.KEPT),
        (11, "innodb_io_capacity", Fate.MEASURED),
        (12, "innodb_kill_idle_transaction", Fate.REMOVED),
        (13, "wait_timeout", Fate.APPLIED),
        (14, "sql_mode", Fate.TRANSLATED),
        (15, "slow_query_log", Fate.APPLIED),
        (16, "innodb_bufer_pool_size", Fate.REFUSED),
    ]
    by_line = {line.number: line for line in found.lines}
    assert by_line[6].became == (("innodb_redo_log_capacity", f"{3 * GIB}"),)
    assert by_line[6].replacement == f"innodb_redo_log_capacity = {3 * GIB}"
    assert by_line[6].text == "innodb_log_file_size = 1G"
    assert by_line[10].reason == "set again on line 11, which counts"
    assert "did you mean innodb_buffer_pool_size?" in by_line[16].reason
    assert found.knobs == {
        "innodb_buffer_pool_size": f"{3 * GIB}",
        "innodb_redo_log_capacity": f"{3 * GIB}",
        "innodb_io_capacity": "500",
    }
    assert found.applied == {
        "wait_timeout": "60",
        "sql_mode": "STRICT_TRANS_TABLES",
        "slow_query_log": "ON",
    }
    plain = {Fate.MEASURED, Fate.APPLIED}
    assert all(line.reason for line in found.lines if line.fate not in plain)


#: Lines, the server that they are from, the target, the fate of the first, what it becomes.
TRANSLATED = """
innodb_log_file_size=48M | 5.7 | 8.4 | translated | innodb_redo_log_capacity=96M
FILES=4 | 5.7 | 9.7 | translated | innodb_redo_log_capacity=192M
innodb_log_file_size=1G | mariadb | 9.7 | translated | innodb_redo_log_capacity=1G
innodb_log_file_size=1G | mariadb | 5.7 | translated | innodb_log_file_size=512M, FILES=2
innodb_log_file_size=1G; FILES=3 | 5.7 | mariadb | translated | innodb_log_file_size=3G
innodb_log_file_size=1G | any | mariadb | measured | innodb_log_file_size=1G
innodb_redo_log_capacity=2G | 8.4 | mariadb | translated | innodb_log_file_size=2G
innodb_redo_log_capacity=2G | 8.4 | 5.7 | translated | innodb_log_file_size=1G, FILES=2
innodb_log_file_size=1G; innodb_redo_log_capacity=2G | 8.0 | 9.7 | removed | -
innodb_log_file_size=1M | 5.7 | 9.7 | translated | innodb_redo_log_capacity=8M
query_cache_type=maybe | 5.7 | 9.7 | removed | -
query_cache_type=0 | 5.7 | mariadb | measured | query_cache_type=OFF
innodb_page_cleaners=8 | 5.7 | mariadb | removed | -
innodb_buffer_pool_chunk_size=1M | any | mariadb | kept | -
tx_isolation=READ-COMMITTED | any | 8.4 | translated | transaction_isolation=READ-COMMITTED
table_cache=400 | any | 8.4 | translated | table_open_cache=400
innodb_checksums=ON | 5.7 | 8.4 | removed | -
binlog_group_commit_sync_delay=50 | 8.0 | mariadb | translated | binlog_commit_wait_usec=50
innodb_max_purge_lag_delay=30000000 | 5.7 | 8.4 | translated | innodb_max_purge_lag_delay=10000000
innodb_max_dirty_pages_pct=100 | any | 8.4 | translated | innodb_max_dirty_pages_pct=99.999
innodb_flush_log_at_trx_commit=3 | mariadb | 8.4 | translated | innodb_flush_log_at_trx_commit=1
thread_handling=pool-of-threads | mariadb | 8.4 | kept | -
innodb_flush_method= | 5.7 | 8.4 | translated | innodb_flush_method=fsync
join_buffer_size=1T | 8.0 | 5.7 | measured | join_buffer_size=1024G
"""


@pytest.mark.parametrize("row", TRANSLATED.strip().splitlines())
def test_what_translation_makes_of_a_line(row: str) -> None:
    lines, origin, target, fate, became = row.replace("FILES", FILES).split(" | ")
    written_for = ANY_VERSION if origin == "any" else SERVERS[origin]
    found = report(lines.replace("; ", "\n"), SERVERS[target], origin=written_for)
    line = found.lines[0]
    assert line.fate == fate, line
    set_to = [f"{name}={readable(int(v)) if v.isdigit() else v}" for name, v in line.became]
    assert (", ".join(set_to) or "-") == became


GROUPS = """\
[mysqld]
back_log=1
[mysqld-5.7]
innodb_io_capacity=300
[mysqld-9.9]
innodb_io_capacity=400
[mariadb]
innodb_lru_scan_depth=500
[mariadb-10.6]
innodb_lru_scan_depth=600
"""


@pytest.mark.parametrize(
    ("origin", "target", "names"),
    [
        (MYSQL57, MYSQL97, "back_log innodb_io_capacity"),
        (ANY_VERSION, MYSQL97, "back_log innodb_io_capacity"),
        (MARIADB, MYSQL97, "back_log innodb_lru_scan_depth"),
        (MYSQL80, MARIADB, "back_log innodb_lru_scan_depth"),
        (ANY_VERSION, MARIADB, "back_log innodb_io_capacity innodb_lru_scan_depth"),
    ],
)
def test_groups_count_for_the_server_and_for_the_one_it_was_written_for(
    origin: Origin, target: ServerTraits, names: str
) -> None:
    found = import_cnf(GROUPS.encode(), "x", target, translate_from=origin)
    assert found.problems == ()
    assert list(found.knobs) == names.split()


def test_a_file_without_options_of_the_server_is_taken() -> None:
    found = import_cnf(b"[client]\nport=1\n!includedir /etc/x\n", "x", MYSQL97)
    assert found.problems == ()
    assert "server's defaults" in found.notes[0].detail
    assert import_cnf(b"# nothing\n", "x", MYSQL97).problems


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
        ("back_log=$(id)", "whole number"),
        ("back_log", "needs a value"),
        ("table_cache = many", "whole number"),
        ("tmp_table_size = lots", "is not a number"),
        ("tmp_table_size = 1.5G", "is not a number"),
        ("tmp_table_size", "needs a value"),
        ("sql_mode = STRICT_TRANS_TABELS", "no server knows"),
        ("optimizer_switch = 'mrr=offf'", "no server knows"),
        ('sql_mode = "ANSI, NO_ZERO_DATE"', "no server knows"),
        ("sql_mode = ANSI,", "no server knows"),
        ("delay_key_write = sometimes", "cannot be"),
        ("log_output = FILEX", "cannot be"),
        ("tmp_tabel_size = 64M", "did you mean tmp_table_size?"),
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
    ("target", "fate"),
    [(MYSQL80, Fate.KEPT), (MYSQL84, Fate.KEPT), (MYSQL97, Fate.REMOVED)],
)
def test_options_of_a_plugin_stay_though_the_server_does_not_list_them(
    target: ServerTraits, fate: Fate
) -> None:
    host = HostFacts(server_options=frozenset({"port"}))
    assert report("rpl_semi_sync_master_enabled = 1", target, host).lines[0].fate is fate


def test_a_planned_file_keeps_its_text() -> None:
    data = "# größer\r\n[mysqld]\r\nback_log=9\r\nwait_timeout=60\r\n".encode("latin-1")
    planned = plan_file("mine", data, MYSQL97)
    assert planned.text.encode(planned.encoding) == data
    assert (planned.knobs, planned.applied) == ({"back_log": "9"}, {"wait_timeout": "60"})


def test_files_share_the_options_on_which_they_agree() -> None:
    one, two = share_applied(
        [
            plan_file("one", b"[mysqld]\nback_log=9\nwait_timeout=60\nsql_mode=ANSI\n", MYSQL97),
            plan_file("two", b"[mysqld]\nback_log=9\nwait_timeout=60\n", MYSQL97),
        ]
    )
    assert one.applied == two.applied == {"wait_timeout": "60"}
    assert one.knobs == {"back_log": "9", "sql_mode": "ANSI"}
    assert [line.fate for line in one.lines] == [Fate.MEASURED, Fate.APPLIED, Fate.MEASURED]
    assert check_knobs(one.knobs, MYSQL97, source="x").accepted().knobs == one.knobs
    variables = {"back_log": "9", "wait_timeout": "60", "sql_mode": "ANSI"}
    signatures = [signature(variables, MYSQL97, each.knobs) for each in (one, two)]
    assert signatures[0] != signatures[1]


def test_a_file_full_of_unknown_names_is_answered_at_once() -> None:
    data = b"[mysqld]\n" + b"innodb_bufer_pool_siz=1\n" * MAX_SETTINGS
    found = import_cnf(data, "my.cnf", MYSQL97)
    assert len(found.problems) == MAX_SETTINGS
    assert "did you mean innodb_buffer_pool_size?" in found.problems[0].reason


@pytest.mark.parametrize("value", ["1 GB", "-5", "abc", "NaN", "", "1.5G", "99999999999999999999"])
@pytest.mark.parametrize("name", ["query_cache_size", "innodb_log_file_size"])
def test_a_slip_in_a_size_is_refused_where_its_knob_is_removed(name: str, value: str) -> None:
    [problem] = report(f"back_log=9\n{name}={value}").problems
    assert (problem.line, problem.name) == (3, name)


def test_a_last_line_that_is_not_set_takes_the_earlier_one_along() -> None:
    lines = "thread_handling=no-threads\nthread_handling=pool-of-threads"
    found = report(lines, MYSQL84, origin=PERCONA80)
    assert (found.problems, found.knobs) == ((), {})
    assert found.lines[0].reason == "set again on line 3, which counts"


def test_what_is_fixed_in_the_data_directory_is_kept() -> None:
    good = report("innodb_page_size=4k\ninnodb_page_size=16k")
    assert (good.problems, good.knobs) == ((), {"innodb_page_size": "16384"})
    other = report("innodb_page_size=16k\ninnodb_page_size=4k")
    assert (other.problems, other.knobs) == ((), {})
    assert "fixed when the data directory is made" in other.lines[1].reason


def test_an_unknown_number_of_redo_files_is_stated() -> None:
    [line] = report("innodb_log_file_size=1G", MARIADB).lines
    assert line.became == (("innodb_log_file_size", f"{GIB}"),)
    assert "there were 2 files of this size: write 2G" in line.reason
    [known] = report("innodb_log_file_size=1G", MARIADB, origin=MARIADB).lines
    assert known.reason == ""


NAMES = st.sampled_from(sorted(load_catalogue().knobs)) | st.sampled_from(
    [
        *REDO,
        "tx_isolation",
        "table_cache",
        "query_cache_limit",
        "port",
        "skip_log_bin",
        "foo",
    ]
)
SPELLINGS = st.sampled_from(["", "loose_", "skip_", "enable_", "disable_"])
VALUES = st.none() | st.sampled_from(
    [
        *["", "0", "1", "2", "3", "ON", "off", "48M", "1G", "3GB", "8E", "-1", "NaN", "1e400"],
        *["9223372036854775808", "99999999999999999999999", "O_DIRECT", "none", "fsync", "100"],
        *["pool-of-threads", "../../x", "$(x)", "1.5", "full_crc32", "READ-COMMITTED", "\x7f"],
    ]
)
TARGETS = st.sampled_from(RELEASES)


@pytest.mark.long
@given(
    st.lists(st.tuples(SPELLINGS, NAMES, VALUES), max_size=12),
    TARGETS,
    st.just(ANY_VERSION) | TARGETS,
)
def test_every_file_gets_an_answer_for_each_line_and_the_answer_holds(
    settings: list[tuple[str, str, str | None]], target: ServerTraits, origin: Origin
) -> None:
    lines = [f"{p}{n}" if v is None else f'{p}{n} = "{v}"' for p, n, v in settings]
    found = report("\n".join(lines), target, origin=origin)
    assert [line.number for line in found.lines] == list(range(2, len(settings) + 2))
    plain = {Fate.MEASURED, Fate.APPLIED}
    assert all(line.reason for line in found.lines if line.fate not in plain)
    if found.problems:
        return
    # What got through gets through again unchanged.
    durability = Durability.D2
    assert (
        check_knobs(found.knobs, target, source="x", durability=durability).accepted().knobs
        == found.knobs
    )


@given(st.binary(max_size=400), TARGETS)
def test_no_bytes_raise(data: bytes, target: ServerTraits) -> None:
    for text in (data, b"[mysqld]\n" + data):
        found = import_cnf(text, "fuzz", target)
        assert found.problems or found.lines
        said = [f"{p}" for p in found.problems] + [f"{n.name}{n.detail}" for n in found.notes]
        said += [f"{line.name}{line.reason}" for line in found.lines]
        assert all(part.isprintable() for part in said)


@pytest.mark.long
@given(st.dictionaries(NAMES, VALUES.map(lambda v: v or ""), max_size=8), TARGETS, TARGETS)
def test_translated_knobs_pass_the_gate_but_for_rules_across_knobs(
    knobs: dict[str, str], origin: ServerTraits, target: ServerTraits
) -> None:
    """Presets and exports for another server: never refused for a single value."""
    translated, notes = translate_knobs(knobs, origin, target, durability=Durability.D2)
    noted = {note.name for note in notes}
    assert all(name in noted or name in translated for name in knobs)
    try:
        passed = check_knobs(translated, target, source="x", durability=Durability.D2).accepted()
    except InvalidConfig as refused:
        across = [
            *("data directory is made", "has no effect together", "needs", "is above", "is below"),
            *("conflicts with", "study, not by a config", "need a redo log", "at most 512"),
        ]
        for problem in refused.problems:
            assert any(words in problem.reason for words in across), problem
    else:
        assert passed.knobs == translated
