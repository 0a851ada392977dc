"""tpcc-mysql and our sysbench workload ask the server for the same work per New-Order."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from benchmarks.datasets.source import Dataset
from benchmarks.datasets.tpcc import check_consistency
from benchmarks.drivers.protocol import Driver, Load
from benchmarks.drivers.sysbench import Sysbench, find_sysbench
from benchmarks.drivers.tpcc_mysql import TpccMysql, find_tpcc_start
from benchmarks.drivers.workloads import tpcc
from benchmarks.measurement.drive import target_of
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.running import running_server
from benchmarks.tests.quick import QUICK

# On a host where the drivers get little done it takes all its rounds.
pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(400)]

#: By version of the server; written with ADVISOR_RECORD_WORK=1 where tpcc_start is installed.
RECORDED = Path(__file__).parent / "recorded" / "tpcc_start-work.json"
TOLERANCE = 0.03
#: A New-Order has 5 to 15 lines: some 2,000 of them leave a chance of 0.3 % that both drivers'
#: means differ by 3 % by accident. Rounds are added up until they agree, not on a few orders only.
MIN_NEW_ORDERS = 400
MAX_ROUNDS = 20
#: Each connection has a share of each transaction that is exact in the long run only: of one
#: connection and few long rounds the least is by accident. The first shows how fast this host is.
LOAD = Load(workload=tpcc(2), connections=1, warmup_s=0, measure_s=2, seed=0)
MAX_ROUND_S = 30

STATEMENTS = (
    "Com_select",
    "Com_insert",
    "Com_update",
    "Com_delete",
    "Com_commit",
    "Com_stmt_execute",
)
ROWS = (
    "Handler_read_key",
    "Handler_read_next",
    "Handler_write",
    "Handler_update",
    "Handler_delete",
    "Bytes_received",
    "Bytes_sent",
)
DIGESTS = "performance_schema.events_statements_summary_by_digest"
#: What else it can note of each statement takes the server longer.
STATEMENTS_ONLY = (
    "UPDATE performance_schema.setup_instruments SET enabled = 'NO'"
    " WHERE name NOT LIKE 'statement/%'"
)
#: MariaDB no longer counts these.
INNODB_ROWS = tuple(f"Innodb_rows_{what}" for what in ("read", "inserted", "updated", "deleted"))

OPTIONS = {
    "innodb_buffer_pool_size": "512M",
    "innodb_flush_log_at_trx_commit": "0",
    "log_bin": "OFF",
}


@dataclass
class Work:
    """What one driver had the server do, summed over its rounds."""

    seconds: int = 0
    new_orders: int = 0
    counters: Counter[str] = field(default_factory=Counter)
    statements: set[str] = field(default_factory=set)

    def per_new_order(self, counter: str) -> float:
        return self.counters[counter] / self.new_orders


@pytest.fixture
def server(
    any_server: ServerBinary,
    copied_dataset: Callable[[ServerBinary, Path], Dataset],
    server_tmp: Path,
) -> Iterator[ServerInstance]:
    copied_dataset(any_server, server_tmp / "data")
    # Of prepared statements MariaDB notes nothing.
    mariadb = any_server.flavour is Flavour.MARIADB
    events = {"performance_schema": "OFF" if mariadb else "ON"}
    with running_server(
        any_server,
        data_dir=server_tmp / "data",
        run_dir=server_tmp / "run",
        options={**QUICK, **OPTIONS, **events},
    ) as instance:
        with contextlib.closing(instance.connect()) as connection:
            connection.cursor().execute(STATEMENTS_ONLY)
        yield instance


def next_load(work: Work, seed: int) -> Load:
    """As long as this driver takes for half of what is missing, by what it has done so far: the
    server, cold in the first round, does twice of that.

    When enough was done, rounds become longer: of many short ones each ends with a share of its
    transactions that is by accident.
    """
    if not work.seconds:
        return LOAD
    done = work.new_orders
    missing = max(MIN_NEW_ORDERS - done, MIN_NEW_ORDERS // 4, done // 2) / 2
    longer = math.ceil(work.seconds * missing / max(1, done))
    return replace(LOAD, seed=seed, measure_s=min(MAX_ROUND_S, longer))


def rows_of(server: ServerInstance, sql: str) -> list[tuple[str, int]]:
    with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        return [(str(text), int(number)) for text, number in cursor.fetchall()]


def orders(server: ServerInstance) -> int:
    return rows_of(server, "SELECT 'orders', SUM(d_next_o_id) FROM tpcc.district")[0][1]


def add_work(
    work: Work, driver: Driver, server: ServerInstance, work_dir: Path, load: Load
) -> None:
    """Run the driver once more and add what the server counted meanwhile.

    With the seed of another round the same transactions would be counted again.
    """
    target = target_of(server, "tpcc")
    with contextlib.closing(server.connect()) as connection:
        connection.cursor().execute(f"TRUNCATE TABLE {DIGESTS}")
    orders_before, asked, before = orders(server), server.status(), server.status()
    driver.run(target, load, work_dir, on_phase=lambda _: None, should_stop=lambda: False)
    after, orders_after = server.status(), orders(server)
    work.seconds += load.measure_s
    work.new_orders += orders_after - orders_before
    for name in (*STATEMENTS, *ROWS, *INNODB_ROWS):
        if name in after:
            # To ask costs the server hundreds of rows, each time as many.
            work.counters[name] += after[name] - before[name] - (before[name] - asked[name])
    work.statements |= {
        text
        for text, _ in rows_of(
            server,
            f"SELECT digest_text, count_star FROM {DIGESTS}"
            " WHERE schema_name = 'tpcc' AND digest_text LIKE 'EXECUTE %'",
        )
    }


def differences(one: Work, other: Work) -> dict[str, str]:
    """The counters per New-Order that do not agree."""
    assert one.counters.keys() == other.counters.keys()
    return {
        name: f"{one.per_new_order(name):.3f} and {other.per_new_order(name):.3f}"
        for name in one.counters
        if not math.isclose(one.per_new_order(name), other.per_new_order(name), rel_tol=TOLERANCE)
    }


def recorded(server: ServerBinary) -> Work | None:
    """Return what tpcc-mysql had this version of the server do; None if nobody recorded it."""
    known = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    if (found := known.get(server.version_text)) is None:
        return None
    counters = Counter(found["counters"])
    return Work(0, found["new_orders"], counters, set(found["statements"]))


def record(server: ServerBinary, work: Work) -> None:
    known = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    known[server.version_text] = {
        "new_orders": work.new_orders,
        "counters": dict(work.counters),
        "statements": sorted(work.statements),
    }
    RECORDED.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def test_both_drivers_ask_for_the_same_work_per_new_order(
    any_server: ServerBinary, server: ServerInstance, tmp_path: Path
) -> None:
    """As was recorded of tpcc-mysql, which is driven as well where it is installed."""
    tpcc_start, sysbench = find_tpcc_start(), find_sysbench()
    assert sysbench, "sysbench is not installed: run `make setup`"
    ours, theirs = Work(), Work()
    pairs: list[tuple[Work, Driver]] = [(ours, Sysbench(sysbench))]
    if tpcc_start:
        pairs.append((theirs, TpccMysql(tpcc_start)))
    reference = recorded(any_server) or theirs
    if reference is theirs and not tpcc_start:
        pytest.skip(f"no tpcc_start, and nothing is recorded of it on {any_server.version_text}")
    for seed in range(MAX_ROUNDS):
        for work, driver in pairs:
            add_work(work, driver, server, tmp_path, next_load(work, seed))
        fewest = min(work.new_orders for work, _ in pairs)
        different = [found for work, _ in pairs if (found := differences(reference, work))]
        if fewest >= MIN_NEW_ORDERS and not different:
            break
    if os.environ.get("ADVISOR_RECORD_WORK"):
        record(any_server, theirs)
    assert not different
    # The prepared statements themselves, which MariaDB does not record.
    assert [work.statements for work, _ in pairs] == [reference.statements] * len(pairs)
    if any_server.flavour is Flavour.MYSQL:
        assert len(ours.statements) == 34
        assert set(INNODB_ROWS) <= ours.counters.keys()
    with contextlib.closing(server.connect(database="tpcc")) as connection:
        assert check_consistency(connection) == []
