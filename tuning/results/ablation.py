"""The ablation of a board's confirmed winner: its lines one by one, and the reduced config."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import log
from statistics import median
from typing import Any

from benchmarks.models import RunState
from tuning.catalogue.target import traits_of
from tuning.configs.price import durability_of
from tuning.models import Candidate, SlotPurpose
from tuning.results import document as doc
from tuning.results.boards import Board
from tuning.results.conditions import debt_of_reduced
from tuning.results.sentences import effect_text, shortage_text
from tuning.results.study_rows import SlotRow, StudyRows
from tuning.statistics.confirmation import (
    ReductionState,
    RemovalState,
    confirm,
    judge_reduction,
    loss_text,
)
from tuning.statistics.data import Metric, Observation
from tuning.strategy.ablation.ablate import (
    DROPPED,
    MAX_ABLATION_RUNS,
    MIN_BLOCKS,
    PartResults,
    is_left,
    of_each_line,
    part_results,
)
from tuning.strategy.ablation.parts import lines_of
from tuning.strategy.protocol import Budget
from tuning.strategy.racing import FAULTS
from tuning.strategy.whole import Variant, Whole

PINNED = "pinned, so it was not removed"
BOUNDED = "the server's own value is outside the bounds of the search, so it was not removed"
DURABILITY = "without it a crash may lose something else, so it was not removed"
NOT_COMPARABLE = "not_comparable"


def kept_by(search: Mapping[str, Any]) -> dict[str, str]:
    """Return the lines that a search never removes, by its stored request, with the reason."""
    space = search.get("space", {})
    bounded = {
        one["name"]: BOUNDED
        for one in space.get("dimensions", ())
        if one["name"] in search.get("bounded", ())
        and one["default"] not in one["special"]
        and not one["low"] <= float(one["default"] or "nan") <= one["high"]
    }
    return bounded | dict.fromkeys(space.get("pinned", {}), PINNED)


def whole_of(rows: StudyRows, board: Board) -> Whole | None:
    """Return the board's winner as the strategy tests its lines; None if none is confirmed."""
    if board.confirmed is None:
        return None
    winner, slots = board.candidates[board.confirmed], _slots_of(board)
    found = board.confirmations[winner.name].estimate
    whole = Whole(
        name=winner.name,
        lead=found.gain(board.aim.objective) if found else 0.0,
        run_noise=board.for_advice.analysis.run_noise,
        knobs=winner.config.knobs,
        baseline_knobs=board.baseline.config.knobs,
        variants={
            one.name: Variant(
                frozenset(one.without),
                one.refusal or ("" if one.durability == winner.durability else DURABILITY),
                one.merged_into.name if one.merged_into else "",
            )
            for one in rows.candidates.values()
            if one.taken_from_id == winner.pk
        },
        runs=_comparable(slots, SlotPurpose.ABLATION),
        rounds=_comparable(slots, SlotPurpose.REDUCED),
        runs_left=max(MAX_ABLATION_RUNS - len(slots), 0),
    )
    asked = kept_by(rows.study.search or {})
    kept = {name: why for name, why in asked.items() if name in whole.knobs}
    server = traits_of(rows.study.server)
    has = durability_of(whole.knobs, server)
    for name in lines_of(replace(whole, kept=kept)):
        if durability_of(whole.knobs_without(frozenset({name})), server) != has:
            kept[name] = DURABILITY
    return replace(whole, kept=kept)


def ablation_of(rows: StudyRows, board: Board, *, is_over: bool = False) -> doc.Ablation | None:
    """Return the ablation so far; None without a confirmed winner or with a single line.

    is_over: whether the study ends now, before its row says so.
    """
    whole = whole_of(rows, board)
    if whole is None:
        return None
    metric, baseline = board.aim.objective, board.baseline.name
    is_over, is_concluded = is_over or rows.study.is_finished, rows.study.concluded_at is not None
    parts = part_results(whole, metric)
    budget = Budget(runs_left=whole.runs_left)
    more = not is_concluded and is_left(whole, metric, budget, baseline)
    shortage = shortage_text(is_concluded=is_concluded, is_left=more)
    effects = sorted(_effects(whole, parts, metric, shortage if is_over else ""), key=_order)
    if not effects:
        return None
    return doc.Ablation(
        whole_id=board.candidates[whole.name].pk,
        metric=metric,
        margin=parts.margin,
        effects=tuple(effects),
        reduced=_reduced(rows, board, whole, parts),
        is_over=is_over,
        is_concluded=is_concluded,
        is_left=more,
        no_use=_no_use(whole, parts, baseline),
        shortage=shortage,
    )


def _reduced(
    rows: StudyRows, board: Board, whole: Whole, parts: PartResults
) -> doc.Reduced | None:
    """Return the newest that is advice, else the newest: lines may have been tested later."""
    slots = [slot for slot in _slots_of(board) if slot.purpose == SlotPurpose.REDUCED]
    measured = dict.fromkeys(
        slot.candidate for slot in slots if slot.name != whole.name and not slot.is_baseline
    )
    found = [_judged(rows, board, whole, parts, one, slots) for one in measured]
    advised = [one for one in found if one.is_advice]
    return next(reversed(advised or found), None)


