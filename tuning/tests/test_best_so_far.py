"""The best config after each short run of a search."""

from __future__ import annotations

from math import exp, log
from statistics import fmean
from time import process_time

import numpy as np
import pytest

from benchmarks.models import RunState
from tuning.results.document import ShortRun
from tuning.results.search import best_so_far
from tuning.statistics.data import Metric


def short_runs(count: int, configs: int, seed: int) -> list[ShortRun]:
    random = np.random.default_rng(seed)
    return [
        ShortRun(
            number=number,
            round=1,
            candidate_id=int(random.integers(configs)),
            run_id=number,
            state=RunState.OK,
            ratio=None if random.random() < 0.1 else float(random.uniform(0.5, 1.5)),
            ratios={},
        )
        for number in range(1, count + 1)
    ]


@pytest.mark.parametrize("metric", [Metric.THROUGHPUT, Metric.P95])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_is_that_of_the_mean_of_all_looks_so_far(metric: Metric, seed: int) -> None:
    there = short_runs(60, 8, seed)
    found = {one.number: one for one in best_so_far(there, metric)}
    for number in range(1, len(there) + 1):
        means: dict[int, list[float]] = {}
        for run in there[:number]:
            if run.ratio is not None:
                means.setdefault(run.candidate_id, []).append(log(run.ratio))
        if not means:
            assert number not in found
            continue
        ratios = {pk: exp(fmean(logs)) for pk, logs in means.items()}
        best = (max if metric.more_is_better else min)(ratios.values())
        assert found[number].ratio == pytest.approx(best)
        assert ratios[found[number].candidate_id] == pytest.approx(best)


def test_the_best_of_thousands_of_looks_is_found_at_once() -> None:
    """A page asks for it every few seconds."""
    there = short_runs(3000, 3000, 1)
    began = process_time()  # however busy the host is
    assert len(best_so_far(there, Metric.THROUGHPUT)) >= 2990
    assert process_time() - began < 1
