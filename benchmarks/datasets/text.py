"""Vectorised text: columns of characters put together to the lines that LOAD DATA reads.

Numbers are written with leading zeros, so that most columns have one width and whole tables are
built by array assignments; only strings of random length need a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

ALPHANUMERIC: Bytes = np.frombuffer(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", dtype=np.uint8
)
# 16 random bits give two characters at once, six times as fast as drawing each by itself. 65,536
# is no multiple of 62 * 62, so some pairs come up 18 times and others 17: nothing that a server,
# a compressor or a test of single characters could notice.
_PAIRS: NDArray[np.uint16] = np.stack(
    [
        ALPHANUMERIC[(np.arange(1 << 16) * 62 * 62 >> 16) // 62],
        ALPHANUMERIC[(np.arange(1 << 16) * 62 * 62 >> 16) % 62],
    ],
    axis=1,
).view(np.uint16)[:, 0]
NULL = b"\\N"
TAB = ord("\t")
NEWLINE = ord("\n")
ZERO = ord("0")


@dataclass(frozen=True)
class Column:
    """Characters of one column: shape (rows, width), or (1, width) where all rows are alike.

    `lengths`, shape (rows,), says how many of the characters count; None means all of them.
    """

    cells: Bytes
    lengths: Ints | None = None


def constant(text: bytes) -> Column:
    """A column with one text in every row."""
    return Column(np.frombuffer(text, dtype=np.uint8).reshape(1, -1))


def digits(values: Ints, width: int) -> Column:
    """Non-negative integers below 10**width with leading zeros."""
    rest = values.astype(np.uint32)
    cells = np.empty((len(values), width), dtype=np.uint8)
    for position in range(width - 1, -1, -1):
        rest, digit = np.divmod(rest, np.uint32(10))
        cells[:, position] = digit + ZERO
    return Column(cells)


def hundredths(values: Ints, width: int) -> Column:
    """Decimals with two places, given in hundredths; `width` digits stand before the point."""
    whole = digits(values, width + 2).cells
    cells = np.empty((len(values), width + 3), dtype=np.uint8)
    cells[:, :width] = whole[:, :width]
    cells[:, width] = ord(".")
    cells[:, width + 1 :] = whole[:, width:]
    return Column(cells)


def alphanumeric(rng: np.random.Generator, rows: int, low: int, high: int) -> Column:
    """TPC-C's random a-string [low .. high]: length and characters evenly distributed."""
    cells = _random_letters(rng, rows, high)
    if low == high:
        return Column(cells)
    return Column(cells, rng.integers(low, high + 1, rows))


def with_word(
    rng: np.random.Generator, rows: int, low: int, high: int, *, word: bytes, share: float
) -> Column:
    """An a-string [low .. high] that holds `word` somewhere in exactly that share of the rows."""
    cells = _random_letters(rng, rows, high)
    lengths = rng.integers(low, high + 1, rows)
    chosen = rng.permutation(rows)[: round(rows * share)]
    starts = rng.integers(0, lengths[chosen] - len(word), endpoint=True)
    letters = np.frombuffer(word, dtype=np.uint8)
    cells[chosen[:, None], starts[:, None] + np.arange(len(word))] = letters
    return Column(cells, lengths)


def numeric(rng: np.random.Generator, rows: int, width: int) -> Column:
    """TPC-C's random n-string of a fixed width."""
    return Column(rng.integers(ZERO, ZERO + 10, (rows, width), dtype=np.uint8))


def _random_letters(rng: np.random.Generator, rows: int, width: int) -> Bytes:
    drawn = rng.integers(0, 1 << 16, (rows, (width + 1) // 2), dtype=np.uint16)
    return _PAIRS[drawn].view(np.uint8)[:, :width]


def join(rows: int, columns: Sequence[Column]) -> Bytes:
    """Lines of tab-separated columns, as one flat array of characters."""
    width = sum(column.cells.shape[1] + 1 for column in columns)
    table = np.empty((rows, width), dtype=np.uint8)
    mask: NDArray[np.bool_] | None = None
    at = 0
    for column in columns:
        size = column.cells.shape[1]
        table[:, at : at + size] = column.cells
        if column.lengths is not None:
            if mask is None:
                mask = np.ones((rows, width), dtype=np.bool_)
            np.less(np.arange(size), column.lengths[:, None], out=mask[:, at : at + size])
        at += size
        table[:, at] = TAB
        at += 1
    table[:, -1] = NEWLINE
    return table.reshape(-1) if mask is None else table[mask]
