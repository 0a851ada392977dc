"""The random streams that rows are drawn from: one for each table of each warehouse."""

from __future__ import annotations

import numpy as np
import numpy.random  # now: a loading process may not be able to read it later

from benchmarks.datasets.text import Column, constant

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


def stream(seed: int, table: str, warehouse: int = 0) -> np.random.Generator:
    """The random numbers of one table of one warehouse."""
    key = (_STREAMS.index(table), warehouse)
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=key)))


def id_column(value: int) -> Column:
    """A column with one number in every row."""
    return constant(str(value).encode())
