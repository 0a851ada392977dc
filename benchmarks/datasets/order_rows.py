"""The orders of TPC-C's initial population, those still to be delivered, and their lines."""

from __future__ import annotations

import numpy as np

from benchmarks.datasets import rules
from benchmarks.datasets.streams import id_column, stream
from benchmarks.datasets.text import (
    NULL,
    Bytes,
    Ints,
    alphanumeric,
    constant,
    digits,
    hundredths,
    join,
)


def _order_facts(seed: int, w_id: int) -> tuple[np.random.Generator, Ints, Ints]:
    """The orders' stream, their customers and their line counts, shape (districts, orders)."""
    rng = stream(seed, "orders", w_id)
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
            id_column(w_id),
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
            id_column(w_id),
        ],
    )


def order_line(seed: int, w_id: int) -> Bytes:
    """5 to 15 lines an order; delivered ones have a date and cost nothing."""
    _, _, lines = _order_facts(seed, w_id)
    rng = stream(seed, "order_line", w_id)
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
                        id_column(d_id),
                        id_column(w_id),
                        digits(np.arange(1, rows + 1) - np.repeat(starts, of), 2),
                        digits(rng.integers(1, rules.ITEMS + 1, rows), 6),
                        id_column(w_id),
                        constant(rules.LOAD_TIME if delivered else NULL),
                        constant(b"5"),
                        amount,
                        alphanumeric(rng, rows, 24, 24),
                    ],
                )
            )
    return np.concatenate(parts)
