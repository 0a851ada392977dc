"""A board's confirmed winner taken apart: what each line contributes, and the reduced config."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

from benchmarks.models import RunState
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.durability import durability_of
from tuning.models import Candidate, SlotPurpose
from tuning.results.boards import Board, observation_of
from tuning.results.slot_rows import SlotRow
from tuning.statistics.analysis import Interval
from tuning.statistics.confirmation import Confirmation, ConfirmationState, confirm
from tuning.statistics.data import Metric, Observation
from tuning.statistics.removal import (
    Reduction,
    ReductionState,
    RemovalState,
    judge_reduction,
    own_effect,
)
from tuning.strategy.apart.part_results import (
    DROPPED,
    MIN_BLOCKS,
    PartResults,
    of_each_line,
    part_results,
)
from tuning.strategy.apart.parts import lines_of
from tuning.strategy.apart.take_apart import MAX_APART_RUNS, is_left
from tuning.strategy.protocol import Budget
from tuning.strategy.racing import FAULTS
from tuning.strategy.whole import Variant, Whole

PINNED = "pinned, so it was not removed"
BOUNDED = "the server's own value is outside the bounds of the search, so it was not removed"
DURABILITY = "without it a crash may lose something else, so it was not removed"
NOT_COMPARABLE = "not_comparable"


@dataclass(frozen=True)
class LinesEffect:
    """What some lines of a winner contribute together; most often it is one line.

    ratio, interval: the study's metric with them divided by that without them; None where nothing
    was measured. The intervals hold for all lines at once. reason: why they stay, in words.
    """

    names: tuple[str, ...]
    state: RemovalState
    ratio: float | None = None
    interval: Interval | None = None
    blocks: int = 0
    reason: str = ""

    @property
    def is_left_out(self) -> bool:
        """Whether nothing measurable is lost without them."""
        return self.state in DROPPED


@dataclass(frozen=True)
class Reduced:
    """The winner without the lines that contribute nothing, measured afresh.

    found is None until all rounds are measured. throughput: its tpmP against the baseline's.
    is_advice: whether it is recommended in place of the winner.
    """

    candidate: Candidate
    rounds: int
    done: int
    found: Reduction | None
    throughput: Confirmation | None
    runs: tuple[Observation, ...]
    is_advice: bool


@dataclass(frozen=True)
class TakenApart:
    """margin: what may be lost at most, as a log; effects: of every line that differs.

    is_over: whether the study has ended, is_concluded: early, on request. is_left: whether more
    time would decide more. no_use: why the config without the lines that contribute nothing was
    not measured afresh, if not for lack of time.
    """

    whole: Candidate
    metric: Metric
    margin: float
    effects: tuple[LinesEffect, ...]
    reduced: Reduced | None
    is_over: bool
    is_concluded: bool
    is_left: bool
    no_use: str

    @property
    def advised(self) -> Reduced | None:
        """The reduced config, if it is the one to recommend."""
        return self.reduced if self.reduced and self.reduced.is_advice else None

    @property
    def untested(self) -> tuple[str, ...]:
        """The lines for which the time did not suffice."""
        return tuple(
            name
            for one in self.effects
            if one.state is RemovalState.UNTESTED
            for name in one.names
        )

    def with_state(self, *states: RemovalState) -> list[LinesEffect]:
        """The effects in one of these states."""
        return [one for one in self.effects if one.state in states]


def kept_by(search: Mapping[str, Any]) -> dict[str, str]:
    """The lines that stay in whatever a search recommends, as it is stored, and why."""
    space = search.get("space", {})
    bounded = {
        one["name"]: BOUNDED
        for one in space.get("dimensions", ())
        if one["name"] in search.get("bounded", ())
        and one["default"] not in one["special"]
        and not one["low"] <= float(one["default"] or "nan") <= one["high"]
    }
    return bounded | dict.fromkeys(space.get("pinned", {}), PINNED)


@dataclass(frozen=True)
class Dismantling:
    """What boards are taken apart with: all candidates, the server, and lines that stay, with why.

    is_over, is_concluded as in `TakenApart`.
    """

    candidates: Sequence[Candidate]
    server: ServerTraits
    kept: Mapping[str, str]
    is_over: bool = False
    is_concluded: bool = False

    def whole_of(self, board: Board) -> Whole | None:
        """The board's winner as the strategy takes it apart; None if none is confirmed."""
        winner = confirmed_winner(board)
        if winner is None:
            return None
        candidate, confirmation = winner
        lead = log(confirmation.ratio or 1.0)
        slots = _slots_of(board, candidate)
        whole = Whole(
            name=candidate.name,
            lead=lead if board.aim.objective.more_is_better else -lead,
            run_noise=board.for_advice.analysis.run_noise,
            knobs=candidate.config.knobs,
            baseline_knobs=board.baseline.config.knobs,
            variants={
                one.name: Variant(
                    frozenset(one.without),
                    one.refusal or _other_class(one, candidate),
                    one.merged_into.name if one.merged_into else "",
                )
                for one in self.candidates
                if one.taken_from_id == candidate.pk
            },
            runs=_comparable(slots, SlotPurpose.APART),
            rounds=_comparable(slots, SlotPurpose.REDUCED),
            runs_left=max(MAX_APART_RUNS - len(slots), 0),
        )
        return replace(whole, kept=self._kept(whole))

    def _kept(self, whole: Whole) -> dict[str, str]:
        kept = {name: why for name, why in self.kept.items() if name in whole.knobs}
        has = durability_of(whole.knobs, self.server)
        for name in lines_of(replace(whole, kept=kept)):
            without = whole.knobs_without(frozenset({name}))
            if durability_of(without, self.server) != has:
                kept[name] = DURABILITY
        return kept

    def taken_apart(self, board: Board) -> TakenApart | None:
        """What is known by now; None without a confirmed winner."""
        whole = self.whole_of(board)
        if whole is None:
            return None
        metric = board.aim.objective
        parts = part_results(whole, metric)
        effects = tuple(sorted(_effects(whole, parts), key=_order))
        budget = Budget(runs_left=whole.runs_left)
        baseline = board.baseline.name
        return TakenApart(
            whole=board.candidates[whole.name],
            metric=metric,
            margin=parts.margin,
            effects=effects,
            reduced=self._reduced(board, whole, parts),
            is_over=self.is_over,
            is_concluded=self.is_concluded,
            is_left=not self.is_concluded and is_left(whole, metric, budget, baseline),
            no_use=_no_use(whole, parts, baseline),
        )

    def _reduced(self, board: Board, whole: Whole, parts: PartResults) -> Reduced | None:
        """The newest that is advice, else the newest: more lines may have been tested later."""
        slots = _slots_of(board, board.candidates[whole.name])
        slots = [slot for slot in slots if slot.purpose == SlotPurpose.REDUCED]
        slots.sort(key=lambda slot: slot.order)
        measured = dict.fromkeys(
            slot.candidate
            for slot in slots
            if slot.candidate.name != whole.name and not slot.candidate.is_baseline
        )
        found = [self._judged(board, whole, parts, one, slots) for one in measured]
        advised = [one for one in found if one.is_advice]
        return next(reversed(advised or found), None)

    def _judged(
        self,
        board: Board,
        whole: Whole,
        parts: PartResults,
        measured: Candidate,
        slots: Sequence[SlotRow],
    ) -> Reduced:
        """The reduced config whose runs are those of `measured`, from its own rounds."""
        variants = [
            one
            for one in self.candidates
            if one.taken_from_id == board.candidates[whole.name].pk
            and measured in (one, one.merged_into)
        ]
        # Of those with the same effective values the shortest.
        candidate = max(variants, key=lambda one: len(one.without), default=measured)
        blocks = sorted({slot.block for slot in slots if slot.candidate == measured})
        slots = [slot for slot in slots if slot.block in blocks]
        rounds_runs = _comparable(slots, SlotPurpose.REDUCED)
        names = measured.name, whole.name, board.baseline.name
        done = set(blocks) - {slot.block for slot in slots if not slot.run.is_finished}
        mine = tuple(run for run in rounds_runs if run.candidate == measured.name)
        found = throughput = None
        if len(done) == len(blocks):
            metric = board.aim.objective
            rounds = [_figures(rounds_runs, block, names, metric) for block in blocks]
            noise = parts.run_noise
            found = judge_reduction(
                rounds,
                (candidate.name, *names[1:]),
                margin=parts.margin,
                run_noise=noise,
                metric=metric,
            )
            of_tpmP = [_figures(rounds_runs, block, names, Metric.TPMP) for block in blocks]
            throughput = confirm(
                [(one[0], one[2]) for one in of_tpmP], candidate.name, names[2], run_noise=noise
            )
        is_fit = (
            not any(run.outcome in FAULTS for run in mine)
            and not board.aim.missed(mine)
            and candidate.name not in board.not_recovered
        )
        return Reduced(
            candidate,
            rounds=len(blocks),
            done=len(done),
            found=found,
            throughput=throughput,
            runs=mine,
            is_advice=found is not None
            and found.state is ReductionState.VERIFIED
            and throughput is not None
            and throughput.ratio is not None
            and is_fit,
        )


