"""Runs that are only computed: the truth of a config, and the noise that runs have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from benchmarks.outcomes import Outcome
from tuning.tests.search_bench.truth import Truth

# As recorded: of two runs of one config within a block, and of blocks among each other.
RUN_NOISE = 0.028
BLOCK_NOISE = 0.031
# Runs between two shifts of the host; a recorded block had 26.
BLOCK_RUNS = 26
# Not recorded, but met on shared hosts: runs without a figure, and runs that are far off.
DISTURBED = 0.03
FAR_OFF = 0.02
LEVEL = 7500.0


@dataclass
class Replay:
    """Measures configs of a `truth`; a failed or disturbed run has no figure.

    `crashes` is a made-up corner of the space (about 4 % of it) in which no server stays up.
    """

    truth: Truth
    seed: int
    runs: int = 0
    _shift: float = 0.0
    _random: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng([self.seed, 7])

    def measure(self, config: Mapping[str, str]) -> tuple[float | None, Outcome]:
        """tpmP of one more run, and how it ended."""
        if self.runs % BLOCK_RUNS == 0:
            self._shift = float(self._random.normal(0, BLOCK_NOISE))
        self.runs += 1
        noise = float(self._random.normal(0, RUN_NOISE))
        if self._random.random() < FAR_OFF:
            noise -= float(self._random.exponential(0.2))
        if self._random.random() < DISTURBED:
            return None, Outcome.DISTURBED
        if crashes(config):
            return None, Outcome.CRASHED
        return LEVEL * math.exp(self.truth.gain(config) + self._shift + noise), Outcome.OK


def crashes(config: Mapping[str, str]) -> bool:
    """Large log buffer, deep LRU scans and few threads: made up, in no truth's best part."""
    return (
        int(config.get("innodb_log_buffer_size", "0")) > 40 * 1024**2
        and int(config.get("innodb_lru_scan_depth", "0")) > 2000
        and config.get("innodb_thread_concurrency", "0") != "0"
    )
