"""Runs that are only computed: the truth of a config, and the noise that runs have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bench.search.truth import Truth
from benchmarks.outcomes import Outcome

# Runs between two shifts of the host; a recorded block had 26.
BLOCK_RUNS = 26
# Not recorded, but met on shared hosts: runs without a figure, and runs that are far off.
DISTURBED = 0.03
FAR_OFF = 0.02
LEVEL = 7500.0


@dataclass
class Replay:
    """Measures configs of a `truth`; a failed or disturbed run has no figure.

    Runs scatter as they did when the surface was recorded; `is_noisy` False is a thought
    experiment, without disturbed runs as well.

    `crashes` is a made-up corner of the space (about 4 % of it) in which no server stays up.
    """

    truth: Truth
    seed: int
    is_noisy: bool = True
    runs: int = 0
    _shift: float = 0.0
    _random: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng([self.seed, 7])

    def measure(self, config: Mapping[str, str]) -> tuple[float | None, Outcome]:
        """Throughput of one more run, and how it ended."""
        scatter = self.truth.recorded
        if self.runs % BLOCK_RUNS == 0:
            self._shift = float(self._random.normal(0, scatter.block_noise))
        self.runs += 1
        noise = self._shift + float(self._random.normal(0, scatter.run_noise))
        if self._random.random() < FAR_OFF:
            noise -= float(self._random.exponential(0.2))
        if self._random.random() < DISTURBED and self.is_noisy:
            return None, Outcome.DISTURBED
        if crashes(config):
            return None, Outcome.CRASHED
        level = self.truth.gain(config) + (noise if self.is_noisy else 0.0)
        return LEVEL * math.exp(level), Outcome.OK


def crashes(config: Mapping[str, str]) -> bool:
    """Large log buffer, deep LRU scans and few threads: made up, in no truth's best part."""
    return (
        int(config.get("innodb_log_buffer_size", "0")) > 40 * 1024**2
        and int(config.get("innodb_lru_scan_depth", "0")) > 2000
        and config.get("innodb_thread_concurrency", "0") != "0"
    )
