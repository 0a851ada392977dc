"""Vectorised text: columns of characters put together to the lines that LOAD DATA reads.

A column has shape (rows, width), or (1, width) if all its rows are alike. Zero bytes pad shorter
texts; `join` drops them. Numbers have leading zeros, which need no padding.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

NULL = r"\N"
_TAB, _NEWLINE = ord("\t"), ord("\n")
_LETTERS = np.frombuffer(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", dtype=np.uint8
)
# 16 random bits give two characters, six times as fast as drawing each. 65,536 is no multiple of
# 62 * 62: some pairs come up 18 times and others 17, which no server or compressor could notice.
_DRAWN = np.arange(1 << 16) * 62 * 62 >> 16
_PAIRS = np.stack([_LETTERS[_DRAWN // 62], _LETTERS[_DRAWN % 62]], axis=1).view(np.uint16)[:, 0]


def constant(text: str) -> Bytes:
    """Return a column with one text in every row."""
    return np.frombuffer(text.encode(), dtype=np.uint8).reshape(1, -1)


def digits(values: Ints, width: int) -> Bytes:
    """Return non-negative integers below 10**width with leading zeros."""
    rest = values.astype(np.uint32)
    cells = np.empty((len(values), width), dtype=np.uint8)
    for position in reversed(range(width)):
        rest, digit = np.divmod(rest, np.uint32(10))
        cells[:, position] = digit + ord("0")
    return cells


def hundredths(values: Ints, width: int) -> Bytes:
    """Return decimals with two places, given in hundredths; `width` digits before the point."""
    return np.insert(digits(values, width + 2), width, ord("."), axis=1)


def alphanumeric(rng: np.random.Generator, rows: int, low: int, high: int) -> Bytes:
    """Return TPC-C's random a-strings [low .. high]: even lengths and characters."""
    drawn = rng.integers(0, 1 << 16, (rows, (high + 1) // 2), dtype=np.uint16)
    cells = _PAIRS[drawn].view(np.uint8)[:, :high]
    if low < high:
        cells[np.arange(high) >= rng.integers(low, high + 1, (rows, 1))] = 0
    return cells


def with_word(
    rng: np.random.Generator, rows: int, low: int, high: int, *, word: str, share: float
) -> Bytes:
    """Return a-strings [low .. high]; exactly that share of the rows holds `word` somewhere."""
    cells = alphanumeric(rng, rows, low, high)
    chosen = rng.permutation(rows)[: round(rows * share)]
    lengths = np.count_nonzero(cells[chosen], axis=1)
    starts = rng.integers(0, lengths - len(word), endpoint=True)
    cells[chosen[:, None], starts[:, None] + np.arange(len(word))] = constant(word)
    return cells


def numeric(rng: np.random.Generator, rows: int, width: int) -> Bytes:
    """Return TPC-C's random n-strings of a fixed width."""
    return rng.integers(ord("0"), ord("9") + 1, (rows, width), dtype=np.uint8)


def join(*columns: Bytes) -> Bytes:
    """Return lines of tab-separated columns, as one flat array of characters."""
    rows = max(map(len, columns))
    table = np.empty((rows, sum(column.shape[1] + 1 for column in columns)), dtype=np.uint8)
    at = 0
    for column in columns:
        end = at + column.shape[1]
        table[:, at:end] = column
        table[:, end] = _TAB
        at = end + 1
    table[:, -1] = _NEWLINE
    lines: Bytes = table[table != 0]
    return lines
