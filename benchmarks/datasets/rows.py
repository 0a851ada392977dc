"""The rows of TPC-C's initial population (clause 4.3.3.1), made in bulk.

Each function returns the lines of one table for one warehouse, in primary-key order. Every table
of every warehouse draws from its own random stream, so the rows do not depend on how many workers
load them or in which order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import numpy.random  # now: a loading process may not be able to read it later

from benchmarks.datasets import rules
from benchmarks.datasets.text import (
    NULL,
    Bytes,
    Column,
    Ints,
    alphanumeric,
    constant,
    digits,
    hundredths,
    join,
    numeric,
    with_word,
)

_NAME_WIDTH = 15
#: The number of a table's random stream is its place here; keep the order, or rows change.
_STREAMS = (
    "item",
    "warehouse",
    "district",
    "stock",
    "customer",
    "history",
    "orders",
    "order_line",
)


def _stream(seed: int, table: str, warehouse: int = 0) -> np.random.Generator:
    key = (_STREAMS.index(table), warehouse)
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=key)))


def _number(value: int) -> Column:
    """A column with one number in every row."""
    return constant(str(value).encode())


def _address(rng: np.random.Generator, rows: int) -> list[Column]:
    """street_1, street_2, city, state, zip."""
    zips = np.empty((rows, 9), dtype=np.uint8)
    zips[:, :4] = numeric(rng, rows, 4).cells
    zips[:, 4:] = ord("1")
    return [
        alphanumeric(rng, rows, 10, 20),
        alphanumeric(rng, rows, 10, 20),
        alphanumeric(rng, rows, 10, 20),
        alphanumeric(rng, rows, 2, 2),
        Column(zips),
    ]


def _data(rng: np.random.Generator, rows: int) -> Column:
    """i_data and s_data. The word is in capitals in TPC-C; tpcc_start looks for small letters."""
    return with_word(rng, rows, 26, 50, word=b"original", share=0.1)


def last_names(numbers: Ints) -> Column:
    """Clause 4.3.2.3: three syllables, one for each digit of a number in 0..999."""
    cells = np.zeros((1000, _NAME_WIDTH), dtype=np.uint8)
    lengths = np.empty(1000, dtype=np.int64)
    for number in range(1000):
        name = b"".join(rules.SYLLABLES[int(digit)] for digit in f"{number:03}")
        cells[number, : len(name)] = np.frombuffer(name, dtype=np.uint8)
        lengths[number] = len(name)
    return Column(cells[numbers], lengths[numbers])


def nurand_255(rng: np.random.Generator, rows: int) -> Ints:
    """Clause 2.1.6: NURand(255, 0, 999) with the load-time constant."""
    return ((rng.integers(0, 256, rows) | rng.integers(0, 1000, rows)) + rules.C_LOAD) % 1000


def item(seed: int) -> Bytes:
    """The items, which all warehouses share."""
    rng, rows = _stream(seed, "item"), rules.ITEMS
    return join(
        rows,
        [
            digits(np.arange(1, rows + 1), 6),
            digits(rng.integers(1, 10_001, rows), 5),
            alphanumeric(rng, rows, 14, 24),
            hundredths(rng.integers(100, 10_001, rows), 3),
            _data(rng, rows),
        ],
    )


def warehouse(seed: int, w_id: int) -> Bytes:
    """One warehouse; w_ytd is the sum of its districts' d_ytd (clause 3.3.2.1)."""
    rng = _stream(seed, "warehouse", w_id)
    return join(
        1,
        [
            _number(w_id),
            alphanumeric(rng, 1, 6, 10),
            *_address(rng, 1),
            hundredths(rng.integers(0, 21, 1), 1),
            constant(b"300000.00"),
        ],
    )


def district(seed: int, w_id: int) -> Bytes:
    """The ten districts of a warehouse."""
    rng, rows = _stream(seed, "district", w_id), rules.DISTRICTS
    return join(
        rows,
        [
            digits(np.arange(1, rows + 1), 2),
            _number(w_id),
            alphanumeric(rng, rows, 6, 10),
            *_address(rng, rows),
            hundredths(rng.integers(0, 21, rows), 1),
            constant(b"30000.00"),
            _number(rules.ORDERS + 1),
        ],
    )


def stock(seed: int, w_id: int) -> Bytes:
    """One row per item."""
    rng, rows = _stream(seed, "stock", w_id), rules.ITEMS
    return join(
        rows,
        [
            digits(np.arange(1, rows + 1), 6),
            _number(w_id),
            digits(rng.integers(10, 101, rows), 3),
            *(alphanumeric(rng, rows, 24, 24) for _ in range(10)),
            constant(b"0"),
            constant(b"0"),
            constant(b"0"),
            _data(rng, rows),
        ],
    )


def _district_and_customer() -> tuple[Column, Column]:
    """c_d_id and c_id of all customers of a warehouse, in key order."""
    d_id = np.repeat(np.arange(1, rules.DISTRICTS + 1), rules.CUSTOMERS)
    c_id = np.tile(np.arange(1, rules.CUSTOMERS + 1), rules.DISTRICTS)
    return digits(d_id, 2), digits(c_id, 4)


