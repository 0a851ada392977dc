"""What servers say of their write debt, and the rule that marks a run."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.engines import innodb
from benchmarks.telemetry.write_debt import Debt, DebtReading, WriteDebt

MB = 1_000_000
MONITOR = """\
---
LOG
---
Log sequence number          5000
Log buffer assigned up to    5000
Last checkpoint at           1200
------------
TRANSACTIONS
------------
History list length 37
"""
PAGES = {
    "Innodb_buffer_pool_bytes_dirty": "65536",
    "Innodb_buffer_pool_pages_flushed": "10",
    "Innodb_page_size": "16384",
    "Com_commit": "99",
}
READ = DebtReading(
    lsn=5000,
    checkpoint_age_bytes=3800,
    dirty_bytes=65536,
    history_length=37,
    flushed_bytes=163_840,
    commits=99,
)


@pytest.mark.parametrize(
    ("status", "monitor", "capacity"),
    [
        pytest.param({}, MONITOR, None, id="MySQL 5.7"),
        pytest.param(
            {
                "Innodb_redo_log_current_lsn": "5000",
                "Innodb_redo_log_checkpoint_lsn": "1200",
                "Innodb_redo_log_capacity_resized": "104857600",
            },
            "History list length 37\n",
            104_857_600,
            id="MySQL 9",
        ),
        pytest.param(
            {
                "Innodb_lsn_current": "5000",
                "Innodb_lsn_last_checkpoint": "1200",
                "Innodb_checkpoint_age": "3800",
                "Innodb_history_list_length": "37",
            },
            "",
            None,
            id="MariaDB",
        ),
    ],
)
def test_every_server_says_what_it_owes(
    status: dict[str, str], monitor: str, capacity: int | None
) -> None:
    read = DebtReading(**innodb.write_behind(PAGES | status, monitor))
    assert vars(read) == vars(READ) | {"redo_capacity": capacity}


def test_what_a_server_does_not_say_is_unknown() -> None:
    assert set(innodb.write_behind({}, "").values()) == {None}
    assert innodb.redo_capacity({}) is None
    assert innodb.redo_capacity({"innodb_log_file_size": "100"}) == 100
    assert (
        innodb.redo_capacity({"innodb_log_file_size": "5", "innodb_log_files_in_group": "2"}) == 10
    )


def owed(age: int, dirty: int = 0, flushed: int = 80 * MB, **values: Any) -> WriteDebt:
    """Of an interval of 8 s with 80 MB of redo and 1,000 commits."""
    start = DebtReading(0, 0, 10 * MB, 0, 0, 0)
    end = DebtReading(80 * MB, age, 10 * MB + dirty, values.pop("history", 0), flushed, 1000)
    return WriteDebt(start, end, 8.0, **values)


def test_a_run_that_put_its_flushing_off_is_marked() -> None:
    found = owed(age=60 * MB)
    assert found.put_off[Debt.REDO] == pytest.approx(0.75)
    assert (found.is_marked, found.is_settled) == (True, False)
    assert found.redo_mb_s == 10.0
    pages = owed(age=0, dirty=30 * MB, flushed=10 * MB)
    assert (pages.put_off[Debt.PAGES], pages.is_marked) == (0.75, True)


def test_a_quarter_of_the_writes_is_no_debt_yet_nor_is_catching_up() -> None:
    assert not owed(age=20 * MB).is_marked
    assert owed(age=20 * MB + 1).is_marked
    behind = owed(age=0)
    caught_up = WriteDebt(behind.end, behind.start, 8.0)
    assert not caught_up.is_marked


def test_purge_is_said_but_marks_nothing() -> None:
    found = owed(age=0, history=900)
    assert (found.put_off[Debt.PURGE], found.is_marked) == (0.9, False)


def test_two_fills_of_the_redo_log_are_long_enough_whatever_is_owed() -> None:
    long = owed(age=21 * MB, redo_capacity_bytes=40 * MB)
    assert (long.fills, long.is_marked, long.is_settled) == (2.0, True, True)
    short = owed(age=60 * MB, redo_capacity_bytes=800 * MB)
    assert (short.fills, short.is_settled) == (0.1, False)
    assert short.seconds_to_settle == pytest.approx(160.0)
    assert owed(age=0).seconds_to_settle is None


def test_what_is_stored_comes_back() -> None:
    found = owed(age=60 * MB, redo_capacity_bytes=800 * MB, missing={"lsn": "why"})
    assert WriteDebt.from_json(found.as_json()) == found


def test_a_late_purge_is_no_share_of_the_writes_that_were_put_off() -> None:
    begin = DebtReading(lsn=0, checkpoint_age_bytes=0, history_length=0, commits=0)
    end = DebtReading(lsn=100, checkpoint_age_bytes=40, history_length=90, commits=30)
    debt = WriteDebt(begin, end, 10.0)
    assert debt.put_off == {Debt.REDO: 0.4, Debt.PURGE: 3.0}
    assert (debt.is_marked, debt.put_off_most) == (True, 0.4)
    assert WriteDebt(DebtReading(), DebtReading(), 10.0).put_off_most == 0.0
