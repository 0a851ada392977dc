"""The promises of the statistics, each as figures and whether it is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from bench.statistics.methods import CHOSEN, METHODS
from bench.statistics.noise import Scenario, scenarios
from bench.statistics.simulate import (
    best_of_means,
    confirmed,
    coverage,
    draw,
    fixed_threshold,
    outcome,
    race,
    winners,
)
from tuning.statistics.confirmation import MIN_PAIRS

CANDIDATES = 6
MAX_FALSE_WINNERS = 0.05
MIN_COVERAGE = 0.93
MAX_WIDTH = 1.5
MIN_SAME_VERDICT = 0.95
MAX_RUNS = 0.60

_CLEARLY_BEST = 5.0  # in standard deviations of one run
_GRADED = (0.06, 0.03, 0.0, -0.03, -0.06, -0.12)


@dataclass
class Table:
    """One promise as a table; `missed` describes what is not kept."""

    title: str
    note: str
    head: list[str]
    lines: list[list[str]] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    def check(self, kept: bool, what: str) -> None:
        if not kept:
            self.missed.append(what)


def false_winners(studies: int, blocks: tuple[int, ...] = (3, 5, 10, 20)) -> Table:
    """A/A: identical candidates, so every winner is a false one."""
    table = Table(
        "False winners",
        f"Studies that name a winner among {CANDIDATES} candidates that are all copies of the "
        f"baseline; promised: at most {_percent(MAX_FALSE_WINNERS)}.",
        ["noise", *(f"{count} blocks" for count in blocks)],
    )
    for scenario in scenarios():
        cells = [scenario.title]
        for count in blocks:
            share = float((winners(draw(scenario, studies, [0.0] * CANDIDATES, count)) > 0).mean())
            cells.append(_percent(share))
            table.check(
                share <= MAX_FALSE_WINNERS or not scenario.held,
                f"{scenario.title}, {count} blocks: {_percent(share)} false winners",
            )
        table.lines.append(cells)
    return table


def power(studies: int) -> Table:
    """A true gain of the first candidate is found: it is the winner."""
    table = Table(
        "Power",
        f"Studies that name the only one of {CANDIDATES} candidates that is truly better; the "
        "others are copies of the baseline.",
        ["noise", "true gain", "blocks", "found", "promised"],
    )
    goals = [("5 %", 0.10, 10, 0.95), ("20 %", 0.30, 10, 0.70), ("20 %", 0.30, 20, 0.95)]
    goals += [(name, 0.10, 10, 0.0) for name in ("heavy", "drifting", "stalled", "unequal")]
    goals += [("5 %", 0.10, 3, 0.0), ("5 %", 0.30, 3, 0.0), ("5 %", 0.10, 5, 0.0)]
    by_name = {scenario.name: scenario for scenario in scenarios()}
    for name, gain, blocks, least in goals:
        scenario = by_name[name]
        y = draw(scenario, studies, [gain] + [0.0] * (CANDIDATES - 1), blocks)
        found = float((winners(y) == 1).mean())
        promised = f"{_percent(least)}" if least else ""
        table.lines.append([scenario.title, _gain(gain), str(blocks), _percent(found), promised])
        table.check(found >= least, f"{scenario.title}, {_gain(gain)}: {_percent(found)} found")
    return table


def intervals(studies: int, blocks: tuple[int, ...] = (3, 5, 10, 20)) -> Table:
    """Coverage and width of every method tried, on the same data."""
    table = Table(
        "Intervals",
        "Studies in which all intervals hold, in %, and their mean width in log units. Promised "
        f"for the chosen method: at least {_percent(MIN_COVERAGE)}, and at most {MAX_WIDTH} "
        "times as wide (last column) as the narrowest method that holds as often on this line.",
        ["noise", "blocks", *METHODS, "width ratio"],
    )
    for count in blocks:
        for scenario in scenarios():
            _compare_methods(table, scenario, studies, count)
    return table


def _compare_methods(table: Table, scenario: Scenario, studies: int, blocks: int) -> None:
    effects = [0.0] * CANDIDATES
    found = coverage(draw(scenario, studies, effects, blocks), effects)
    ours = found[CHOSEN]
    covering = [other.width for other in found.values() if other.share >= MIN_COVERAGE]
    ratio = ours.width / min(covering) if covering else float("nan")
    cells = [f"{100 * one.share:.1f} / {one.width:.3f}" for one in found.values()]
    table.lines.append([scenario.title, str(blocks), *cells, f"{ratio:.2f}"])
    if scenario.held:
        where = f"{scenario.title}, {blocks} blocks"
        table.check(
            ours.share >= MIN_COVERAGE, f"{where}: intervals hold in {_percent(ours.share)}"
        )
        table.check(not ratio > MAX_WIDTH, f"{where}: {ratio:.2f} times the narrowest width")


def racing(studies: int, candidates: int = 8, blocks: int = 10) -> Table:
    """One candidate clearly best: racing gives the verdict of the full design with fewer runs."""
    table = Table(
        "Racing",
        f"Compared with the full design of {blocks} blocks and {candidates} candidates, one of "
        f"them better by {_CLEARLY_BEST:.0f} standard deviations of a run, or by half of that. "
        f"Promised for the former: the same verdict in at least {_percent(MIN_SAME_VERDICT)} "
        f"of studies with at most {_percent(MAX_RUNS)} of the runs.",
        ["noise", "true gain", "same verdict", "runs used", "false winners in A/A", "promised"],
    )
    for scenario in scenarios():
        gain = float(np.expm1(_CLEARLY_BEST * scenario.typical))
        for size, held in ((gain, scenario.held), (gain / 2, False)):
            effects = [size] + [0.0] * (candidates - 1)
            found = race(draw(scenario, studies, effects, blocks))
            same = float((found.winner == found.winner_in_full).mean())
            cells = [scenario.title, _gain(size), _percent(same), _percent(found.share)]
            null = ""
            if size == gain:
                idle = race(draw(scenario, studies, [0.0] * candidates, blocks))
                false = float((idle.winner > 0).mean())
                null = _percent(false)
                table.check(
                    false <= MAX_FALSE_WINNERS or not held,
                    f"{scenario.title}: {null} false winners when racing",
                )
            table.lines.append([*cells, null, "yes" if held else ""])
            if held:
                table.check(
                    same >= MIN_SAME_VERDICT, f"{scenario.title}: same in {_percent(same)}"
                )
                table.check(
                    found.share <= MAX_RUNS,
                    f"{scenario.title}: {_percent(found.share)} of the runs used",
                )
    return table


def confirmation(studies: int, blocks: int = 10, most: int = 400) -> Table:
    """Winners measured again: the effect found in the study, and the one that is recommended."""
    table = Table(
        "Confirmation",
        f"Winners of studies of {blocks} blocks, whose {CANDIDATES} candidates are all truly "
        f"better by the same gain, measured again in {MIN_PAIRS} or more pairs, depending on "
        "their effect. With a true gain of 0 a winner is rarely named, so the candidate that "
        "looks best is used instead; promised: it is confirmed in at most "
        f"{_percent(MAX_FALSE_WINNERS)} of studies.",
        ["noise", "true gain", "mean effect in the study", "mean effect in the pairs",
         "mean pairs", "confirmed"],
    )  # fmt: skip
    for scenario in scenarios():
        if scenario.name not in ("5 %", "20 %", "stalled", "recorded"):
            continue
        for gain in (0.0, scenario.typical / 2, scenario.typical * 2):
            found = confirmed(scenario, studies, [gain] * CANDIDATES, blocks, most)
            table.lines.append(
                [
                    scenario.title,
                    _gain(gain),
                    f"{100 * found.in_study:+.1f} %",
                    f"{100 * found.in_pairs:+.1f} %",
                    f"{found.pairs:.1f}",
                    f"{_percent(found.share)} of {found.winners}",
                ]
            )
            # Few winners are named among equals, so the fresh pairs of all studies are counted.
            table.check(
                gain > 0 or found.share <= MAX_FALSE_WINNERS,
                f"{scenario.title}: {_percent(found.share)} of equals confirmed",
            )
    return table


def peers(studies: int, blocks: int = 10) -> Table:
    """What peers do, on the same data; for information, without a promise."""
    table = Table(
        "Peers",
        "On the same data: false winners among identical candidates; then, with true gains of "
        f"{', '.join(_gain(g) for g in _GRADED)}, how often a config that is truly worse than "
        "the baseline is picked, and the mean throughput lost against the best (regret).",
        [
            "noise",
            *(f"{rule}: {what}" for rule in ("ours, 10 blocks", "ours, 3 blocks", "best mean of 3",
              "2.5 % threshold") for what in ("A/A", "worse", "regret")),
        ],
    )  # fmt: skip
    for scenario in scenarios():
        same, graded = (
            draw(scenario, studies, effects, blocks)
            for effects in ([0.0] * CANDIDATES, list(_GRADED))
        )
        cells = [scenario.title]
        for pick in (winners, lambda y: winners(y[:, :, :3]), best_of_means, fixed_threshold):
            null = outcome(pick(same), [0.0] * CANDIDATES)
            real = outcome(pick(graded), _GRADED)
            cells += [_percent(null.wrong), _percent(real.harm), _percent(real.regret)]
        table.lines.append(cells)
    return table


PROOFS: tuple[Callable[[int], Table], ...] = (
    false_winners,
    power,
    intervals,
    racing,
    confirmation,
    peers,
)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _gain(share: float) -> str:
    return f"{100 * share:+.0f} %"
