"""Any my.cnf gets an answer line by line; nothing is dropped, changed or refused in silence."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.servers.binary import Flavour
from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ANY_VERSION, RELEASES, Origin, ServerTraits
from tuning.configs.candidates import plan_file, share_applied
from tuning.configs.config_check.check import ConfigReport, check_knobs, import_cnf
from tuning.configs.effective.readback import signature
from tuning.configs.effective.variables import FILES, REDO
from tuning.configs.line import Fate, LineResult
from tuning.configs.parse import MAX_SETTINGS
from tuning.configs.translation.translate import translate_knobs
from tuning.configs.values import readable
from tuning.errors import InvalidConfig

MYSQL57 = ServerTraits(Flavour.MYSQL, (5, 7, 42))
MYSQL80 = ServerTraits(Flavour.MYSQL, (8, 0, 46))
MYSQL84 = ServerTraits(Flavour.MYSQL, (8, 4, 13))
MYSQL97 = ServerTraits(Flavour.MYSQL, (9, 7, 4))
PERCONA80 = ServerTraits(Flavour.PERCONA, (8, 0, 36))
MARIADB = ServerTraits(Flavour.MARIADB, (10, 11, 19))
GIB = 1024**3


def report(
    lines: str, target: ServerTraits = MYSQL97, origin: Origin = ANY_VERSION
) -> ConfigReport:
    data = f"[mysqld]\n{lines}\n".encode()
    return import_cnf(data, "my.cnf", target, translate_from=origin)


def first(lines: str, target: ServerTraits = MYSQL97, origin: Origin = ANY_VERSION) -> LineResult:
    """The fate of the first line; the others are only there to go with it."""
    return report(lines, target, origin).lines[0]


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


SERVERS = {
    "5.7": MYSQL57,
    "8.0": MYSQL80,
    "8.4": MYSQL84,
    "9.7": MYSQL97,
    "percona": PERCONA80,
    "mariadb": MARIADB,
}
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
query_cache_type=0 | 5.7 | 8.0 | removed | -
query_cache_type=DEMAND | 5.7 | 9.7 | removed | -
query_cache_size=5 | 5.7 | 9.7 | removed | -
query_cache_type=0 | 5.7 | mariadb | measured | query_cache_type=OFF
innodb_page_cleaners=8 | 5.7 | mariadb | removed | -
innodb_empty_free_list_algorithm=backoff | percona | 8.0 | removed | -
innodb_buffer_pool_chunk_size=1M | any | mariadb | kept | -
innodb_large_prefix=ON | 5.7 | 8.0 | removed | -
tx_isolation=READ-COMMITTED | any | 8.4 | translated | transaction_isolation=READ-COMMITTED
table_cache=400 | any | 8.4 | translated | table_open_cache=400
innodb_checksums=ON | 5.7 | 8.4 | removed | -
binlog_group_commit_sync_delay=50 | 8.0 | mariadb | translated | binlog_commit_wait_usec=50
innodb_max_purge_lag_delay=30000000 | 5.7 | 8.4 | translated | innodb_max_purge_lag_delay=10000000
innodb_max_dirty_pages_pct=100 | any | 8.4 | translated | innodb_max_dirty_pages_pct=99.999
innodb_flush_log_at_trx_commit=3 | mariadb | 8.4 | translated | innodb_flush_log_at_trx_commit=1
thread_handling=pool-of-threads | mariadb | 8.4 | kept | -
innodb_checksum_algorithm=full_crc32 | mariadb | 8.4 | kept | -
innodb_flush_method= | 5.7 | 8.4 | translated | innodb_flush_method=fsync
join_buffer_size=1T | 8.0 | 5.7 | measured | join_buffer_size=1T
"""


@pytest.mark.parametrize("row", TRANSLATED.strip().splitlines())
def test_what_translation_makes_of_a_line(row: str) -> None:
    lines, origin, target, fate, became = row.replace("FILES", FILES).split(" | ")
    written_for = ANY_VERSION if origin == "any" else SERVERS[origin]
    line = first(lines.replace("; ", "\n"), SERVERS[target], written_for)
    assert line.fate == fate, line
    found = [f"{name}={readable(int(v)) if v.isdigit() else v}" for name, v in line.became]
    assert (", ".join(found) or "-") == became


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
    start = time.process_time()
    found = import_cnf(data, "my.cnf", MYSQL97)
    assert time.process_time() - start < 5
    assert len(found.problems) == MAX_SETTINGS
    assert "did you mean innodb_buffer_pool_size?" in found.problems[0].reason


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
    found = report("\n".join(lines), target, origin)
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
    translated = translate_knobs(knobs, origin, target, durability=Durability.D2)
    noted = {note.name for note in translated.notes}
    assert all(name in noted or name in translated.knobs for name in knobs)
    try:
        passed = check_knobs(
            translated.knobs, target, source="x", durability=Durability.D2
        ).accepted()
    except InvalidConfig as refused:
        across = [
            *("data directory is made", "has no effect together", "needs", "is above", "is below"),
            *("conflicts with", "study, not by a config", "need a redo log", "at most 512"),
        ]
        for problem in refused.problems:
            assert any(words in problem.reason for words in across), problem
    else:
        assert passed.knobs == translated.knobs


BAD_NUMBERS = [
    ("1 GB", "write 1G instead"),
    ("-5", "must not be negative"),
    ("abc", "whole number"),
    ("NaN", "whole number"),
    ("", "has an empty value"),
    ("1.5G", "whole number"),
    ("0x10", "whole number"),
    ("../../etc/passwd", "whole number"),
    ("99999999999999999999", "too large a number"),
]


@pytest.mark.parametrize("origin", [MYSQL57, ANY_VERSION])
@pytest.mark.parametrize(
    "name", ["query_cache_size", "innodb_log_file_size", "innodb_log_files_in_group"]
)
def test_a_value_that_no_server_takes_is_refused_where_its_knob_is_removed(
    name: str, origin: Origin
) -> None:
    for value, why in BAD_NUMBERS:
        found = report(f"back_log=9\n{name}={value}", MYSQL97, origin)
        [problem] = found.problems
        assert (problem.line, problem.name) == (3, name), value
        assert why in problem.reason, value


def test_a_last_line_that_is_not_set_takes_the_earlier_one_along() -> None:
    lines = "thread_handling=no-threads\nthread_handling=pool-of-threads"
    found = report(lines, MYSQL84, PERCONA80)
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
    [known] = report("innodb_log_file_size=1G", MARIADB, MARIADB).lines
    assert known.reason == ""
