"""What a server made of a config is compared as the server means it, and said stage by stage."""

from __future__ import annotations

import pytest

from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.servers.trial import Trial
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import ServerTraits, parse_traits
from tuning.configs.check import (
    ConfigReport,
    Stage,
    StageResult,
    import_cnf,
    refused_stages,
    started_stages,
)
from tuning.configs.readback import (
    Difference,
    EffectiveSettings,
    SettingDifference,
    differences,
    effective_values,
    setting_differences,
    shown_redo_bytes,
    signature,
)

MYSQL = parse_traits("mysql 8.4.13")
NEWEST = parse_traits("mysql 9.7.4")
OLDER = parse_traits("mysql 8.0.46")
MYSQL_57 = parse_traits("mysql 5.7.42")
MARIADB = parse_traits("mariadb 10.11.19")


def test_other_spellings_of_the_same_value_are_no_difference() -> None:
    asked = {
        "innodb_io_capacity": "200",
        "innodb_max_dirty_pages_pct": "90",
        "innodb_adaptive_hash_index": "OFF",
        "innodb_flush_method": "fsync",
    }
    shown = {
        "innodb_io_capacity": "200",
        "innodb_max_dirty_pages_pct": "90.000000",
        "innodb_adaptive_hash_index": "0",
        "innodb_flush_method": "FSYNC",
    }
    assert differences(asked, shown, MYSQL) == []
    assert differences({"back_log": "1500.0"}, {"back_log": "1500"}, MYSQL) == []
    assert effective_values(asked, shown, MYSQL) == {
        "innodb_io_capacity": "200",
        "innodb_max_dirty_pages_pct": "90",
        "innodb_adaptive_hash_index": "OFF",
        "innodb_flush_method": "FSYNC",
    }


def test_a_rounded_clamped_or_hidden_value_is_one() -> None:
    asked = {"innodb_buffer_pool_size": "251658240", "table_open_cache": "8000", "back_log": "9"}
    shown = {"innodb_buffer_pool_size": "268435456", "table_open_cache": "7995"}
    assert differences(asked, shown, MYSQL) == [
        Difference("innodb_buffer_pool_size", "251658240", "268435456"),
        Difference("table_open_cache", "8000", "7995"),
        Difference("back_log", "9", None),
    ]


def test_numbers_too_long_for_a_float_are_distinguished() -> None:
    asked = {"join_buffer_size": "9223372036854775807"}
    assert differences(asked, {"join_buffer_size": "9223372036854775680"}, MYSQL)


def test_a_variable_under_another_name_is_found() -> None:
    asked = {"transaction_isolation": "READ-COMMITTED"}
    assert differences(asked, {"tx_isolation": "READ-COMMITTED"}, MARIADB) == []
    assert differences(asked, {"transaction_isolation": "READ-COMMITTED"}, MYSQL) == []


def test_mysql_57_shows_its_default_flush_method_as_nothing() -> None:
    shown = {"innodb_flush_method": ""}
    assert differences({"innodb_flush_method": "fsync"}, shown, MYSQL_57) == []
    [found] = differences({"innodb_flush_method": "O_DIRECT"}, shown, MYSQL_57)
    assert found.effective == "fsync"


def redo_signature(knobs: dict[str, int], size: int = 48 << 20, files: int = 2) -> str:
    shown = {
        "innodb_log_file_size": f"{size}",
        "innodb_log_files_in_group": f"{files}",
        "innodb_redo_log_capacity": f"{knobs.get('innodb_redo_log_capacity', 100 << 20)}",
    }
    return signature(shown, OLDER, {name: f"{value}" for name, value in knobs.items()})


def test_the_redo_log_counts_by_its_real_size() -> None:
    """From 8.0.30 on the default capacity is shown where the old pair sizes the log."""
    default = redo_signature({})
    half = 512 << 20
    pair = redo_signature(
        {"innodb_log_file_size": half, "innodb_log_files_in_group": 2}, size=half
    )
    whole = redo_signature({"innodb_redo_log_capacity": 2 * half})
    assert pair == whole != default
    # 2 x 48M is not the default capacity of 100M, though every variable is as by default
    assert redo_signature({"innodb_log_file_size": 48 << 20}) != default
    # a capacity that is set leaves the pair without effect
    assert redo_signature({"innodb_redo_log_capacity": 100 << 20}) == default


def test_values_that_mean_the_same_do_not_differ() -> None:
    ours = EffectiveSettings(
        NEWEST, {"innodb_max_dirty_pages_pct": "90.000000", "log_bin": "ON"}, {}
    )
    theirs = EffectiveSettings(OLDER, {"innodb_max_dirty_pages_pct": "90", "log_bin": "ON"}, {})
    assert setting_differences(ours, theirs) == []
    assert ours.durability is Durability.D0


def test_what_only_one_server_has_is_named_only_where_something_is_lost_by_it() -> None:
    ours = EffectiveSettings(
        NEWEST, {"innodb_log_writer_threads": "ON", "innodb_log_checksums": "ON"}, {"x": "1"}
    )
    theirs = EffectiveSettings(MARIADB, {"innodb_log_file_buffering": "ON"}, {})
    assert setting_differences(ours, theirs) == []
    unsafe = EffectiveSettings(
        NEWEST, {"innodb_log_checksums": "OFF"}, {"innodb_log_checksums": "OFF"}
    )
    assert setting_differences(unsafe, theirs) == [
        SettingDifference(
            "innodb_log_checksums", "OFF", None, is_durability=True, is_default=False
        )
    ]
    assert unsafe.durability is Durability.D2


