"""The four stages say which of them refused a config, on which line, and what became of it."""

from __future__ import annotations

import pytest

from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.servers.binary import Flavour
from benchmarks.servers.trial import Trial
from tuning.catalogue.target import ServerTraits
from tuning.configs.config_check.check import ConfigReport, import_cnf
from tuning.configs.config_check.stages import (
    Stage,
    StageResult,
    refused_stages,
    started_stages,
    static_stages,
)
from tuning.configs.effective.readback import Difference, signature

MYSQL = ServerTraits(Flavour.MYSQL, (8, 4, 13))
MARIADB = ServerTraits(Flavour.MARIADB, (10, 11, 19))


def read(lines: str) -> ConfigReport:
    return import_cnf(f"[mysqld]\n{lines}\n".encode(), "mine", MYSQL)


def trial(**variables: str) -> Trial:
    return Trial(variables=variables, validated=True, log_tail="a warning", seconds=1.5)


def asked(report: ConfigReport, end: Trial | RunFailed) -> list[StageResult]:
    """The server's two stages, for what a file came to."""
    line_of = {line.name: line.number for line in report.lines}
    if isinstance(end, RunFailed):
        return refused_stages(report.source, report.knobs, end, line_of)
    return started_stages(
        report.knobs, end.variables, MYSQL, log_tail=end.log_tail, seconds=end.seconds
    )


def outcome(report: ConfigReport, end: Trial | RunFailed | None) -> list[tuple[bool, bool]]:
    stages = [*static_stages(report), *(asked(report, end) if end else ())]
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
