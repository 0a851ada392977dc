"""Any my.cnf gets an answer line by line; nothing is dropped, changed or refused in silence."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.servers.binary import Flavour
from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import plan_file
from tuning.configs.effective.variables import REDO
from tuning.configs.files.cnf import MAX_CONFIG_BYTES, MAX_SETTINGS
from tuning.configs.gate.check import check_knobs, import_cnf
from tuning.configs.gate.report import ImportedLine, ImportReport
from tuning.configs.knobs import render_cnf
from tuning.configs.notes import Action
from tuning.configs.translation.origin import ANY_VERSION, RELEASES, Origin
from tuning.configs.translation.translate import translate_knobs
from tuning.errors import InvalidConfig

MYSQL57 = ServerTraits(Flavour.MYSQL, (5, 7, 42))
MYSQL80 = ServerTraits(Flavour.MYSQL, (8, 0, 46))
MYSQL84 = ServerTraits(Flavour.MYSQL, (8, 4, 13))
MYSQL97 = ServerTraits(Flavour.MYSQL, (9, 7, 4))
PERCONA80 = ServerTraits(Flavour.PERCONA, (8, 0, 36))
MARIADB = ServerTraits(Flavour.MARIADB, (10, 11, 19))
GIB = 1024**3


def report(
    lines: str,
    target: ServerTraits = MYSQL97,
    origin: Origin | None = None,
    durability: Durability = Durability.D0,
) -> ImportReport:
    data = f"[mysqld]\n{lines}\n".encode()
    return import_cnf(data, "my.cnf", target, translate_from=origin, durability=durability)


def one(lines: str, target: ServerTraits, origin: Origin | None) -> ImportedLine:
    """What is said of the first line; the others are only there to go with it."""
    found = report(lines, target, origin)
    assert [p for p in found.problems if p.line == 2] == [] or (
        found.lines[0].action is Action.REFUSED
    )
    return found.lines[0]


OLD_FILE = """\
[client]
port = 3306
[mysqld]
user = mysql
innodb-buffer-pool-size = 3G
innodb_log_file_size = 1G
innodb_log_files_in_group = 3
query_cache_size = 64M
query_cache_limit = 1M
innodb_io_capacity = 400
innodb_io_capacity = 500
loose_innodb_kill_idle_transaction = 3
wait_timeout = 60
"""


def test_an_old_file_is_explained_line_by_line() -> None:
    found = import_cnf(OLD_FILE.encode(), "old.cnf", MYSQL97, translate_from=ANY_VERSION)
    assert [(line.line, line.name, line.action) for line in found.lines] == [
        (1, "[client]", Action.DROPPED),
        (4, "user", Action.REFUSED),
        (5, "innodb_buffer_pool_size", Action.KEPT),
        (6, "innodb_log_file_size", Action.RENAMED),
        (7, "innodb_log_files_in_group", Action.RENAMED),
        (8, "query_cache_size", Action.DROPPED),
        (9, "query_cache_limit", Action.DROPPED),
        (10, "innodb_io_capacity", Action.DROPPED),
        (11, "innodb_io_capacity", Action.KEPT),
        (12, "innodb_kill_idle_transaction", Action.DROPPED),
        (13, "wait_timeout", Action.REFUSED),
    ]
    by_line = {line.line: line for line in found.lines}
    assert by_line[5].given == "3G"
    assert by_line[6].became == (("innodb_redo_log_capacity", f"{3 * GIB}"),)
    assert by_line[10].detail == "set again on line 11, which counts"
    assert [p.line for p in found.problems] == [4, 13]
    assert found.knobs == {
        "innodb_buffer_pool_size": f"{3 * GIB}",
        "innodb_redo_log_capacity": f"{3 * GIB}",
        "innodb_io_capacity": "500",
    }
    assert all(line.detail for line in found.lines if line.action is not Action.KEPT)


def test_without_translation_the_same_lines_are_refused_and_say_what_it_would_do() -> None:
    found = import_cnf(OLD_FILE.encode(), "old.cnf", MYSQL97)
    reasons = {p.line: p.reason for p in found.problems}
    assert list(reasons) == [4, 6, 7, 8, 9, 13]
    assert reasons[6] is not None
    assert "translation would change it to innodb_redo_log_capacity = 3G" in reasons[6]
    assert reasons[7].endswith("translation would include it in its replacement")
    assert reasons[8].endswith("(removed in 8.0.3); translation would drop it")
    assert reasons[9].endswith("translation would drop it")
    assert "translation" not in reasons[13]


@pytest.mark.parametrize(
    ("lines", "origin", "target", "action", "became"),
    [
        # the redo log, in every direction
        (
            "innodb_log_file_size=48M",
            MYSQL57,
            MYSQL84,
            Action.RENAMED,
            {"innodb_redo_log_capacity": 96 << 20},
        ),
        (
            "innodb_log_files_in_group=4",
            MYSQL57,
            MYSQL97,
            Action.RENAMED,
            {"innodb_redo_log_capacity": 192 << 20},
        ),
        (
            "innodb_log_file_size=1G",
            MARIADB,
            MYSQL97,
            Action.RENAMED,
            {"innodb_redo_log_capacity": GIB},
        ),
        (
            "innodb_log_file_size=1G",
            MARIADB,
            MYSQL57,
            Action.ADJUSTED,
            {"innodb_log_file_size": 512 << 20},
        ),
        (
            "innodb_log_file_size=1G\ninnodb_log_files_in_group=3",
            MYSQL57,
            MARIADB,
            Action.ADJUSTED,
            {"innodb_log_file_size": 3 * GIB},
        ),
        (
            "innodb_log_file_size=1G",
            ANY_VERSION,
            MARIADB,
            Action.KEPT,
            {"innodb_log_file_size": GIB},
        ),
        (
            "innodb_redo_log_capacity=2G",
            MYSQL84,
            MARIADB,
            Action.RENAMED,
            {"innodb_log_file_size": 2 * GIB},
        ),
        (
            "innodb_redo_log_capacity=2G",
            MYSQL84,
            MYSQL57,
            Action.RENAMED,
            {"innodb_log_file_size": GIB, "innodb_log_files_in_group": 2},
        ),
        ("innodb_log_file_size=1G\ninnodb_redo_log_capacity=2G", MYSQL80, MYSQL97, "dropped", {}),
        (
            "innodb_log_file_size=1M",
            MYSQL57,
            MYSQL97,
            Action.RENAMED,
            {"innodb_redo_log_capacity": 8 << 20},
        ),
        # gone variables
        ("query_cache_type=0", MYSQL57, MYSQL80, Action.DROPPED, {}),
        ("query_cache_type=0", MYSQL57, MARIADB, Action.KEPT, {"query_cache_type": "OFF"}),
        ("innodb_page_cleaners=8", MYSQL57, MARIADB, Action.DROPPED, {}),
        ("innodb_empty_free_list_algorithm=backoff", PERCONA80, MYSQL80, Action.DROPPED, {}),
        ("innodb_buffer_pool_chunk_size=1M", ANY_VERSION, MARIADB, Action.DROPPED, {}),
        ("innodb_large_prefix=ON", MYSQL57, MYSQL80, Action.DROPPED, {}),
        # other names
        (
            "tx_isolation=READ-COMMITTED",
            ANY_VERSION,
            MYSQL84,
            Action.RENAMED,
            {"transaction_isolation": "READ-COMMITTED"},
        ),
        ("table_cache=400", ANY_VERSION, MYSQL84, Action.RENAMED, {"table_open_cache": 400}),
        (
            "innodb_checksums=ON",
            MYSQL57,
            MYSQL84,
            Action.DROPPED,
            {},
        ),
        (
            "binlog_group_commit_sync_delay=50",
            MYSQL80,
            MARIADB,
            Action.RENAMED,
            {"binlog_commit_wait_usec": 50},
        ),
        # values
        (
            "innodb_max_purge_lag_delay=30000000",
            MYSQL57,
            MYSQL84,
            Action.ADJUSTED,
            {"innodb_max_purge_lag_delay": 10000000},
        ),
        (
            "innodb_max_dirty_pages_pct=100",
            ANY_VERSION,
            MYSQL84,
            Action.ADJUSTED,
            {"innodb_max_dirty_pages_pct": "99.999"},
        ),
        (
            "innodb_flush_log_at_trx_commit=3",
            MARIADB,
            MYSQL84,
            Action.ADJUSTED,
            {"innodb_flush_log_at_trx_commit": 1},
        ),
        ("thread_handling=pool-of-threads", MARIADB, MYSQL84, Action.DROPPED, {}),
        ("innodb_checksum_algorithm=full_crc32", MARIADB, MYSQL84, Action.DROPPED, {}),
        ("innodb_flush_method=", MYSQL57, MYSQL84, "adjusted", {"innodb_flush_method": "fsync"}),
        (
            "join_buffer_size=1T",
            MYSQL80,
            MYSQL57,
            Action.KEPT,
            {"join_buffer_size": 1 << 40},
        ),
    ],
)
def test_what_translation_makes_of_a_line(
    lines: str, origin: Origin, target: ServerTraits, action: str, became: dict[str, object]
) -> None:
    line = one(lines, target, origin)
    assert line.action == action, line
    assert dict(line.became) == {name: f"{value}" for name, value in became.items()}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("innodb_flush_log_at_trx_commit = 2", "class D1, but only D0 is allowed"),
        ("innodb_doublewrite = OFF", "class D2"),
        ("innodb_checksums = 0", "class D2"),
        ("innodb_checksum_algorithm = none", "class D2"),
        ("datadir = /var/lib/mysql", "the advisor sets this itself"),
        ("innodb_io_capacity = -1", "must not be negative"),
        ("innodb_io_capacity = 9223372036854775808", "too large a number"),
        ("innodb_io_capacity = 1e400", "whole number"),
        ("innodb_io_capacity = NaN", "whole number"),
        ("innodb_max_dirty_pages_pct = NaN", "plain number"),
        ("innodb_flush_method = sideways", "must be one of"),
        ("innodb_flush_method = 3", "must be a name"),
        ("innodb_page_size = 8K", "fixed when the data directory is made"),
        ("innodb_buffer_pool_size = 3GB", "write 3G instead"),
        ("table_cache = many", "whole number"),
        ("table_cache", "table_open_cache"),
    ],
)
def test_translation_saves_no_bad_or_unsafe_value(line: str, why: str) -> None:
    found = report(line, MYSQL97, ANY_VERSION)
    [problem] = found.problems
    assert why in problem.reason
    assert problem.line == 2
    assert found.lines[0].action is Action.REFUSED


def test_an_unsafe_value_passes_in_a_study_of_its_class() -> None:
    found = report("innodb_checksums = 0", MYSQL97, MYSQL57, Durability.D2)
    assert found.knobs == {"innodb_checksum_algorithm": "none"}
    assert found.problems == ()


def test_a_key_set_twice_is_reported_under_an_old_name_too() -> None:
    found = report("table_cache=400\nback_log=9\ntable_cache=500", MYSQL97, ANY_VERSION)
    assert found.knobs == {"back_log": "9", "table_open_cache": "500"}
    assert [line.action for line in found.lines] == ["dropped", "kept", "renamed"]
    assert found.lines[0].detail == "set again on line 4, which counts"


def test_a_number_of_files_that_is_not_in_the_file_is_called_assumed() -> None:
    [line] = report("innodb_log_file_size=1G", MYSQL97, ANY_VERSION).lines
    assert line.detail.startswith("2 files (the old default) of 1G become")


def test_what_is_set_itself_counts_before_what_is_renamed_to_it() -> None:
    for lines in (
        "innodb_checksums=1\ninnodb_checksum_algorithm=strict_crc32",
        "tx_isolation=SERIALIZABLE\ntransaction_isolation=READ-COMMITTED",
        "transaction_isolation=READ-COMMITTED\ntx_isolation=SERIALIZABLE",
    ):
        found = report(lines, MYSQL97, ANY_VERSION)
        assert found.problems == ()
        assert set(found.knobs.values()) <= {"strict_crc32", "READ-COMMITTED"}


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
        (None, MYSQL97, "back_log"),
        (MYSQL57, MYSQL97, "back_log innodb_io_capacity"),
        (ANY_VERSION, MYSQL97, "back_log innodb_io_capacity"),
        (MARIADB, MYSQL97, "back_log innodb_lru_scan_depth"),
        (MYSQL80, MARIADB, "back_log"),
        (None, MARIADB, "back_log innodb_lru_scan_depth"),
    ],
)
def test_the_groups_are_those_of_the_server_it_was_written_for(
    origin: Origin | None, target: ServerTraits, names: str
) -> None:
    found = import_cnf(GROUPS.encode(), "x", target, translate_from=origin)
    assert found.problems == ()
    assert list(found.knobs) == names.split()
    left = {line.name for line in found.lines if line.name.startswith("[")}
    assert len(left) == 5 - len(names.split())


def test_plan_file_translates_only_when_asked() -> None:
    data = b"[mysqld]\ninnodb_log_file_size=1G\n"
    with pytest.raises(InvalidConfig, match="translation would change it to"):
        plan_file("mine", data, MYSQL97)
    assert plan_file("mine", data, MYSQL97, translate_from=ANY_VERSION).knobs == {
        "innodb_redo_log_capacity": f"{2 * GIB}"
    }
    planned = plan_file("mine", data, MYSQL97, translate_from=MARIADB)
    assert planned.knobs == {"innodb_redo_log_capacity": f"{GIB}"}
    assert [(n.name, n.action) for n in planned.notes] == [
        ("innodb_log_file_size", Action.RENAMED)
    ]
    assert planned.lines[0].line == 2


@pytest.mark.parametrize(
    ("data", "line", "why"),
    [
        (b"", None, "sets nothing"),
        (b"\xff\xfe[mysqld]\n", 1, "not UTF-8"),
        (b"[mysqld]\nback_log=\xe9\n", 2, "not UTF-8"),
        (b"[mysqld]\nback_log=1\x00\n", 2, "NUL"),
        (b"#" * 10_000_000, None, "256 KiB"),
        (b"[mysqld]\n!include /etc/passwd\n", 2, "other files are not read"),
        (b"[mysqld]\n!includedir ../../etc\n", 2, "other files are not read"),
        (b"[mysqld]\nplugin-load=evil.so\n", 2, "loads or runs code"),
        (b"[mysqld]\nplugin-load-add=../../evil.so\n", 2, "loads or runs code"),
        (b"[mysqld]\ninit_file=/tmp/x.sql\n", 2, "loads or runs code"),
        (b"[mysqld]\ngeneral_log_file=/etc/cron.d/x\n", 2, "places files itself"),
        (b"[mysqld]\ndatadir=../../../etc\n", 2, "sets this itself"),
        (b"[mysqld]\ninnodb_data_home_dir=/\n", 2, "places files itself"),
        (b"[mysqld]\ninnodb_monitor_enable=../../etc/passwd\n", 2, "cannot be"),
        (b"[mysqld]\ninnodb_monitor_enable=`reboot`\n", 2, "cannot be"),
        (b"[mysqld]\nback_log=$(id)\n", 2, "whole number"),
        (b"[mysqld]\nback_log=1;id\n", 2, "whole number"),
        (b"[mysqld]\nback_log=\n", 2, "has an empty value"),
        (b"[mysqld]\nback_log\n", 2, "needs a value"),
        (b"[mysqld]\n\x1b[31mname=1\n", 2, "not a variable that the advisor sets"),
    ],
)
@pytest.mark.parametrize("origin", [None, ANY_VERSION, MYSQL57])
def test_bad_input_is_reported_with_line_and_reason(
    data: bytes, line: int | None, why: str, origin: Origin | None
) -> None:
    found = import_cnf(data, "my.cnf", MYSQL97, translate_from=origin)
    assert any(p.line == line and why in p.reason for p in found.problems), found.problems
    assert any(x.action is Action.REFUSED and why in x.detail for x in found.lines)
    assert all(str(p).isprintable() for p in found.problems)
    assert all(x.name.isprintable() and (x.given or "").isprintable() for x in found.lines)


def test_a_file_full_of_unknown_names_is_answered_at_once() -> None:
    line = b"innodb_bufer_pool_siz=1\n"
    data = b"[mysqld]\n" + line * (MAX_CONFIG_BYTES // len(line) - 1)
    start = time.process_time()
    found = import_cnf(data, "my.cnf", MYSQL97, translate_from=ANY_VERSION)
    assert time.process_time() - start < 5
    assert len(found.problems) == MAX_SETTINGS + 1
    assert "did you mean innodb_buffer_pool_size?" in found.problems[1].reason


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
    st.none() | st.just(ANY_VERSION) | TARGETS,
    st.sampled_from(list(Durability)),
)
def test_every_file_gets_an_answer_for_each_line_and_the_answer_holds(
    settings: list[tuple[str, str, str | None]],
    target: ServerTraits,
    origin: Origin | None,
    durability: Durability,
) -> None:
    lines = [f"{p}{n}" if v is None else f'{p}{n} = "{v}"' for p, n, v in settings]
    found = report("\n".join(lines), target, origin, durability)
    if not settings:
        assert found.problems
        return
    assert [line.line for line in found.lines] == list(range(2, len(settings) + 2))
    refused = {line.line for line in found.lines if line.action is Action.REFUSED}
    assert refused == {p.line for p in found.value_problems}
    assert all(line.detail for line in found.lines if line.action is not Action.KEPT)
    if found.problems:
        return
    # What got through gets through again unchanged, from memory and from a file.
    assert check_knobs(found.knobs, target, source="x", durability=durability).knobs == found.knobs
    if found.knobs:
        again = import_cnf(
            render_cnf(found.knobs, target).encode(), "again", target, durability=durability
        )
        assert again.problems == ()
        assert again.knobs == found.knobs
        became = {name for line in found.lines for name, _ in line.became}
        assert set(found.knobs) == became


@given(st.binary(max_size=400), TARGETS, st.none() | st.just(ANY_VERSION))
def test_no_bytes_raise(data: bytes, target: ServerTraits, origin: Origin | None) -> None:
    for text in (data, b"[mysqld]\n" + data):
        found = import_cnf(text, "fuzz", target, translate_from=origin)
        assert found.problems or found.lines
        assert all(f"{p}".isprintable() for p in found.problems)
        assert all(f"{n.name}{n.detail}".isprintable() for n in found.notes)
        for line in found.lines:
            assert f"{line.name}{line.given or ''}{line.detail}".isprintable()


@given(st.text(max_size=60), TARGETS, st.none() | st.just(ANY_VERSION))
def test_no_text_reaches_a_terminal_raw(
    text: str, target: ServerTraits, origin: Origin | None
) -> None:
    for file in (f"[{text}]\na=1", f"[mysqld]\n{text}", f"[mysqld]\nback_log={text}", f"!{text}"):
        data = file.encode("utf-8", "surrogatepass")
        found = import_cnf(data, "fuzz", target, translate_from=origin)
        said = [f"{p}" for p in found.problems] + [f"{n.name}{n.detail}" for n in found.notes]
        said += [f"{x.name}{x.given or ''}{x.detail}" for x in found.lines]
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
        passed = check_knobs(translated.knobs, target, source="x", durability=Durability.D2)
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
    ("1GB", "write 1G instead"),
    ("-5", "must not be negative"),
    ("abc", "whole number"),
    ("1e400", "whole number"),
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
def test_a_value_that_no_server_takes_is_refused_where_its_knob_is_dropped(
    name: str, origin: Origin
) -> None:
    for value, why in BAD_NUMBERS:
        found = report(f"back_log=9\n{name}={value}", MYSQL97, origin)
        [problem] = found.problems
        assert (problem.line, problem.name) == (3, name), value
        assert why in problem.reason, value
        assert found.lines[1].action is Action.REFUSED, value


@pytest.mark.parametrize(
    ("lines", "origin", "target", "line"),
    [
        ("innodb_log_file_size=1G\ninnodb_log_files_in_group=abc", MYSQL57, MYSQL97, 3),
        ("innodb_redo_log_capacity=xyz", MYSQL97, ServerTraits(Flavour.MYSQL, (8, 0, 20)), 2),
        ("query_cache_type=perhaps", MYSQL57, MYSQL97, 2),
        ("innodb_page_cleaners=many", MYSQL57, MARIADB, 2),
        ("binlog_group_commit_sync_delay=x", MYSQL80, MARIADB, 2),
        ("query_cache_size", MYSQL57, MYSQL97, 2),
        ("innodb_checksums=maybe", MYSQL57, MYSQL97, 2),
    ],
)
def test_nothing_bad_is_dropped_in_silence(
    lines: str, origin: Origin, target: ServerTraits, line: int
) -> None:
    found = report(lines, target, origin)
    assert [problem.line for problem in found.problems] == [line]


@pytest.mark.parametrize(
    "line", ["query_cache_type=2", "query_cache_type=DEMAND", "query_cache_size=5"]
)
def test_what_the_old_server_took_may_be_dropped(line: str) -> None:
    assert report(line, MYSQL97, MYSQL57).problems == ()


@pytest.mark.parametrize(
    ("lines", "origin", "target", "knobs"),
    [
        ("thread_handling=no-threads\nthread_handling=pool-of-threads", PERCONA80, MYSQL84, {}),
        (
            "innodb_flush_method=fsync\ninnodb_flush_method=ALL_O_DIRECT",
            ServerTraits(Flavour.PERCONA, (5, 7, 44)),
            MYSQL97,
            {},
        ),
        ("innodb_doublewrite=0\ninnodb_doublewrite=DETECT_ONLY", MYSQL80, MARIADB, {}),
        (
            "thread_handling=pool-of-threads\nthread_handling=no-threads",
            PERCONA80,
            MYSQL84,
            {"thread_handling": "no-threads"},
        ),
    ],
)
def test_a_last_line_that_is_dropped_takes_the_earlier_one_along(
    lines: str, origin: Origin, target: ServerTraits, knobs: dict[str, str]
) -> None:
    found = report(lines, target, origin, Durability.D2)
    assert found.problems == ()
    assert found.knobs == knobs
    assert found.lines[0].detail == "set again on line 3, which counts"
    dropped = [note for note in found.notes if note.action is Action.DROPPED]
    assert bool(dropped) is not bool(knobs)


@pytest.mark.parametrize("origin", [None, ANY_VERSION, MYSQL80])
def test_what_is_fixed_is_looked_at_in_the_line_that_counts(origin: Origin | None) -> None:
    good = report("innodb_page_size=4k\ninnodb_page_size=16k", MYSQL97, origin)
    assert good.problems == ()
    assert good.knobs == {"innodb_page_size": "16384"}
    bad = report("innodb_page_size=16k\ninnodb_page_size=4k", MYSQL97, origin)
    assert [problem.line for problem in bad.problems] == [3]


def test_an_unknown_number_of_redo_files_is_stated() -> None:
    [line] = report("innodb_log_file_size=1G", MARIADB, ANY_VERSION).lines
    assert line.became == (("innodb_log_file_size", f"{GIB}"),)
    assert "there were 2 files of this size: write 2G" in line.detail
    [known] = report("innodb_log_file_size=1G", MARIADB, MARIADB).lines
    assert known.detail == ""
