"""The kinds of noise that studies are simulated with, and the recorded one of a real machine.

Every scenario draws log figures of the shape (studies, rows, blocks) with no difference between
the rows; effects are added to it. Rows are two baselines and the candidates, as in
`tuning.statistics.data.Table`; within each block they run in a random order of time.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int, int], Floats]

RECORDED = Path(__file__).with_name("recorded.json")

TYPICAL = 0.05
_BETWEEN_BLOCKS = 0.08
_STALLED_SHARE = 0.05


@dataclass(frozen=True)
class Scenario:
    """`typical` is about the noise of one run, for sizing effects; `held` to the criteria."""

    name: str
    title: str
    draw: Draw
    typical: float = TYPICAL
    held: bool = True


def _blocks(rng: np.random.Generator, studies: int, blocks: int) -> Floats:
    return rng.normal(0, _BETWEEN_BLOCKS, (studies, 1, blocks))


def _lognormal(
    sd: float, rng: np.random.Generator, studies: int, rows: int, blocks: int
) -> Floats:
    return rng.normal(0, sd, (studies, rows, blocks)) + _blocks(rng, studies, blocks)


def _heavy(rng: np.random.Generator, studies: int, rows: int, blocks: int) -> Floats:
    """Student's t with 3 degrees of freedom: occasional outliers on either side."""
    noise = TYPICAL * rng.standard_t(3, (studies, rows, blocks))
    return np.asarray(noise + _blocks(rng, studies, blocks))


def _drifting(rng: np.random.Generator, studies: int, rows: int, blocks: int) -> Floats:
    """The host loses 30 % over the study and wanders by 2 % from run to run."""
    runs = rows * blocks
    path = rng.normal(0, 0.02, (studies, runs)).cumsum(axis=1)
    path += np.log(0.7) * np.linspace(0, 1, runs)
    order = rng.random((studies, blocks, rows)).argsort(axis=-1)
    when = np.arange(blocks)[None, :, None] * rows + order
    host = np.take_along_axis(path, when.reshape(studies, -1), axis=1)
    host = host.reshape(studies, blocks, rows).transpose(0, 2, 1)
    return np.asarray(host + rng.normal(0, TYPICAL, (studies, rows, blocks)))


def _stalled(rng: np.random.Generator, studies: int, rows: int, blocks: int) -> Floats:
    """Runs stall, one in twenty: 20 to 90 % of their work is lost."""
    y = _lognormal(TYPICAL, rng, studies, rows, blocks)
    stalls = rng.random(y.shape) < _STALLED_SHARE
    return np.asarray(y + stalls * np.log(rng.uniform(0.1, 0.8, y.shape)))


def _unequal(rng: np.random.Generator, studies: int, rows: int, blocks: int) -> Floats:
    """The noisiest candidate varies three times as much as the quietest."""
    sd = np.full(rows, TYPICAL)
    sd[2:] *= 3.0 ** np.linspace(-0.5, 0.5, rows - 2)
    noise = rng.normal(0, 1, (studies, rows, blocks)) * sd[:, None]
    return np.asarray(noise + _blocks(rng, studies, blocks))


def _one_row(
    factor: float,
    place: slice,
    rng: np.random.Generator,
    studies: int,
    rows: int,
    blocks: int,
) -> Floats:
    sd = np.full(rows, TYPICAL)
    sd[place] *= factor
    noise = rng.normal(0, 1, (studies, rows, blocks)) * sd[:, None]
    return np.asarray(noise + _blocks(rng, studies, blocks))


def _recorded(rng: np.random.Generator, studies: int, rows: int, blocks: int) -> Floats:
    """Residuals of recorded runs, after block and config have been removed, resampled."""
    return rng.choice(residuals(), (studies, rows, blocks)) + _blocks(rng, studies, blocks)


@lru_cache(maxsize=1)
def residuals(path: Path = RECORDED) -> Floats:
    """Log residuals of the recorded runs, widened by what fitting took out of them.

    The file: {"studies": [{"name", "runs": [{"block", "config", "tpmP"}, ...]}, ...]}; runs of
    one config that went by several names say so in "name".
    """
    content: dict[str, Any] = json.loads(path.read_text())
    return np.concatenate([_study_residuals(study["runs"]) for study in content["studies"]])


def _study_residuals(runs: list[dict[str, Any]]) -> Floats:
    blocks = sorted({run["block"] for run in runs})
    configs = sorted({run["config"] for run in runs})
    design = np.zeros((len(runs), len(blocks) + len(configs)))
    for row, run in enumerate(runs):
        design[row, blocks.index(run["block"])] = 1
        design[row, len(blocks) + configs.index(run["config"])] = 1
    y = np.log([run["tpmP"] for run in runs])
    free = len(runs) - int(np.linalg.matrix_rank(design))
    left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return np.asarray(left * np.sqrt(len(runs) / free))


def scenarios() -> tuple[Scenario, ...]:
    """All scenarios; those that are not held to the criteria are harder than what is promised."""
    return (
        Scenario("2 %", "lognormal, 2 %", partial(_lognormal, 0.02), 0.02),
        Scenario("5 %", "lognormal, 5 %", partial(_lognormal, 0.05)),
        Scenario("20 %", "lognormal, 20 %", partial(_lognormal, 0.20), 0.20),
        Scenario("heavy", "heavy-tailed, Student's t(3) x 5 %", _heavy),
        Scenario("drifting", "5 %, host drifting by -30 %", _drifting),
        Scenario("stalled", "5 %, one run in twenty stalled", _stalled),
        Scenario("unequal", "unequal, 3 % to 9 % by candidate", _unequal),
        Scenario("recorded", "recorded runs, resampled", _recorded, float(residuals().std())),
        Scenario(
            "shaky", "5 %, one candidate 15 %", partial(_one_row, 3.0, slice(2, 3)), held=False
        ),
        Scenario(
            "noisy base", "5 %, baseline 15 %", partial(_one_row, 3.0, slice(0, 2)), held=False
        ),
    )
