"""How a run's response times are spread: a histogram of a kilobyte, to be stored and drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import add
from typing import Any, Final, Self

from benchmarks.documents import read_document

#: Each power of two has 2^4 = 16 buckets of one width: the widest is 6 % of its times.
BITS: Final = 4


@dataclass(frozen=True)
class LatencyHistogram:
    """Counts of response times; the first and the last bucket are not empty.

    Bucket `n` begins at `lower_ms(n)`: each power of two milliseconds is divided into 16 equal
    parts, and bucket 0 begins at 1 ms.
    """

    first: int
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """How many response times there are."""
        return sum(self.counts)

    def edges_ms(self) -> list[float]:
        """The limits of the buckets, one more than there are buckets."""
        return [lower_ms(self.first + at) for at in range(len(self.counts) + 1)]

    def as_json(self) -> dict[str, Any]:
        return {"first": self.first, "counts": list(self.counts)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        return read_document(cls, document)


def lower_ms(bucket: int) -> float:
    """Where a bucket begins, in ms."""
    power, part = divmod(bucket, 1 << BITS)
    return float((1 + part / (1 << BITS)) * 2.0**power)


def merged(histograms: Iterable[LatencyHistogram]) -> LatencyHistogram | None:
    """Return the percentile of all times together; None without any."""
    found = [one for one in histograms if one.counts]
    if not found:
        return None
    first = min(one.first for one in found)
    counts = [0] * (max(one.first + len(one.counts) for one in found) - first)
    for one in found:
        here = slice(one.first - first, one.first - first + len(one.counts))
        counts[here] = map(add, counts[here], one.counts)
    return LatencyHistogram(first, tuple(counts))
