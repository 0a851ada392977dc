"""Recorded surfaces: configs that were measured, and the space that they cover."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tuning.strategy.search.space import Dimension, Rule, Space

Floats = NDArray[np.float64]

HERE = Path(__file__).resolve().parent / "surfaces"
BASELINE = "server-default"
MIB = 1024**2


@dataclass(frozen=True)
class Surface:
    """A file of `surfaces/`: its name without the ending, and what it was measured on.

    is_held_back: nothing was chosen by it; it only shows how what was chosen does elsewhere.
    drift: noise of its blocks, where they differ by more than a host drifts of itself; None: as
        they differ.
    """

    name: str
    title: str
    is_held_back: bool = False
    drift: float | None = None


@dataclass(frozen=True)
class Recorded:
    """configs: knobs of each run; gains: log ratios to the baselines of its block.

    run_noise, block_noise: standard deviations of log figures, of two runs of one config within a
    block and of blocks among each other.
    """

    space: Space
    configs: tuple[dict[str, str], ...]
    gains: Floats
    run_noise: float
    block_noise: float


def _number(name: str, low: float, high: float, default: float, **more: object) -> Dimension:
    return Dimension(name, "number", low, high, default=f"{default}", **more)  # type: ignore[arg-type]


def _choice(name: str, *choices: str) -> Dimension:
    """The first is the default."""
    return Dimension(name, "choice", choices=choices, default=choices[0])


# Ranges as they were drawn from; defaults of MySQL 9.7 with 2 CPUs and the binary log.
SPACE = Space(
    (
        _choice("binlog_row_image", "FULL", "MINIMAL"),
        _choice("innodb_adaptive_hash_index", "OFF", "ON"),
        _number(
            "innodb_buffer_pool_size",
            128 * MIB,
            4096 * MIB,
            128 * MIB,
            is_log=True,
            step=128 * MIB,
        ),
        _number("innodb_doublewrite_pages", 4, 128, 128, is_log=True),
        _choice("innodb_flush_method", "O_DIRECT", "fsync"),
        _number("innodb_flush_neighbors", 0, 2, 0),
        _number("innodb_io_capacity", 100, 20000, 10000, is_log=True),
        _number("innodb_io_capacity_max", 130, 72000, 20000, is_log=True),
        _number("innodb_log_buffer_size", MIB, 120 * MIB, 64 * MIB, is_log=True, step=MIB),
        _choice("innodb_log_writer_threads", "OFF", "ON"),
        _number("innodb_lru_scan_depth", 100, 8000, 1024, is_log=True),
        _number("innodb_max_dirty_pages_pct_lwm", 0, 60, 10),
        _number(
            "innodb_redo_log_capacity",
            64 * MIB,
            4096 * MIB,
            100 * MIB,
            is_log=True,
            step=4 * MIB,
        ),
        _number("innodb_spin_wait_delay", 0, 20, 6),
        _number("innodb_thread_concurrency", 2, 8, 0, is_log=True, special=("0",)),
        _choice("performance_schema", "ON", "OFF"),
    ),
    rules=(Rule("innodb_io_capacity", "innodb_io_capacity_max", "upper"),),
)


#: One more surface is one more file and one more line here.
NATIVE = Surface("native-mysql97-w10c8", "MySQL 9.7 on a virtio disk, all data in the page cache")
# Recorded on two days, on the first of which the host did other work as well.
SATA_SSD = Surface(
    "sata-ssd-1gb-mysql97-w10c8",
    "MySQL 9.7 on an emulated SATA SSD with 1 GB of memory",
    is_held_back=True,
    drift=0.031,
)
SURFACES = (NATIVE, SATA_SSD)


@lru_cache
def recorded(surface: Surface) -> Recorded:
    """What the file says; runs without a figure are left out."""
    with (HERE / f"{surface.name}.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["outcome"] == "ok"]
    runs, blocks = _noise(rows)
    return Recorded(
        SPACE if surface == NATIVE else _around(rows),
        tuple({name: row[name] for name in SPACE.names if row[name]} for row in rows),
        np.log([float(row["ratio_to_baseline"]) for row in rows]),
        runs,
        blocks if surface.drift is None else surface.drift,
    )


def _around(rows: Sequence[Mapping[str, str]]) -> Space:
    """The space of the same knobs from the lowest to the highest value that was recorded."""
    found = []
    for one in SPACE.dimensions:
        seen = {row[one.name] for row in rows} - {"", *one.special}
        if one.is_number and seen:
            low, high = min(map(float, seen)), max(map(float, seen))
            is_log = one.is_log and low > 0
            step = min(one.step, low) if one.step and low > 0 else one.step
            found.append(replace(one, low=low, high=high, is_log=is_log, step=step))
        else:
            found.append(one)
    return replace(SPACE, dimensions=tuple(found))


def _noise(rows: Sequence[Mapping[str, str]]) -> tuple[float, float]:
    """Return the noise of runs and that of blocks, from the baselines."""
    blocks: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row["config"] == BASELINE:
            blocks[row["block"]].append(math.log(float(row["tpmP"])))
    runs = float(np.sqrt(np.mean([np.var(logs, ddof=1) for logs in blocks.values() if logs[1:]])))
    return runs, float(np.std([np.mean(logs) for logs in blocks.values()], ddof=1))
