"""What may lose data is exported on an explicit word only, and says so, in every format."""

from __future__ import annotations

import pytest

from tuning.catalogue.knob import Durability
from tuning.errors import InvalidConfig, TuningError
from tuning.export.formats import FORMATS, ExportRequest, export
from tuning.tests.export_cases import MARIADB, MYSQL_8, facts, flat, knobs_in, rendered

UNSAFE = [
    ({"sync_binlog": "0"}, Durability.D1, "binary log events", "lose the last commits"),
    ({"innodb_doublewrite": "OFF"}, Durability.D2, "torn", "a crash can corrupt the database"),
]
CURRENT = b"[mysqld]\nport=3306\n"


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("knobs", "needed", "loses", "warning"), UNSAFE)
def test_unsafe_values_need_an_acknowledgement(
    format: str, knobs: dict[str, str], needed: Durability, loses: str, warning: str
) -> None:
    given = facts(knobs={"innodb_io_capacity": "2000", **knobs})
    with pytest.raises(TuningError, match="must be acknowledged") as refused:
        export(given, ExportRequest(format, current=CURRENT))
    assert refused.value.code == "durability_not_acknowledged"
    [(name, value)] = knobs.items()
    assert f"{name} = {value} may lose" in str(refused.value)
    assert loses in str(refused.value)
    assert "innodb_io_capacity" not in str(refused.value)
    allowed = ExportRequest(format, acknowledged=needed, current=CURRENT)
    assert export(given, allowed).text


@pytest.mark.parametrize("format", ["cnf", "sql", "diff", "ansible"])
@pytest.mark.parametrize(("knobs", "needed", "loses", "warning"), UNSAFE)
def test_they_carry_a_warning_at_the_top_and_on_the_line(
    format: str, knobs: dict[str, str], needed: Durability, loses: str, warning: str
) -> None:
    given = facts(knobs=knobs)
    current = CURRENT if format == "diff" else None
    text = export(given, ExportRequest(format, acknowledged=needed, current=current)).text
    [(name, value)] = knobs.items()
    top, _, rest = text.partition("Tested with:")
    assert f"{needed}: WARNING - " in flat(top)
    assert warning in flat(top)
    assert f"WARNING: {name} = {value} may lose" in flat(top)
    assert f"WARNING: {name} = {value} may lose" in flat(rest)


def test_a_lower_acknowledgement_is_not_enough() -> None:
    request = ExportRequest(acknowledged=Durability.D1)
    with pytest.raises(TuningError, match="class D2"):
        export(facts(knobs={"innodb_doublewrite": "OFF"}), request)


def test_a_value_that_the_server_made_unsafe_counts() -> None:
    given = facts(
        knobs={"innodb_flush_log_at_trx_commit": "1"},
        candidate_variables={"innodb_flush_log_at_trx_commit": "2"},
    )
    with pytest.raises(TuningError, match="must be acknowledged"):
        export(given, ExportRequest())


RAN_UNSAFE = [
    ({"innodb_flush_log_at_trx_commit": "2"}, Durability.D1),
    ({"sync_binlog": "0", "log_bin": "ON"}, Durability.D1),
    ({"innodb_doublewrite": "OFF"}, Durability.D2),
]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("variables", "needed"), RAN_UNSAFE)
def test_what_ran_below_d0_counts_though_no_line_sets_it(
    format: str, variables: dict[str, str], needed: Durability
) -> None:
    given = facts(candidate_variables=variables)
    name = next(iter(variables))
    with pytest.raises(TuningError, match=f"class {needed}.*{name} = ") as refused:
        export(given, ExportRequest(format, current=CURRENT))
    assert refused.value.code == "durability_not_acknowledged"
    current = CURRENT if format == "diff" else None
    text = flat(export(given, ExportRequest(format, needed, current)).text)
    if "rollback" not in format:
        assert f"{name} = {variables[name]}, which was measured" in text
        assert "no durability lost" not in text


def test_a_binary_log_that_is_off_loses_nothing() -> None:
    given = facts(server=MARIADB, candidate_variables={"sync_binlog": "0", "log_bin": "OFF"})
    assert "no durability lost" in rendered(given)


@pytest.mark.parametrize("knobs", [{}, {"sync_binlog": "1"}], ids=["unset", "set"])
def test_a_synced_binary_log_is_written_out_where_it_is_no_default(knobs: dict[str, str]) -> None:
    ran = {"sync_binlog": "1", "log_bin": "ON"}
    given = facts(
        server=MARIADB,
        knobs={"innodb_io_capacity": "2000", **knobs},
        candidate_variables=ran,
        baseline_variables=ran,
    )
    text = rendered(given)
    assert knobs_in(text, MARIADB) == {"innodb_io_capacity": "2000", "sync_binlog": "1"}
    assert "no durability lost" in text
    assert "SET GLOBAL sync_binlog = 1;" in export(given, ExportRequest("sql")).text
    assert "sync_binlog" not in rendered(facts(candidate_variables=ran))


def test_a_dedicated_server_of_8_0_chose_what_may_lose_writes() -> None:
    given = facts(
        server=MYSQL_8,
        knobs={"innodb_dedicated_server": "ON"},
        candidate_variables={"innodb_flush_method": "O_DIRECT_NO_FSYNC"},
    )
    with pytest.raises(TuningError, match="class D2"):
        export(given, ExportRequest())


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("mode", [{}, {"gtid_mode": "ON"}], ids=["default", "set"])
def test_what_the_server_refuses_is_in_no_file(format: str, mode: dict[str, str]) -> None:
    """9.7 has gtid_mode = ON by default, and does not start without the consistency."""
    knobs = {**mode, "enforce_gtid_consistency": "OFF"}
    with pytest.raises(InvalidConfig, match="would not start"):
        export(facts(knobs=knobs), ExportRequest(format, current=CURRENT))
