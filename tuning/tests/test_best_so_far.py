"""Which config looked best after each look of a search."""

from __future__ import annotations

from math import exp, log
from statistics import fmean
from time import process_time

import numpy as np
import pytest

from benchmarks.models import RunState
from tuning.models import Candidate
from tuning.results.searched import Look, _best_so_far
from tuning.results.slot_rows import RunRow
from tuning.statistics.data import Metric


def looks(count: int, configs: int, seed: int) -> list[Look]:
    random = np.random.default_rng(seed)
    made = [Candidate(pk=number + 1, name=f"search-{number + 1}") for number in range(configs)]
    return [
        Look(
            number,
            1,
            made[int(random.integers(configs))],
            RunRow(number, RunState.OK),
            None if random.random() < 0.1 else float(random.uniform(0.5, 1.5)),
        )
        for number in range(1, count + 1)
    ]


@pytest.mark.parametrize("metric", [Metric.TPMP, Metric.P95])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_is_that_of_the_mean_of_all_looks_so_far(metric: Metric, seed: int) -> None:
    there = looks(60, 8, seed)
    found = {one.number: one for one in _best_so_far(there, metric)}
    for number in range(1, len(there) + 1):
        means: dict[int, list[float]] = {}
        for look in there[:number]:
            if look.ratio is not None:
                means.setdefault(look.candidate.pk, []).append(log(look.ratio))
        if not means:
            assert number not in found
            continue
        ratios = {pk: exp(fmean(logs)) for pk, logs in means.items()}
        best = (max if metric.more_is_better else min)(ratios.values())
        assert found[number].ratio == pytest.approx(best)
        assert ratios[found[number].candidate.pk] == pytest.approx(best)


def test_the_best_of_thousands_of_looks_is_found_at_once() -> None:
    """A page asks for it every few seconds."""
    there = looks(3000, 3000, 1)
    began = process_time()  # however busy the host is
    assert len(_best_so_far(there, Metric.TPMP)) >= 2990
    assert process_time() - began < 1
