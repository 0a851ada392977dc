r"""Sizes, keys and constants of the TPC-C population, and how much disk it takes.

The population is TPC-C's (clauses 1.2 and 4.3.3.1) on tpcc-mysql's schema. Where tpcc_load and the
standard differ we follow the standard, as far as the schema's column types allow:

==================  ======================  =============================================
column              tpcc_load at 1ec1c5e    here and in the standard
==================  ======================  =============================================
c_credit            half of them "BC"       10 % "BC"
w_tax, d_tax        0.10 to 0.20            0.00 to 0.20 (two decimals: the column's type)
\*_zip              nine digits             four digits and "11111"
ol_amount           0.10 to 100.00          0.01 to 9,999.99 for undelivered orders
"original" rows     drawn with off-by-one   exactly 10 % of the rows
==================  ======================  =============================================
"""

from __future__ import annotations

from typing import Final

DATABASE: Final = "tpcc"

#: Raised whenever rows or schema change; an older golden copy is then no longer used.
SCHEMA_VERSION: Final = 1
#: Every golden copy of one size holds the same rows, on every host.
DEFAULT_SEED: Final = 20161

ITEMS: Final = 100_000
DISTRICTS: Final = 10
CUSTOMERS: Final = 3_000
ORDERS: Final = 3_000
#: Orders from this number on have not been delivered yet: they are in new_orders.
FIRST_NEW_ORDER: Final = 2_101
MIN_LINES: Final = 5
MAX_LINES: Final = 15
#: w_id is a signed SMALLINT in tpcc-mysql's schema.
MAX_WAREHOUSES: Final = 32_767

#: All dates of the population; fixed, so that the same seed gives the same bytes.
LOAD_TIME: Final = b"2024-01-01 00:00:00"

SYLLABLES: Final = (
    b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING",
)  # fmt: skip
#: The constant C of NURand(255, 0, 999) at load time (clause 2.1.6). Any value in 0..255 is valid:
#: the first 1,000 customers of a district carry all 1,000 names, so a run finds each name.
C_LOAD: Final = 173


def expected_rows(warehouses: int) -> dict[str, int]:
    """Rows of each table after loading; order_line's number is random and not among them."""
    districts = warehouses * DISTRICTS
    return {
        "item": ITEMS,
        "warehouse": warehouses,
        "district": districts,
        "stock": warehouses * ITEMS,
        "customer": districts * CUSTOMERS,
        "history": districts * CUSTOMERS,
        "orders": districts * ORDERS,
        "new_orders": districts * (ORDERS + 1 - FIRST_NEW_ORDER),
    }


# Measured with 16 KiB pages: tables and indexes take 244 MB at 2 warehouses and 991 MB at 10 with
# MySQL 9.7, 931 MB with MariaDB 10.11.
_BYTES_PER_WAREHOUSE = 98_000_000
_FIXED_BYTES = 40_000_000


def estimated_bytes(warehouses: int) -> int:
    """About how large tables and indexes of the database are: what a buffer pool would hold."""
    return _FIXED_BYTES + warehouses * _BYTES_PER_WAREHOUSE