def customer(seed: int, w_id: int) -> Bytes:
    """3,000 customers a district; the first 1,000 of each carry every last name once."""
    rng, rows = _stream(seed, "customer", w_id), rules.DISTRICTS * rules.CUSTOMERS
    names = nurand_255(rng, rows).reshape(rules.DISTRICTS, rules.CUSTOMERS)
    names[:, :1000] = np.arange(1000)
    bad = np.zeros((rules.DISTRICTS, rules.CUSTOMERS), dtype=np.bool_)
    bad[:, : rules.CUSTOMERS // 10] = True
    credit = np.empty((rows, 2), dtype=np.uint8)
    credit[:, 0] = np.where(rng.permuted(bad, axis=1).reshape(-1), ord("B"), ord("G"))
    credit[:, 1] = ord("C")
    d_id, c_id = _district_and_customer()
    return join(
        rows,
        [
            c_id,
            d_id,
            _number(w_id),
            alphanumeric(rng, rows, 8, 16),
            constant(b"OE"),
            last_names(names.reshape(-1)),
            *_address(rng, rows),
            numeric(rng, rows, 16),
            constant(rules.LOAD_TIME),
            Column(credit),
            constant(b"50000"),
            hundredths(rng.integers(0, 51, rows), 1),
            constant(b"-10.00"),
            constant(b"10.00"),
            constant(b"1"),
            constant(b"0"),
            alphanumeric(rng, rows, 300, 500),
        ],
    )


def history(seed: int, w_id: int) -> Bytes:
    """One payment per customer."""
    rng, rows = _stream(seed, "history", w_id), rules.DISTRICTS * rules.CUSTOMERS
    d_id, c_id = _district_and_customer()
    return join(
        rows,
        [
            c_id,
            d_id,
            _number(w_id),
            d_id,
            _number(w_id),
            constant(rules.LOAD_TIME),
            constant(b"10.00"),
            alphanumeric(rng, rows, 12, 24),
        ],
    )


def _order_facts(seed: int, w_id: int) -> tuple[np.random.Generator, Ints, Ints]:
    """The orders' stream, their customers and their line counts, shape (districts, orders)."""
    rng = _stream(seed, "orders", w_id)
    shape = (rules.DISTRICTS, rules.ORDERS)
    customers = rng.permuted(np.broadcast_to(np.arange(1, rules.CUSTOMERS + 1), shape), axis=1)
    lines = rng.integers(rules.MIN_LINES, rules.MAX_LINES, shape, endpoint=True)
    return rng, customers, lines


def orders(seed: int, w_id: int) -> Bytes:
    """3,000 orders a district, one for each customer in random order."""
    rng, customers, lines = _order_facts(seed, w_id)
    rows = customers.size
    o_id = np.tile(np.arange(1, rules.ORDERS + 1), rules.DISTRICTS)
    carrier = digits(rng.integers(1, 11, rows), 2)
    carrier.cells[o_id >= rules.FIRST_NEW_ORDER] = np.frombuffer(NULL, dtype=np.uint8)
    return join(
        rows,
        [
            digits(o_id, 4),
            digits(np.repeat(np.arange(1, rules.DISTRICTS + 1), rules.ORDERS), 2),
            _number(w_id),
            digits(customers.reshape(-1), 4),
            constant(rules.LOAD_TIME),
            carrier,
            digits(lines.reshape(-1), 2),
            constant(b"1"),
        ],
    )


def new_orders(seed: int, w_id: int) -> Bytes:
    """The last 900 orders of each district."""
    del seed  # nothing here is random
    o_id = np.arange(rules.FIRST_NEW_ORDER, rules.ORDERS + 1)
    rows = rules.DISTRICTS * len(o_id)
    return join(
        rows,
        [
            digits(np.tile(o_id, rules.DISTRICTS), 4),
            digits(np.repeat(np.arange(1, rules.DISTRICTS + 1), len(o_id)), 2),
            _number(w_id),
        ],
    )


def order_line(seed: int, w_id: int) -> Bytes:
    """5 to 15 lines an order; delivered ones have a date and cost nothing."""
    _, _, lines = _order_facts(seed, w_id)
    rng = _stream(seed, "order_line", w_id)
    parts = []
    for d_id in range(1, rules.DISTRICTS + 1):
        counts = lines[d_id - 1]
        for first, last in ((1, rules.FIRST_NEW_ORDER - 1), (rules.FIRST_NEW_ORDER, rules.ORDERS)):
            delivered = first == 1
            of = counts[first - 1 : last]
            rows = int(of.sum())
            starts = np.cumsum(of) - of
            amount = (
                constant(b"0.00") if delivered else hundredths(rng.integers(1, 1_000_000, rows), 4)
            )
            parts.append(
                join(
                    rows,
                    [
                        digits(np.repeat(np.arange(first, last + 1), of), 4),
                        _number(d_id),
                        _number(w_id),
                        digits(np.arange(1, rows + 1) - np.repeat(starts, of), 2),
                        digits(rng.integers(1, rules.ITEMS + 1, rows), 6),
                        _number(w_id),
                        constant(rules.LOAD_TIME if delivered else NULL),
                        constant(b"5"),
                        amount,
                        alphanumeric(rng, rows, 24, 24),
                    ],
                )
            )
    return np.concatenate(parts)


#: Tables that hold rows of every warehouse, and what makes the rows.
PER_WAREHOUSE: Mapping[str, Callable[[int, int], Bytes]] = MappingProxyType(
    {
        "warehouse": warehouse,
        "district": district,
        "stock": stock,
        "customer": customer,
        "history": history,
        "orders": orders,
        "new_orders": new_orders,
        "order_line": order_line,
    }
)