@pytest.mark.parametrize(
    ("target", "variables", "size"),
    [
        (NEWEST, {"innodb_redo_log_capacity": "1000"}, 1000),
        (MARIADB, {"innodb_log_file_size": "1000"}, 1000),
        (
            MYSQL_57,
            {"innodb_log_file_size": "1000", "innodb_log_files_in_group": "3"},
            3000,
        ),
        (
            OLDER,  # which shows the default capacity where the old pair is in use
            {
                "innodb_redo_log_capacity": "104857600",
                "innodb_log_file_size": "1000",
                "innodb_log_files_in_group": "2",
            },
            2000,
        ),
        (NEWEST, {}, None),
    ],
)
def test_the_redo_log_is_compared_with_all_its_files(
    target: ServerTraits, variables: dict[str, str], size: int | None
) -> None:
    assert shown_redo_bytes(variables, target, {}) == size


def read(lines: str) -> ConfigReport:
    return import_cnf(f"[mysqld]\n{lines}\n".encode(), "mine", MYSQL)


def trial(**variables: str) -> Trial:
    return Trial(variables=variables, log_tail="a warning", seconds=1.5)


def asked(report: ConfigReport, end: Trial | RunFailed) -> list[StageResult]:
    """The server's two stages, for what a file came to."""
    line_of = {line.name: line.number for line in report.lines}
    if isinstance(end, RunFailed):
        return refused_stages(report.source, report.knobs, end, line_of)
    return started_stages(
        report.knobs, end.variables, MYSQL, log_tail=end.log_tail, seconds=end.seconds
    )


def outcome(report: ConfigReport, end: Trial | RunFailed | None) -> list[tuple[bool, bool]]:
    stages = [*report.stages, *(asked(report, end) if end else ())]
    return [(stage.reached, stage.passed) for stage in stages]


GOOD, BAD, UNREACHED = (True, True), (True, False), (False, False)


@pytest.mark.parametrize(
    ("lines", "end", "expected"),
    [
        ("back_log=99", trial(back_log="99"), [GOOD, GOOD, GOOD, GOOD]),
        ("back_log=99", None, [GOOD, GOOD]),
        ("back_log=x", None, [BAD, GOOD]),
        (
            "gtid_mode=ON\nenforce_gtid_consistency=OFF",
            None,
            [GOOD, BAD],
        ),
        ("back_log=99", RunFailed(Outcome.NO_START, "why"), [GOOD, GOOD, BAD, UNREACHED]),
    ],
)
def test_a_stage_passes_fails_or_is_not_reached(
    lines: str, end: Trial | RunFailed | None, expected: list[tuple[bool, bool]]
) -> None:
    assert outcome(read(lines), end) == expected


def test_a_failed_start_names_the_line_of_the_knob_that_the_server_names() -> None:
    failure = RunFailed(
        Outcome.INVALID_CONFIG, "unknown variable 'innodb-io-capacity=300'", log_tail="[ERROR] x"
    )
    [server, _] = asked(read("back_log=9\ninnodb_io_capacity=300"), failure)
    assert server.stage is Stage.SERVER
    assert server.outcome == "invalid_config"
    assert server.log_tail == "[ERROR] x"
    [problem] = server.problems
    assert (problem.line, problem.name) == (3, "innodb_io_capacity")


def test_a_failed_start_that_names_several_knobs_or_none_blames_no_line() -> None:
    report = read("innodb_io_capacity_max=30000\ninnodb_io_capacity=300")
    for said in ("innodb_io_capacity is above innodb_io_capacity_max", "got signal 11"):
        [problem] = asked(report, RunFailed(Outcome.NO_START, said))[0].problems
        assert (problem.line, problem.name, problem.reason) == (None, "", said)


def test_what_the_server_changed_is_shown_and_no_failure() -> None:
    server, read_back = asked(read("table_open_cache=8000"), trial(table_open_cache="4000"))
    assert read_back.differences == (Difference("table_open_cache", "8000", "4000"),)
    assert read_back.passed
    assert (server.log_tail, server.seconds) == ("a warning", 1.5)


def test_equal_signatures_mean_equal_configs() -> None:
    base = {"innodb_io_capacity": "200", "innodb_adaptive_hash_index": "ON", "back_log": "80"}
    same = base | {
        "innodb_adaptive_hash_index": "1",
        "port": "3307",
        "datadir": "/else",
        "log_bin": "ON",
        "server_uuid": "x",
        "innodb_log_group_home_dir": "/log",
    }
    assert signature(base, MYSQL) == signature(same, MYSQL)
    for name, value in (("innodb_io_capacity", "201"), ("back_log", "81")):
        assert signature(base | {name: value}, MYSQL) != signature(base, MYSQL)
    numbers = {"innodb_max_dirty_pages_pct": "90.000000"}
    assert signature(numbers, MYSQL) == signature({"innodb_max_dirty_pages_pct": "90"}, MYSQL)
    isolation = {"tx_isolation": "SERIALIZABLE"}
    assert signature(isolation, MARIADB) != signature({}, MARIADB)
