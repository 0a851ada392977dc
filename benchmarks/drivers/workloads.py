"""The workloads that drivers can run: TPC-C, and sysbench's own OLTP scripts."""

from __future__ import annotations

from typing import Final

from benchmarks.drivers.protocol import Workload

TPCC: Final = "tpcc"
#: TPC-C's five transactions, in the order in which tpcc-mysql and tpcc.lua number them.
TPCC_TRANSACTIONS: Final = ("new_order", "payment", "order_status", "delivery", "stock_level")
#: Scripts that sysbench brings.
OLTP_SCRIPTS: Final = (
    "oltp_read_write",
    "oltp_read_only",
    "oltp_write_only",
    "oltp_point_select",
)
#: Names of all workloads, the usual one first.
WORKLOADS: Final = (TPCC, *OLTP_SCRIPTS)
#: The only driver of OLTP_SCRIPTS; every driver runs TPC-C.
OLTP_DRIVER: Final = "sysbench"
OLTP_SCHEMA: Final = "sbtest"
#: Units of throughput: New-Orders per minute, and transactions of any other workload.
TPMP: Final = "tpmP"
PER_MINUTE: Final = "transactions/min"
_COUNT_WAREHOUSES: Final = "SELECT COUNT(*) FROM warehouse WHERE w_id <= {}"
_LAST_ROW: Final = "SELECT COALESCE(MAX(id), 0) FROM sbtest{}"


def unit_of(name: str) -> str:
    """Return the unit of a workload's throughput."""
    return TPMP if name == TPCC else PER_MINUTE


def tpcc(warehouses: int) -> Workload:
    """Return TPC-C without think time on so many warehouses.

    Rolled-back New-Orders (1 %) count as completed, and so does one that took longer than TPC-C
    allows.
    """
    return Workload(
        name=TPCC,
        transactions=TPCC_TRANSACTIONS,
        noun="New-Order",
        unit=TPMP,
        schema="tpcc",
        parameters={"warehouses": warehouses},
        # With either driver: Delivery commits each of its ten districts, and 1 % of the New-Orders
        # are rolled back.
        commits=3.19,
        # tpcc_start never compares its `-w` with the tables.
        holds={_COUNT_WAREHOUSES.format(warehouses): warehouses},
    )


def oltp(script: str, *, tables: int, table_size: int) -> Workload:
    """Return one of sysbench's own scripts on so many tables of `table_size` rows each.

    Raises ValueError for a script that is none of OLTP_SCRIPTS.
    """
    if script not in OLTP_SCRIPTS:
        raise ValueError(f"script must be one of {', '.join(OLTP_SCRIPTS)}, not {script}")
    return Workload(
        name=script,
        transactions=("transaction",),
        noun="transaction",
        unit=PER_MINUTE,
        schema=OLTP_SCHEMA,
        parameters={"tables": tables, "table_size": table_size},
        commits=0.0 if script == "oltp_point_select" else 1.0,
        holds={_LAST_ROW.format(number): table_size for number in range(1, tables + 1)},
    )


def workload_of(name: str, *, warehouses: int, tables: int, table_size: int) -> Workload:
    """Return the workload of that name with the sizes that it has; the others do not matter.

    Raises ValueError for a name that is none of WORKLOADS.
    """
    if name == TPCC:
        return tpcc(warehouses)
    return oltp(name, tables=tables, table_size=table_size)