def confirmed_winner(board: Board) -> tuple[Candidate, Confirmation] | None:
    """The board's winner and its confirmation, when all its fresh pairs are measured."""
    name = board.for_advice.analysis.winner
    if name is None:
        return None
    winner = board.candidates[name]
    pairs = board.pairs_of(winner)
    if not pairs or not all(pair.is_finished for pair in pairs):
        return None
    found = board.confirmation_of(winner)
    return (winner, found) if found.state is ConfirmationState.CONFIRMED else None


def _no_use(whole: Whole, parts: PartResults, baseline: str) -> str:
    """Why the config without all that contributes nothing is not measured; "" where it can be."""
    name = whole.variant(parts.dropped)
    if not name:
        return ""
    measured = whole.measured_as(name)
    if measured in (whole.name, baseline):
        return f"it has the same effective values as {measured}"
    return whole.variants[name].refusal


def _other_class(variant: Candidate, whole: Candidate) -> str:
    return "" if variant.durability == whole.durability else DURABILITY


def _slots_of(board: Board, whole: Candidate) -> list[SlotRow]:
    """The slots of the blocks in which this winner was taken apart, the newest runs in them."""
    blocks = {slot.block for slot in board.apart_slots if slot.candidate == whole}
    return [slot for slot in board.apart_slots if slot.block in blocks]


