"""The response times of a run in memory that does not grow with their number.

Each is counted in a bucket of a histogram with logarithmic edges: once for the whole run in fine
buckets, for exact percentiles, and once for each second in coarse ones, to be drawn.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from benchmarks.documents import Document

Milliseconds = npt.NDArray[np.floating]

#: Buckets in each power of two: a fine one is 0.008 % wide, and its middle stands for all of it; a
#: coarse one is 4 % wide.
_FINE: Final = 8192
_COARSE: Final = 16
#: Powers of two, in ms: times outside count as being just inside. The fine ones are from a
#: microsecond to a day and a half, the coarse ones from 31 microseconds to a minute.
_FINE_RANGE: Final = (-10, 27)
_COARSE_RANGE: Final = (-5, 16)


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
        return [float(2.0 ** ((self.first + at) / _COARSE)) for at in range(len(self.counts) + 1)]


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
    second, and the longest are exact. Of `merge` all this holds as if one had seen them all.
    It takes 3 MB, and 4.8 MB more for each hour.
    """

    def __init__(self, seconds: int) -> None:
        if seconds < 1:
            raise ValueError(f"not a number of measured seconds: {seconds}")
        self._counts = np.zeros(_buckets(_FINE, _FINE_RANGE), dtype=np.int64)
        self._seconds = np.zeros((seconds, _buckets(_COARSE, _COARSE_RANGE)), dtype=np.uint32)
        self._longest = 0.0

    def add(self, response_ms: Milliseconds, second: npt.NDArray[np.integer]) -> None:
        """Count times in ms, each with the second (from 0) in which its transaction ended.

        Raises ValueError for a time that is none, and for seconds that the run does not have.
        """
        if not response_ms.size:
            return
        if not bool(np.isfinite(response_ms).all()) or float(response_ms.min()) < 0:
            raise ValueError("there are response times that are no times")
        if int(second.min()) < 0 or int(second.max()) >= len(self._seconds):
            raise ValueError(f"not all seconds are among the {len(self._seconds)} of the run")
        power = np.log2(np.maximum(response_ms, 2.0 ** _FINE_RANGE[0]))
        np.add.at(self._counts, _bucket(power, _FINE, _FINE_RANGE), 1)
        np.add.at(self._seconds, (second, _bucket(power, _COARSE, _COARSE_RANGE)), 1)
        self._longest = max(self._longest, float(response_ms.max()))

    def merge(self, other: ResponseTimes) -> None:
        """Count in what another driver saw in the same seconds."""
        mine, theirs = len(self._seconds), len(other._seconds)
        if mine != theirs:
            raise ValueError(f"runs of {mine} s and {theirs} s are not one")
        self._counts += other._counts
        self._seconds += other._seconds
        self._longest = max(self._longest, other._longest)

    @property
    def count(self) -> int:
        """Return the number of times."""
        return int(self._counts.sum())

    @property
    def max_ms(self) -> float:
        """Return the longest; 0 where there is none."""
        return self._longest

    def per_second(self) -> list[int]:
        """Return how many transactions ended in each second."""
        counts: list[int] = self._seconds.sum(axis=1, dtype=np.int64).tolist()
        return counts

    def percentile(self, percent: int) -> float:
        """Return the time in ms that `percent` % (1..100) do not exceed.

        Raises ValueError without any time.
        """
        rank = _rank(self._counts, percent)
        if rank is None:
            raise ValueError("there are no response times")
        middle = 2.0 ** (_FINE_RANGE[0] + (rank + 0.5) / _FINE)
        return float(min(middle, self._longest))

    def p95_per_second(self) -> list[float | None]:
        """Return the p95 in ms of each second, within 3 %; None where no transaction ended.

        It shows a run over time: the run's own p95 is never made of these.
        """
        ranks = [_rank(counts, 95) for counts in self._seconds]
        low = _COARSE_RANGE[0]
        return [None if rank is None else 2.0 ** (low + (rank + 0.5) / _COARSE) for rank in ranks]

    def histogram(self) -> LatencyHistogram | None:
        """Return how they are spread, small enough to be stored with each run."""
        counts = self._seconds.sum(axis=0, dtype=np.int64)
        used = np.flatnonzero(counts)
        if not used.size:
            return None
        first, last = int(used[0]), int(used[-1])
        return LatencyHistogram(
            first + _COARSE_RANGE[0] * _COARSE, tuple(counts[first : last + 1].tolist())
        )

    def to_bytes(self) -> bytes:
        """Return all of it, compressed: to send it to another host."""
        file = io.BytesIO()
        np.savez_compressed(
            file, counts=self._counts, seconds=self._seconds, longest=np.float64(self._longest)
        )
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read the bytes that `to_bytes` made."""
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            times = cls(len(stored["seconds"]))
            times._counts += stored["counts"]
            times._seconds += stored["seconds"]
            times._longest = float(stored["longest"])
        return times


def _buckets(per_power: int, powers: tuple[int, int]) -> int:
    return (powers[1] - powers[0]) * per_power


def _bucket(power: Milliseconds, per_power: int, powers: tuple[int, int]) -> npt.NDArray[np.int64]:
    bucket = np.floor((power - powers[0]) * per_power).astype(np.int64)
    return bucket.clip(0, _buckets(per_power, powers) - 1)


def _rank(counts: npt.NDArray[np.integer], percent: int) -> int | None:
    """The bucket of the nearest-rank percentile; None without any count."""
    up_to = np.cumsum(counts, dtype=np.int64)
    total = int(up_to[-1])
    rank = -(-total * percent // 100)  # rounded up, in whole numbers
    return int(np.searchsorted(up_to, rank)) if total else None
