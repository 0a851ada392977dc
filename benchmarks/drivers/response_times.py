"""The response times of a run in memory that does not grow with their number.

Each is counted in a bucket of a histogram, as HdrHistogram does it; but a whole array at a time,
which takes a hundredth of the time of the library's one by one. A bucket is what the first bits of
a 32-bit floating-point number have in common: in each power of two there are 8,192 of one width.
"""

from __future__ import annotations

import io
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from benchmarks.drivers.latency import BITS as _STORED_BITS
from benchmarks.drivers.latency import LatencyHistogram

Milliseconds = npt.NDArray[np.floating]

#: Bits of the mantissa that name a bucket: it is at most 1/8192 of its times wide, and its middle
#: stands for all of them.
_BITS: Final = 13
#: A coarser resolution for the p95 of each second, which is only shown.
_COARSE_BITS: Final = 6
#: Powers of two, in ms: what is shorter than a microsecond or longer than a day and a half counts
#: as being just inside.
_LOWEST: Final = -10
_HIGHEST: Final = 27
_MANTISSA: Final = 23
_FIRST: Final = (127 + _LOWEST) << _BITS
_BUCKETS: Final = (_HIGHEST - _LOWEST) << _BITS
#: A run of more seconds has one p95 for two, three, ... of them: some 30 MB are enough for any.
_MAX_SLICES: Final = 3600


class ResponseTimes:
    """The response times of the New-Orders that ended in each of a run's `seconds`.

    Percentiles are nearest-rank order statistics (numpy's "inverted_cdf"), within 0.01 % of the
    exact one (or a microsecond, where that is more); the number of times, in all and in each
    second, and the longest are exact. Of `merge` all this holds as if one had seen them all.
    """

    def __init__(self, seconds: int) -> None:
        if seconds < 1:
            raise ValueError(f"not a number of measured seconds: {seconds}")
        self._slice_s = -(-seconds // _MAX_SLICES)
        slices = -(-seconds // self._slice_s)
        # Zeros take no memory until they are written to: most of these never are.
        self._counts = np.zeros(_BUCKETS, dtype=np.int64)
        self._per_second = np.zeros(seconds, dtype=np.int64)
        self._slices = np.zeros((slices, _BUCKETS >> (_BITS - _COARSE_BITS)), dtype=np.uint32)
        self._longest = 0.0

    def add(self, response_ms: Milliseconds, second: npt.NDArray[np.integer]) -> None:
        """Count times in ms, each with the second (from 0) in which its New-Order ended.

        Raises ValueError for a time that is none, and for seconds that the run does not have.
        """
        if not response_ms.size:
            return
        if not bool(np.isfinite(response_ms).all()) or float(response_ms.min()) < 0:
            raise ValueError("there are response times that are no times")
        if int(second.min()) < 0 or int(second.max()) >= self._per_second.size:
            raise ValueError(f"not all seconds are among the {self._per_second.size} of the run")
        bits = response_ms.astype(np.float32).view(np.uint32) >> (_MANTISSA - _BITS)
        bucket = (bits.astype(np.int64) - _FIRST).clip(0, _BUCKETS - 1)
        np.add.at(self._counts, bucket, 1)
        np.add.at(self._per_second, second, 1)
        coarse = bucket >> (_BITS - _COARSE_BITS)
        np.add.at(self._slices, (second // self._slice_s, coarse), 1)
        self._longest = max(self._longest, float(response_ms.max()))

    def merge(self, other: ResponseTimes) -> None:
        """Count in what another driver saw in the same seconds."""
        if other._per_second.size != self._per_second.size:
            raise ValueError(
                f"runs of {self._per_second.size} s and {other._per_second.size} s are not one"
            )
        self._counts += other._counts
        self._per_second += other._per_second
        self._slices += other._slices
        self._longest = max(self._longest, other._longest)

    @property
    def count(self) -> int:
        """How many times there are."""
        return int(self._per_second.sum())

    @property
    def max_ms(self) -> float:
        """The longest; 0 where there is none."""
        return self._longest

    def per_second(self) -> list[int]:
        """How many New-Orders ended in each second."""
        return [int(count) for count in self._per_second]

    def percentile(self, percent: int) -> float:
        """The time in ms that `percent` % (1..100) do not exceed; ValueError without any."""
        return self._nearest_rank(self._counts, _BITS, percent)

    def p95_per_second(self) -> list[float | None]:
        """The p95 in ms of each second's New-Orders, within 1 %; None where none ended.

        To see a run over time: the run's own p95 is never made of these. Of a run of more than an
        hour, several seconds in a row have one in common.
        """
        p95 = [
            self._nearest_rank(counts, _COARSE_BITS, 95) if counts.any() else None
            for counts in self._slices
        ]
        return [
            p95[second // self._slice_s] if count else None
            for second, count in enumerate(self._per_second)
        ]

    def histogram(self) -> LatencyHistogram | None:
        """How they are spread, small enough to be stored with each run; None without any."""
        counts = self._counts.reshape(-1, 1 << (_BITS - _STORED_BITS)).sum(axis=1)
        there = np.flatnonzero(counts)
        if not there.size:
            return None
        first, last = int(there[0]), int(there[-1])
        steps = _LOWEST << _STORED_BITS
        return LatencyHistogram(first + steps, tuple(map(int, counts[first : last + 1])))

    def to_bytes(self) -> bytes:
        """All of it, compressed: to send it to another host."""
        file = io.BytesIO()
        np.savez_compressed(
            file,
            counts=self._counts,
            per_second=self._per_second,
            slices=self._slices,
            longest=np.float64(self._longest),
        )
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read the bytes that `to_bytes` made."""
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            times = cls(stored["per_second"].size)
            times._counts += stored["counts"]
            times._per_second += stored["per_second"]
            times._slices += stored["slices"]
            times._longest = float(stored["longest"])
        return times

    def _nearest_rank(self, counts: npt.NDArray[np.integer], bits: int, percent: int) -> float:
        up_to = np.cumsum(counts, dtype=np.int64)
        total = int(up_to[-1])
        if not total:
            raise ValueError("there are no response times")
        rank = -(-total * percent // 100)  # rounded up, in whole numbers
        bucket = int(np.searchsorted(up_to, rank))
        power, step = divmod(bucket, 1 << bits)
        middle = float(np.ldexp(1 + (step + 0.5) / (1 << bits), power + _LOWEST))
        return min(middle, self._longest)