def _comparable(slots: Iterable[SlotRow], purpose: SlotPurpose) -> tuple[Observation, ...]:
    """The ended runs of that purpose; those of another fingerprint than most have no figure."""
    ended = [slot for slot in slots if slot.purpose == purpose and slot.run.is_finished]
    keys = Counter(s.run.comparability_key for s in ended if s.run.state == RunState.OK)
    usual = max(keys, key=lambda key: (keys[key], key), default="")
    return tuple(
        observation_of(slot)
        if slot.run.state != RunState.OK or slot.run.comparability_key == usual
        else observation_of(slot)._replace(outcome=NOT_COMPARABLE)
        for slot in ended
    )


def _figures(
    runs: Iterable[Observation], block: int, names: tuple[str, str, str], metric: Metric
) -> tuple[float | None, float | None, float | None]:
    there = {run.candidate: run.figure(metric) for run in runs if run.block == block}
    first, second, third = (there.get(name) for name in names)
    return first, second, third


def _effects(whole: Whole, parts: PartResults) -> Iterable[LinesEffect]:
    for one in of_each_line(parts):
        names, state = one.part.lines, one.state
        if state is None:
            state = RemovalState.UNSETTLED if one.blocks >= MIN_BLOCKS else RemovalState.UNTESTED
        if one.ratio is None or state is RemovalState.UNTESTED:
            yield LinesEffect(names, state, blocks=one.blocks, reason=one.reason)
            continue
        ratio, interval = own_effect(one.ratio, one.interval)
        yield LinesEffect(names, state, ratio, interval, one.blocks, one.reason)
    for name, reason in whole.kept.items():
        if whole.baseline_knobs.get(name) != whole.knobs[name]:
            yield LinesEffect((name,), RemovalState.NEEDED, reason=reason)


_ORDER = (
    RemovalState.MATTERS,
    RemovalState.NEEDED,
    RemovalState.UNSETTLED,
    RemovalState.UNTESTED,
    RemovalState.NO_EFFECT,
    RemovalState.SAME,
)


def _order(effect: LinesEffect) -> tuple[int, float, tuple[str, ...]]:
    """What matters first, the largest effect first."""
    size = abs(log(effect.ratio)) if effect.ratio else 0.0
    return _ORDER.index(effect.state), -size, effect.names
