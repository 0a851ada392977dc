r"""The rows of TPC-C's initial population (clauses 1.2 and 4.3.3.1) on tpcc-mysql's schema.

Each function returns the lines of one table for one warehouse, in primary-key order. Every table
of every warehouse draws from its own random stream: rows do not depend on the order of loading.
Where tpcc_load and the standard differ we follow the standard, as far as column types allow:

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

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from benchmarks.datasets.text import (
    NULL,
    Bytes,
    Ints,
    alphanumeric,
    constant,
    digits,
    hundredths,
    join,
    numeric,
    with_word,
)

#: Every golden copy of one size holds the same rows, on every host.
SEED: Final = 20161
ITEMS: Final = 100_000
DISTRICTS: Final = 10
CUSTOMERS: Final = 3_000
ORDERS: Final = 3_000
#: Orders from this number on have not been delivered yet: they are in new_orders.
FIRST_NEW_ORDER: Final = 2_101
#: The least and the most lines of an order.
LINES: Final = (5, 15)
LOAD_TIME: Final = "2024-01-01 00:00:00"
#: The constant C of NURand(255, 0, 999) at load time (clause 2.1.6). Any value in 0..255 is valid:
#: the first 1,000 customers of a district carry all 1,000 names, so a run finds each name.
C_LOAD: Final = 173

_SYLLABLES = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"]
#: Clause 4.3.2.3: a name has three syllables, one for each digit of a number in 0..999.
LAST_NAMES: Final = [a + b + c for a in _SYLLABLES for b in _SYLLABLES for c in _SYLLABLES]
_NAME_CELLS = np.array(LAST_NAMES, dtype="S15").view(np.uint8).reshape(1000, 15)


def item() -> Bytes:
    """Make the items, which all warehouses share."""
    rng, rows = _stream("item", 0), ITEMS
    return join(
        digits(np.arange(1, rows + 1), 6),
        digits(rng.integers(1, 10_001, rows), 5),
        alphanumeric(rng, rows, 14, 24),
        hundredths(rng.integers(100, 10_001, rows), 3),
        _data(rng, rows),
    )


def warehouse(w_id: int) -> Bytes:
    """Make one warehouse; w_ytd is the sum of its districts' d_ytd (clause 3.3.2.1)."""
    rng = _stream("warehouse", w_id)
    return join(
        constant(f"{w_id}"),
        alphanumeric(rng, 1, 6, 10),
        *_address(rng, 1),
        hundredths(rng.integers(0, 21, 1), 1),
        constant("300000.00"),
    )


def district(w_id: int) -> Bytes:
    """Make the ten districts of a warehouse."""
    rng, rows = _stream("district", w_id), DISTRICTS
    return join(
        digits(np.arange(1, rows + 1), 2),
        constant(f"{w_id}"),
        alphanumeric(rng, rows, 6, 10),
        *_address(rng, rows),
        hundredths(rng.integers(0, 21, rows), 1),
        constant("30000.00"),
        constant(f"{ORDERS + 1}"),
    )


def stock(w_id: int) -> Bytes:
    """Make one row per item."""
    rng, rows = _stream("stock", w_id), ITEMS
    return join(
        digits(np.arange(1, rows + 1), 6),
        constant(f"{w_id}"),
        digits(rng.integers(10, 101, rows), 3),
        *(alphanumeric(rng, rows, 24, 24) for _ in range(10)),
        *(constant("0") for _ in range(3)),
        _data(rng, rows),
    )


