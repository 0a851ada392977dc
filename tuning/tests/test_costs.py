"""What knobs cost beside durability, as the catalogue says for each value."""

from __future__ import annotations

import pytest

from tuning.catalogue.costs import MEANING, CostKind, read_kinds
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import parse_traits
from tuning.configs.expected import HostFacts
from tuning.configs.price import costs_of, forbidden_costs, free_redo_bytes
from tuning.creation.config_check import warned_cnf
from tuning.tests.export_cases import facts, flat, rendered

GIB = 1024**3
REDO = "innodb_redo_log_capacity"
MYSQL = parse_traits("mysql 9.7")


def kinds(knobs: dict[str, str], server: str = "mysql 9.7", cpus: int = 2) -> dict[str, str]:
    found = costs_of(knobs, parse_traits(server), HostFacts(logical_cpus=cpus))
    return {one.name: f"{one.kind}" for one in found}


def test_each_kind_has_a_meaning_and_a_knob() -> None:
    used = {cost.kind for knob in load_catalogue().knobs.values() for cost in knob.costs}
    assert used == set(MEANING) == set(CostKind)


def test_values_have_their_cost_and_defaults_have_none() -> None:
    knobs = {
        "performance_schema": "OFF",
        "binlog_row_image": "MINIMAL",
        "innodb_adaptive_hash_index": "ON",
        "innodb_max_purge_lag": "500000",
        "innodb_io_capacity": "20000",
    }
    assert kinds(knobs) == {
        "performance_schema": "observability",
        "binlog_row_image": "change-capture",
        "innodb_adaptive_hash_index": "steadiness",
        "innodb_max_purge_lag": "statement-delay",
    }
    safe = {"performance_schema": "ON", "binlog_row_image": "FULL", "innodb_max_purge_lag": "0"}
    assert kinds(safe) == {}
    assert kinds({"performance_schema": "OFF"}, "mariadb 10.11") == {}
    assert kinds({"innodb_adaptive_hash_index": "ON"}, "mysql 5.7") == {}


@pytest.mark.parametrize(
    ("server", "knobs", "costs"),
    [
        ("mysql 9.7", {"innodb_redo_log_capacity": f"{4 * GIB}"}, False),
        ("mysql 9.7", {"innodb_redo_log_capacity": f"{4 * GIB + 1}"}, True),
        ("mysql 5.7", {"innodb_log_file_size": f"{2 * GIB}"}, False),
        (
            "mysql 5.7",
            {"innodb_log_file_size": f"{2 * GIB}", "innodb_log_files_in_group": "3"},
            True,
        ),
        ("mariadb 11.8", {"innodb_log_file_size": f"{5 * GIB}"}, True),
    ],
)
def test_a_redo_log_counts_with_all_its_files(
    server: str, knobs: dict[str, str], costs: bool
) -> None:
    assert (set(kinds(knobs, server).values()) == {"recovery-time"}) is costs


def test_a_redo_log_that_the_server_sizes_itself_counts_as_well() -> None:
    dedicated = {"innodb_dedicated_server": "ON"}
    assert kinds(dedicated, cpus=8) == {}
    assert kinds(dedicated, cpus=16) == {"innodb_dedicated_server": "recovery-time"}
    for size, costs in ((8 * GIB, True), (GIB, False)):
        found = facts(knobs=dedicated, candidate_variables={**dedicated, REDO: f"{size}"})
        assert ("costs recovery-time" in flat(rendered(found))) is costs


def test_costs_that_are_not_allowed_are_distinguished_from_those_that_are() -> None:
    knobs = {"performance_schema": "OFF", "binlog_row_image": "MINIMAL"}
    left = forbidden_costs(knobs, MYSQL, {CostKind.OBSERVABILITY})
    assert [one.name for one in left] == ["binlog_row_image"]
    assert free_redo_bytes() == 4 * GIB


def test_kinds_are_read_as_people_write_them() -> None:
    assert read_kinds(" Observability,recovery-time,") == {
        CostKind.OBSERVABILITY,
        CostKind.RECOVERY_TIME,
    }
    assert read_kinds("") == frozenset()
    with pytest.raises(ValueError, match="'speed' is none of observability, recovery-time"):
        read_kinds("observability,speed")


def test_files_say_what_a_line_costs() -> None:
    said = "costs observability: performance_schema and sys"
    text = rendered(facts(knobs={"performance_schema": "OFF"}))
    assert said in " ".join(text.replace("# ", "").split())
    checked = warned_cnf({"performance_schema": "OFF"}, MYSQL)
    assert checked.startswith("# performance_schema = OFF costs observability: ")
    assert warned_cnf({"performance_schema": "ON"}, MYSQL).startswith("[mysqld]")
