"""A short form of `make bench-search`: the replay is honest, and our search beats chance."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings

from tuning.strategy.search.grid import Grid
from tuning.tests.search_bench.__main__ import BEGIN, PARTS
from tuning.tests.search_bench.fast_models import fast
from tuning.tests.search_bench.methods import Ours, RandomSearch, Simple
from tuning.tests.search_bench.play import Played, play, summary
from tuning.tests.search_bench.recorded import HERE, MIB, NATIVE, Surface, recorded
from tuning.tests.search_bench.replay import LEVEL, Replay
from tuning.tests.search_bench.table import METHODS, WARM, WARM_START, Case, line
from tuning.tests.search_bench.truth import KINDS, Truth, truth
from tuning.tests.search_bench.warm import Mirrored, measured, shuffled
from tuning.tests.tables import END, markdown, with_tables

pytestmark = pytest.mark.long

SEEDS = 4
RUNS = 40


@pytest.fixture(scope="module")
def surface() -> Truth:
    return truth("trees")


def test_the_baseline_of_a_truth_is_worth_nothing_and_the_best_is_not_beaten(
    surface: Truth,
) -> None:
    assert surface.gain({}) == pytest.approx(0.0)
    points = surface.grid.spread(3000, np.random.default_rng(4))
    assert 0.4 < surface.best < 0.7  # the best recorded run was at 1.71 times the baseline
    assert (surface.gains(points) <= surface.best + 1e-9).all()


@pytest.mark.parametrize(
    "make", list(dict.fromkeys(make for kind in KINDS.values() for make in kind))
)
def test_the_fast_form_of_a_model_says_the_same(make: object) -> None:
    known = recorded(NATIVE)
    x = Grid(known.space).features_of(known.configs)
    model = make().fit(x, known.gains)  # type: ignore[operator]
    assert fast(model)(x[:40]) == pytest.approx(model.predict(x[:40]))


def test_runs_scatter_as_recorded_and_some_have_no_figure(surface: Truth) -> None:
    replay = Replay(surface, seed=3)
    figures = [replay.measure({})[0] for _ in range(1000)]
    logs = np.log([one for one in figures if one is not None])
    assert 0.01 < 1 - len(logs) / len(figures) < 0.06
    # The middle of the distribution: a few runs are far off on purpose.
    assert 0.025 < (np.quantile(logs, 0.84) - np.quantile(logs, 0.16)) / 2 < 0.06


@pytest.mark.parametrize("name", METHODS)
def test_every_method_begins_with_what_it_is_given(name: str, surface: Truth) -> None:
    method = METHODS[name](surface.grid.space, WARM, 1)
    replay = Replay(surface, 1)
    asked = []
    for _ in range(14):
        config = method.ask()
        asked.append(config)
        method.tell(*replay.measure(config))
        assert isinstance(method.best(), dict)
    assert {} in asked[: 1 + len(WARM)]
    assert all(one in asked[: 1 + len(WARM)] for one in WARM)
    assert len({tuple(sorted(one.items())) for one in asked}) > 5


def test_ours_beats_chance_and_is_never_worse_than_the_baseline(surface: Truth) -> None:
    ours = summary([play(Ours, surface, WARM, seed, RUNS) for seed in range(SEEDS)])
    chance = summary([play(RandomSearch, surface, WARM, seed, RUNS) for seed in range(SEEDS)])
    assert ours.regret[RUNS] < chance.regret[RUNS]
    assert ours.regret[RUNS] < 0.14
    assert ours.worse == 0


def test_a_search_that_recommends_the_default_is_seen_through(surface: Truth) -> None:
    class Nothing(Simple):
        def next(self) -> dict[str, str]:
            return {}

        def best(self) -> dict[str, str]:
            return {}

    played = play(Nothing, surface, (), 1, 20)
    assert played.reached == 21
    assert played.regret[-1] == pytest.approx(1 - np.exp(-surface.best))


def test_tables_stand_between_their_marks() -> None:
    found = summary([Played((0.2,) * 80, worse=True), Played((0.03,) * 80, worse=False)])
    text = markdown("T", ("method",), [line("ours", found, 2)])
    assert "1 of 2" in text
    mark = BEGIN["tables"]
    assert with_tables(f"a {mark} old {END} b", mark, [text]) == f"a {mark}\n\n{text}\n{END} b"


@pytest.mark.parametrize("part", PARTS)
def test_the_document_has_a_place_for_every_part(part: str) -> None:
    document = (settings.BASE_DIR / "docs" / "search.md").read_text()
    assert "new" in with_tables(document, BEGIN[part], ["new"])


def test_another_surface_is_searched_as_far_as_it_was_recorded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One more file and one more line: with its own ranges and its own noise."""
    text = (HERE / f"{NATIVE.name}.csv").read_text()
    first, *rest = text.splitlines()
    place = first.split(",").index("innodb_buffer_pool_size")
    small = [one for one in rest if int(one.split(",")[place] or 0) <= 512 * MIB]
    failed = rest[0].replace(",ok,", ",crashed,")
    (tmp_path / "other.csv").write_text("\n".join([first, failed, *small]))
    monkeypatch.setattr("tuning.tests.search_bench.recorded.HERE", tmp_path)
    other = recorded(Surface("other", "another disk", is_held_back=True))
    pool = next(one for one in other.space.dimensions if one.name == "innodb_buffer_pool_size")
    assert len(other.configs) == len(other.gains) == len(small)
    assert (pool.low, pool.high) == (128 * MIB, 512 * MIB)
    assert other.run_noise == pytest.approx(0.0277, abs=1e-4)
    assert other.block_noise == pytest.approx(0.0312, abs=1e-4)
    assert Case("trees", WARM_START, surface=Surface("o", "T", True)).title.startswith("held back")


def test_without_noise_a_run_is_the_truth(surface: Truth) -> None:
    quiet = Replay(surface, seed=3, is_noisy=False)
    figures = {quiet.measure({})[0] for _ in range(100)}
    assert figures == {LEVEL}


def test_histories_are_of_the_place_that_they_say(surface: Truth) -> None:
    same, mixed = measured(surface, 1, 12), shuffled(surface, 1)
    assert all(one.gain == pytest.approx(surface.gain(one.knobs), abs=0.5) for one in same)
    assert {one.gain for one in mixed} == {one.gain for one in measured(surface, 1)}
    other = Mirrored(surface.name, surface.recorded, surface.grid, surface.models)
    assert other.gain({}) == pytest.approx(0.0)
    low, high = ({"innodb_redo_log_capacity": str(size * MIB)} for size in (64, 4096))
    assert surface.gain(low) < surface.gain(high)
    assert other.gain(low) > other.gain(high)


def test_a_search_begins_sooner_near_the_best_with_a_history_of_its_place(
    surface: Truth,
) -> None:
    history = measured(surface, 1, 40)
    warm = play(partial(Ours, earlier=history), surface, (), 1, 12)
    cold = play(Ours, surface, (), 1, 12)
    assert warm.regret[-1] < cold.regret[-1]
