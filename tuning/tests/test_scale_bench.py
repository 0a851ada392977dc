"""How the bench of scale models counts agreement."""

from __future__ import annotations

from tuning.tests.scale_bench.__main__ import tables
from tuning.tests.scale_bench.agreement import Agreement, Standing, agreement


def ranking(**ratios: float) -> dict[str, Standing]:
    return {name: Standing(ratio, ratio - 0.04, ratio + 0.04) for name, ratio in ratios.items()}


def test_rankings_in_the_same_and_in_the_opposite_order() -> None:
    one = ranking(a=1.0, b=1.2, c=1.4)
    assert agreement(one, ranking(a=0.9, b=1.0, c=1.5)).tau == 1
    assert agreement(one, ranking(a=1.4, b=1.2, c=1.0)) == Agreement(0, 3)
    assert agreement(one, ranking(a=1.0, b=1.5, c=1.3)).tau == 1 / 3


def test_pairs_that_either_ranking_cannot_tell_apart_do_not_count() -> None:
    one = ranking(a=1.0, b=1.05, c=1.4)
    assert agreement(one, ranking(a=1.3, b=1.0, c=1.6)) == Agreement(2, 0)
    assert agreement(one, ranking(a=1.0, b=1.01, c=1.02)).tau is None
    assert agreement(one, ranking(x=1.0)).tau is None


def test_the_tables_leave_the_baseline_out_and_name_what_is_tied() -> None:
    def row(config: str, ratio: float | None, low: float | None) -> dict[str, object]:
        high = None if ratio is None else ratio + 0.1
        names = ("config", "ratio_to_baseline", "interval_low", "interval_high")
        return dict(zip(names, (config, ratio, low, high), strict=True))

    rows = [row("server-default", 1.0, 1.0), row("pool-20", 1.1, None), row("pool-75", 2.0, 1.9)]
    text = tables({4: rows, 8: [*rows[:2], row("pool-75", None, None)]})
    assert "server-default" not in text
    assert "| pool-75 | 2.00 (1.90 to 2.10) | - |" in text
    assert "| 4 and 8 | 0 | 0 | all tied |" in text