def customer(w_id: int) -> Bytes:
    """Make 3,000 customers a district; the first 1,000 of each carry every last name once."""
    rng, rows = _stream("customer", w_id), DISTRICTS * CUSTOMERS
    names = nurand_255(rng, rows).reshape(DISTRICTS, CUSTOMERS)
    names[:, :1000] = np.arange(1000)
    is_bad = np.tile(np.arange(CUSTOMERS) < CUSTOMERS // 10, (DISTRICTS, 1))
    is_bad = rng.permuted(is_bad, axis=1).reshape(-1, 1)
    d_id, c_id = _district_and_customer()
    return join(
        c_id,
        d_id,
        constant(f"{w_id}"),
        alphanumeric(rng, rows, 8, 16),
        constant("OE"),
        _NAME_CELLS[names.reshape(-1)],
        *_address(rng, rows),
        numeric(rng, rows, 16),
        constant(LOAD_TIME),
        np.where(is_bad, constant("BC"), constant("GC")),
        constant("50000"),
        hundredths(rng.integers(0, 51, rows), 1),
        constant("-10.00"),
        constant("10.00"),
        constant("1"),
        constant("0"),
        alphanumeric(rng, rows, 300, 500),
    )


def history(w_id: int) -> Bytes:
    """Make one payment per customer."""
    rng, rows = _stream("history", w_id), DISTRICTS * CUSTOMERS
    d_id, c_id = _district_and_customer()
    return join(
        c_id,
        d_id,
        constant(f"{w_id}"),
        d_id,
        constant(f"{w_id}"),
        constant(LOAD_TIME),
        constant("10.00"),
        alphanumeric(rng, rows, 12, 24),
    )


def orders(w_id: int) -> Bytes:
    """Make 3,000 orders a district, one for each customer in random order."""
    rng, lines = _order_lines(w_id)
    customers = np.tile(np.arange(1, CUSTOMERS + 1), (DISTRICTS, 1))
    o_id = np.tile(np.arange(1, ORDERS + 1), DISTRICTS)
    carrier = digits(rng.integers(1, 11, len(lines)), 2)
    carrier[o_id >= FIRST_NEW_ORDER] = constant(NULL)
    return join(
        digits(o_id, 4),
        digits(np.repeat(np.arange(1, DISTRICTS + 1), ORDERS), 2),
        constant(f"{w_id}"),
        digits(rng.permuted(customers, axis=1).reshape(-1), 4),
        constant(LOAD_TIME),
        carrier,
        digits(lines, 2),
        constant("1"),
    )


def new_orders(w_id: int) -> Bytes:
    """Make the last 900 orders of each district."""
    o_id = np.arange(FIRST_NEW_ORDER, ORDERS + 1)
    return join(
        digits(np.tile(o_id, DISTRICTS), 4),
        digits(np.repeat(np.arange(1, DISTRICTS + 1), len(o_id)), 2),
        constant(f"{w_id}"),
    )


def order_line(w_id: int) -> Bytes:
    """Make 5 to 15 lines an order; delivered lines have a date and cost nothing."""
    rng = _stream("order_line", w_id)
    _, lines = _order_lines(w_id)
    order = np.repeat(np.arange(len(lines)), lines)
    o_id, rows = order % ORDERS + 1, len(order)
    is_new = o_id >= FIRST_NEW_ORDER
    return join(
        digits(o_id, 4),
        digits(order // ORDERS + 1, 2),
        constant(f"{w_id}"),
        digits(np.arange(1, rows + 1) - np.repeat(np.cumsum(lines) - lines, lines), 2),
        digits(rng.integers(1, ITEMS + 1, rows), 6),
        constant(f"{w_id}"),
        np.where(is_new[:, None], constant(NULL.ljust(19, "\0")), constant(LOAD_TIME)),
        constant("5"),
        hundredths(np.where(is_new, rng.integers(1, 1_000_000, rows), 0), 4),
        alphanumeric(rng, rows, 24, 24),
    )


_MADE = (order_line, stock, customer, orders, history, new_orders, district, warehouse)
#: Makes the rows of each table, in the order in which a warehouse's tables are loaded: threads
#: meet in one table only at its end, and each table is loaded in key order, so that its pages lie
#: in key order on the disk.
PER_WAREHOUSE: Mapping[str, Callable[[int], Bytes]] = MappingProxyType(
    {make.__name__: make for make in _MADE}
)
#: The number of a table's random stream is its place here.
_STREAMS = ("item", *PER_WAREHOUSE)


def nurand_255(rng: np.random.Generator, rows: int) -> Ints:
    """Draw NURand(255, 0, 999) with the load-time constant (clause 2.1.6)."""
    return ((rng.integers(0, 256, rows) | rng.integers(0, 1000, rows)) + C_LOAD) % 1000


def _stream(table: str, w_id: int) -> np.random.Generator:
    key = (_STREAMS.index(table), w_id)
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(SEED, spawn_key=key)))


def _address(rng: np.random.Generator, rows: int) -> list[Bytes]:
    """Return street_1, street_2, city, state and zip."""
    zips = np.full((rows, 9), ord("1"), dtype=np.uint8)
    zips[:, :4] = numeric(rng, rows, 4)
    lengths = ((10, 20), (10, 20), (10, 20), (2, 2))
    return [*(alphanumeric(rng, rows, low, high) for low, high in lengths), zips]


def _data(rng: np.random.Generator, rows: int) -> Bytes:
    """Return i_data or s_data. TPC-C writes the word in capitals; tpcc_start seeks small ones."""
    return with_word(rng, rows, 26, 50, word="original", share=0.1)


def _district_and_customer() -> tuple[Bytes, Bytes]:
    """Return d_id and c_id of all customers of a warehouse, in key order."""
    d_id = np.repeat(np.arange(1, DISTRICTS + 1), CUSTOMERS)
    return digits(d_id, 2), digits(np.tile(np.arange(1, CUSTOMERS + 1), DISTRICTS), 4)


def _order_lines(w_id: int) -> tuple[np.random.Generator, Ints]:
    """Return the stream of the orders, and the number of lines of each order."""
    rng = _stream("orders", w_id)
    return rng, rng.integers(*LINES, DISTRICTS * ORDERS, endpoint=True)