def _judged(
    rows: StudyRows,
    board: Board,
    whole: Whole,
    parts: PartResults,
    measured: Candidate,
    slots: Sequence[SlotRow],
) -> doc.Reduced:
    """Judge the reduced config whose runs are those of `measured`, by its own rounds."""
    whole_id = board.candidates[whole.name].pk
    variants = [one for one in rows.candidates.values() if one.taken_from_id == whole_id]
    variants = [one for one in variants if measured in (one, one.merged_into)]
    # The shortest of the variants with the same effective values.
    candidate = max(variants, key=lambda one: len(one.without), default=measured)
    blocks = sorted({slot.block for slot in slots if slot.candidate == measured})
    slots = [slot for slot in slots if slot.block in blocks]
    runs = _comparable(slots, SlotPurpose.REDUCED)
    names = measured.name, whole.name, board.baseline.name
    open_blocks = {slot.block for slot in slots if not slot.is_finished}
    mine = [run for run in runs if run.candidate == measured.name]
    ok = [run for run in mine if run.counts]

    def rounds(metric: Metric) -> list[tuple[float | None, float | None, float | None]]:
        at = {(run.block, run.candidate): run.figure(metric) for run in runs}
        first, second, third = names
        return [(at.get((n, first)), at.get((n, second)), at.get((n, third))) for n in blocks]

    found = throughput = None
    if not open_blocks:
        metric, noise = board.aim.objective, parts.run_noise
        shown = candidate.name, *names[1:]
        found = judge_reduction(
            rounds(metric), shown, margin=parts.margin, run_noise=noise, metric=metric
        )
        pairs = [(one[0], one[2]) for one in rounds(Metric.THROUGHPUT)]
        throughput = confirm(pairs, candidate.name, names[2], run_noise=noise).estimate
    is_fit = (
        not any(run.outcome in FAULTS for run in mine)
        and not board.aim.missed(mine)
        and candidate.name not in board.not_recovered
    )
    is_verified = found is not None and found.state is ReductionState.VERIFIED
    return doc.Reduced(
        candidate_id=candidate.pk,
        rounds=len(blocks),
        rounds_done=len(blocks) - len(open_blocks),
        state=found.state if found else "measuring",
        to_baseline=found.to_baseline.estimate if found else None,
        to_whole=found.to_whole.estimate if found else None,
        throughput=throughput,
        runs=len(ok),
        failures=sum(not (run.counts or run.is_cut_short) for run in mine),
        blocks=len({run.block for run in ok}),
        figures=_medians(ok),
        debtor=debt_of_reduced(board, candidate),
        is_advice=is_verified and throughput is not None and is_fit,
    )


def _no_use(whole: Whole, parts: PartResults, baseline: str) -> str:
    """Return why the fully reduced config cannot be measured; "" if it can."""
    name = whole.variant(parts.dropped)
    if not name:
        return ""
    measured = whole.measured_as(name)
    if measured in (whole.name, baseline):
        return f"it has the same effective values as {measured}"
    return whole.variants[name].refusal


def _slots_of(board: Board) -> list[SlotRow]:
    winner = board.confirmed
    blocks = {slot.block for slot in board.ablation_slots if slot.name == winner}
    return [slot for slot in board.ablation_slots if slot.block in blocks]


def _comparable(slots: Iterable[SlotRow], purpose: SlotPurpose) -> tuple[Observation, ...]:
    """Return the ended runs of a purpose; runs of an unusual fingerprint have no figure."""
    ended = [slot for slot in slots if slot.purpose == purpose and slot.run.is_finished]
    keys = Counter(s.run.comparability_key for s in ended if s.run.state == RunState.OK)
    usual = max(keys, key=lambda key: (keys[key], key), default="")
    return tuple(
        slot.observation
        if slot.run.state != RunState.OK or slot.run.comparability_key == usual
        else slot.observation._replace(outcome=NOT_COMPARABLE)
        for slot in ended
    )


def _medians(runs: Sequence[Observation]) -> doc.Figures:
    def middle(name: str) -> float | None:
        known = [value for run in runs if (value := getattr(run, name)) is not None]
        return median(known) if known else None

    return doc.Figures(**{name: middle(name) for name in doc.Figures.model_fields})


def _effects(
    whole: Whole, parts: PartResults, metric: Metric, shortage: str
) -> Iterator[doc.LinesEffect]:
    """Yield the effect of each line; shortage: why some are untested, "" while that may change."""
    for one in of_each_line(parts):
        state, found = one.state, None
        if state is None:
            state = RemovalState.UNSETTLED if one.blocks >= MIN_BLOCKS else RemovalState.UNTESTED
        if one.estimate is not None and state is not RemovalState.UNTESTED:
            found = one.estimate.inverse()
        text = effect_text(found, metric) if found else one.reason or "no figure"
        if state is RemovalState.SAME:
            text = "the server has the same effective values without"
        elif state is RemovalState.UNTESTED:
            text = f"not tested on its own{f': {shortage}' if shortage else ' yet'}"
        elif state is RemovalState.UNSETTLED and found is not None:
            text = f"{text}; more than {loss_text(parts.margin)} may be lost without"
        yield doc.LinesEffect(
            names=one.part.lines,
            state=state,
            estimate=found,
            blocks=one.blocks,
            reason=one.reason,
            text=text,
            is_left_out=state in DROPPED,
        )
    for name, reason in whole.kept.items():
        if whole.baseline_knobs.get(name) != whole.knobs[name]:
            yield doc.LinesEffect(
                names=(name,),
                state=RemovalState.NEEDED,
                estimate=None,
                blocks=0,
                reason=reason,
                text=reason,
                is_left_out=False,
            )


_ORDER = (
    RemovalState.MATTERS,
    RemovalState.NEEDED,
    RemovalState.UNSETTLED,
    RemovalState.UNTESTED,
    RemovalState.NO_EFFECT,
    RemovalState.SAME,
)


def _order(effect: doc.LinesEffect) -> tuple[int, float, tuple[str, ...]]:
    size = abs(log(effect.estimate.ratio)) if effect.estimate else 0.0
    return _ORDER.index(RemovalState(effect.state)), -size, effect.names
