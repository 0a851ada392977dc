"""What may lose data is exported on an explicit word only, and says so, in every format."""

from __future__ import annotations

import pytest

from tuning.catalogue.knob import Durability
from tuning.errors import TuningError
from tuning.export import FORMATS, ExportRequest, export
from tuning.tests.export_cases import facts, flat

UNSAFE = [
    ({"sync_binlog": "0"}, Durability.D1, "binary log events", "the last commits can be lost"),
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
    assert f"{name} = {value} gives up" in str(refused.value)
    assert loses in str(refused.value)
    assert "innodb_io_capacity" not in str(refused.value)
    allowed = ExportRequest(format, acknowledged=needed, current=CURRENT)
    assert export(given, allowed).text


@pytest.mark.parametrize("format", ["cnf", "sql", "diff"])
@pytest.mark.parametrize(("knobs", "needed", "loses", "warning"), UNSAFE)
def test_they_carry_a_warning_at_the_top_and_on_the_line(
    format: str, knobs: dict[str, str], needed: Durability, loses: str, warning: str
) -> None:
    given = facts(knobs=knobs)
    text = export(given, ExportRequest(format, acknowledged=needed, current=CURRENT)).text
    [(name, value)] = knobs.items()
    top, _, rest = text.partition("Study:")
    assert f"{needed}: WARNING - " in flat(top)
    assert warning in flat(top)
    assert f"WARNING: {name} = {value} gives up" in flat(top)
    assert f"WARNING: {name} = {value} gives up" in flat(rest)


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
