"""The promises of the statistics, each as figures and whether it is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.statistics.methods import CHOSEN, METHODS
from bench.statistics.noise import TYPICAL, Scenario, scenarios
from bench.statistics.simulate import (
    Answers,
    Outcome,
    answers,
    best_of_means,
    coverage,
    draw,
    fixed_threshold,
    outcome,
    race,
    winners,
)

CANDIDATES = 6
MAX_FALSE_WINNERS = 0.05
MIN_COVERAGE = 0.93
MAX_WIDTH = 1.5
MIN_SAME_VERDICT = 0.95
MAX_RUNS = 0.60
# Of recommendations: configs that are no better, configs that are worse.
MAX_FALSE = 0.025
MAX_HARM = 0.0005
# By number of blocks, how often a gain of twice the noise of a run is recommended.
FOUND = ((3, 0.80), (10, 0.95))
MAX_REGRET = 0.5

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


def recommendation(studies: int, blocks: tuple[int, ...] = (3, 10)) -> Table:
    """What is recommended after fresh pairs, beside the rule of two hurdles."""
    table = Table(
        "Recommendation",
        f"Studies with {CANDIDATES} candidates; the best-looking one is measured again in fresh "
        "pairs. A/A: all are copies of the baseline. Found: one is better by twice the noise of a "
        f"run, the others are copies. Graded: true gains of {_gains()} at 5 % noise, in "
        "proportion at others. Regret: mean throughput lost against the best. Two hurdles: the "
        "rule until November 2026, by which only a measurably better config got pairs. "
        f"Promised: at most {_percent(MAX_FALSE)} of equals and none that is worse are "
        "recommended, at 5 % noise "
        + ", ".join(f"{_percent(least)} after {count} blocks" for count, least in FOUND)
        + " are found, and the mean regret is at most half of that by two hurdles.",
        ["noise", "blocks", "A/A", "pairs", "found", "pairs", "effect in blocks",
         "effect in pairs", "graded: worse", "graded: regret", "pairs", "two hurdles: found",
         "two hurdles: regret", "pairs"],
    )  # fmt: skip
    lost: dict[bool, list[float]] = {False: [], True: []}
    for scenario in scenarios():
        false = []
        for count in blocks:
            ours = [_answered(scenario, gains, studies, count) for gains in _families(scenario)]
            (null, same), (real, better), (mixed, graded) = ours
            before = [
                _answered(scenario, gains, studies, count, old=True)
                for gains in _families(scenario)[1:]
            ]
            (found_before, _), (mixed_before, graded_before) = before
            found, least = float((better.picked == 1).mean()), dict(FOUND)[count]
            false.append(null.wrong)
            table.lines.append(
                [
                    scenario.title, str(count), _percent(null.wrong), f"{same.pairs:.1f}",
                    _percent(found), f"{better.pairs:.1f}", f"{100 * better.in_blocks:+.1f} %",
                    f"{100 * better.in_pairs:+.1f} %", _percent(mixed.harm),
                    _percent(mixed.regret), f"{graded.pairs:.1f}",
                    _percent(1 - found_before.kept), _percent(mixed_before.regret),
                    f"{graded_before.pairs:.1f}",
                ]
            )  # fmt: skip
            where = f"{scenario.title}, {count} blocks"
            is_five = scenario.name == "5 %"
            table.check(found >= least or not is_five, f"{where}: {_percent(found)} found")
            is_harmless = mixed.harm <= MAX_HARM or not scenario.held
            table.check(is_harmless, f"{where}: {_percent(mixed.harm)} are worse")
            if scenario.held:
                lost[False].append((real.regret + mixed.regret) / scenario.typical)
                lost[True].append((found_before.regret + mixed_before.regret) / scenario.typical)
        mean = float(np.mean(false))
        is_kept = mean <= MAX_FALSE or not scenario.held
        table.check(is_kept, f"{scenario.title}: {_percent(mean)} of equals recommended")
    ratio = sum(lost[False]) / sum(lost[True])
    table.check(ratio <= MAX_REGRET, f"regret is {_percent(ratio)} of that by two hurdles")
    table.note += f" It is {_percent(ratio)}."
    return table


def _families(scenario: Scenario) -> list[list[float]]:
    """True gains: none, one better, graded."""
    share = scenario.typical / TYPICAL
    graded = [float(np.expm1(np.log1p(gain) * share)) for gain in _GRADED]
    return [[0.0] * CANDIDATES, [2 * scenario.typical] + [0.0] * (CANDIDATES - 1), graded]


def _answered(
    scenario: Scenario, gains: Sequence[float], studies: int, blocks: int, *, old: bool = False
) -> tuple[Outcome, Answers]:
    found = answers(scenario, gains, draw(scenario, studies, gains, blocks), old=old)
    return outcome(found.picked, gains), found


def _gains() -> str:
    return ", ".join(map(_gain, _GRADED))


def peers(studies: int, blocks: int = 10) -> Table:
    """What peers do, on the same data; for information, without a promise."""
    table = Table(
        "Peers",
        "On the same data: false winners among identical candidates; then, with true gains of "
        f"{_gains()}, how often a config that is truly worse than "
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
    recommendation,
    peers,
)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _gain(share: float) -> str:
    return f"{100 * share:+.0f} %"
