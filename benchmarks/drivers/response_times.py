"""The response times of a run in memory that does not grow with their number.

Each is counted in a bucket of a histogram with logarithmic edges: once for the whole run in fine
buckets, for exact percentiles, and once for each second in coarse ones, to be drawn.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from benchmarks.documents import Document

Milliseconds = npt.NDArray[np.floating]
Counts = npt.NDArray[np.integer]


class _Scale(NamedTuple):
    """`per_power` buckets for each power of two ms from 2^low on; times outside count as inside.

    The middle of a bucket stands for all of it.
    """

    per_power: int
    low: int
    high: int

    @property
    def size(self) -> int:
        return (self.high - self.low) * self.per_power

    def buckets(self, ms: Milliseconds) -> npt.NDArray[np.int64]:
        power = np.log2(np.maximum(ms, 2.0**self.low)) - self.low
        buckets: npt.NDArray[np.int64] = np.floor(power * self.per_power).astype(np.int64)
        return buckets.clip(0, self.size - 1)

    def percentile(self, counts: Counts, percent: int) -> float | None:
        """Return the nearest-rank percentile in ms; None without any count."""
        up_to = np.cumsum(counts, dtype=np.int64)
        if not (total := int(up_to[-1])):
            return None
        rank = -(-total * percent // 100)  # rounded up, in whole numbers
        bucket = int(np.searchsorted(up_to, rank))
        return float(2.0 ** (self.low + (bucket + 0.5) / self.per_power))


#: From a microsecond to a day and a half; a bucket is 0.008 % wide.
_FINE: Final = _Scale(8192, -10, 27)
#: From 31 microseconds to a minute; a bucket is 4 % wide.
_COARSE: Final = _Scale(16, -5, 16)


@dataclass(frozen=True)
class LatencyHistogram(Document):
    """Counts of response times; the first and the last bucket are not empty.

    Bucket `n` begins at 2^(n/16) ms.
    """

    first: int
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """Return the number of response times."""
        return sum(self.counts)

    def edges_ms(self) -> list[float]:
        """Return the limits of the buckets, one more than there are buckets."""
        places = range(self.first, self.first + len(self.counts) + 1)
        return [float(2.0 ** (place / _COARSE.per_power)) for place in places]


def merged(histograms: Iterable[LatencyHistogram]) -> LatencyHistogram | None:
    """Return the histogram of all times together; None without any."""
    found = [one for one in histograms if one.counts]
    if not found:
        return None
    first = min(one.first for one in found)
    counts = np.zeros(max(one.first + len(one.counts) for one in found) - first, dtype=np.int64)
    for one in found:
        counts[one.first - first :][: len(one.counts)] += one.counts
    return LatencyHistogram(first, tuple(counts.tolist()))


class ResponseTimes:
    """The response times of the transactions that ended in each of a run's `seconds`.

    Percentiles are nearest-rank order statistics (numpy's "inverted_cdf"), within 0.01 % of the
    exact one (or a microsecond, where that is more); the number of times, in all and in each
    second, and the longest are exact, also after `merge`. It takes 2.4 MB, and 4.8 MB for each
    hour.
    """

    def __init__(self, seconds: int) -> None:
        if seconds < 1:
            raise ValueError(f"not a number of measured seconds: {seconds}")
        self._counts = np.zeros(_FINE.size, dtype=np.int64)
        self._seconds = np.zeros((seconds, _COARSE.size), dtype=np.uint32)
        #: The longest time in ms, 0 where there is none.
        self.max_ms = 0.0

    def add(self, response_ms: Milliseconds, second: Counts) -> None:
        """Count times in ms, each with the second (from 0) in which its transaction ended.

        Raises ValueError for a time that is none, and for seconds that the run does not have.
        """
        if not response_ms.size:
            return
        if not bool(np.isfinite(response_ms).all()) or float(response_ms.min()) < 0:
            raise ValueError("there are response times that are no times")
        if int(second.min()) < 0 or int(second.max()) >= len(self._seconds):
            raise ValueError(f"not all seconds are among the {len(self._seconds)} of the run")
        np.add.at(self._counts, _FINE.buckets(response_ms), 1)
        np.add.at(self._seconds, (second, _COARSE.buckets(response_ms)), 1)
        self.max_ms = max(self.max_ms, float(response_ms.max()))

    def merge(self, other: ResponseTimes) -> None:
        """Count in what another driver saw in the same seconds."""
        mine, theirs = len(self._seconds), len(other._seconds)
        if mine != theirs:
            raise ValueError(f"runs of {mine} s and {theirs} s are not one")
        self._counts += other._counts
        self._seconds += other._seconds
        self.max_ms = max(self.max_ms, other.max_ms)

    @property
    def count(self) -> int:
        """Return the number of times."""
        return int(self._counts.sum())

    def per_second(self) -> list[int]:
        """Return how many transactions ended in each second."""
        counts: list[int] = self._seconds.sum(axis=1, dtype=np.int64).tolist()
        return counts

    def percentile(self, percent: int) -> float:
        """Return the time in ms that `percent` % (1..100) do not exceed.

        Raises ValueError without any time.
        """
        found = _FINE.percentile(self._counts, percent)
        if found is None:
            raise ValueError("there are no response times")
        return min(found, self.max_ms)

    def p95_per_second(self) -> list[float | None]:
        """Return the p95 in ms of each second, within 3 %; None where no transaction ended.

        It shows a run over time: the run's own p95 is never made of these.
        """
        return [_COARSE.percentile(counts, 95) for counts in self._seconds]

    def histogram(self) -> LatencyHistogram | None:
        """Return how they are spread, small enough to be stored with each run."""
        counts = self._seconds.sum(axis=0, dtype=np.int64)
        if not (used := np.flatnonzero(counts)).size:
            return None
        first, last = int(used[0]), int(used[-1])
        at = first + _COARSE.low * _COARSE.per_power
        return LatencyHistogram(at, tuple(counts[first : last + 1].tolist()))

    def to_bytes(self) -> bytes:
        """Return all of it, compressed: to send it to another host."""
        file = io.BytesIO()
        np.savez_compressed(
            file, counts=self._counts, seconds=self._seconds, longest=np.float64(self.max_ms)
        )
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read the bytes that `to_bytes` made."""
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            times = cls(len(stored["seconds"]))
            times._counts += stored["counts"]
            times._seconds += stored["seconds"]
            times.max_ms = float(stored["longest"])
        return times
