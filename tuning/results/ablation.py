"""The ablation of a board's confirmed winner: its lines one by one, and the reduced config."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from statistics import median
from typing import Any, Self

from benchmarks.models import RunState
from tuning.catalogue.target import ServerTraits, traits_of
from tuning.configs.effective.durability import durability_of
from tuning.models import Candidate, SlotPurpose, Study
from tuning.results import document as doc
from tuning.results.ablation_sentences import (
    ablation_sentences,
    effect_text,
    shortage_text,
)
from tuning.results.board import Board
from tuning.results.run_lines import SlotRow
from tuning.results.write_debt import debt_of_reduced
from tuning.statistics.confirmation import Confirmation, confirm
from tuning.statistics.data import Metric, Observation
from tuning.statistics.estimate import Estimate
from tuning.statistics.removal import (
    ReductionState,
    RemovalState,
    judge_reduction,
)
from tuning.strategy.ablation.ablate import MAX_ABLATION_RUNS, is_left
from tuning.strategy.ablation.part_results import (
    DROPPED,
    MIN_BLOCKS,
    PartResults,
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


@dataclass(frozen=True)
class Ablations:
    """All candidates of a study, its server, and the lines that stay, with the reason.

    is_over: whether the study has ended, or ends now; is_concluded: early, on request.
    """

    candidates: Sequence[Candidate]
    server: ServerTraits
    kept: Mapping[str, str]
    is_over: bool = False
    is_concluded: bool = False

    @classmethod
    def in_study(
        cls, study: Study, candidates: Iterable[Candidate], *, is_over: bool = False
    ) -> Self:
        """Return the inputs of a study's ablations."""
        return cls(
            list(candidates),
            traits_of(study.server),
            kept_by(study.search or {}),
            is_over=is_over or study.is_finished,
            is_concluded=study.concluded_at is not None,
        )

    def whole_of(self, board: Board) -> Whole | None:
        """Return the board's winner as the strategy tests its lines; None if none is confirmed."""
        winner = confirmed_winner(board)
        if winner is None:
            return None
        candidate, confirmation = winner
        lead = log(confirmation.estimate.ratio if confirmation.estimate else 1.0)
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
            runs=_comparable(slots, SlotPurpose.ABLATION),
            rounds=_comparable(slots, SlotPurpose.REDUCED),
            runs_left=max(MAX_ABLATION_RUNS - len(slots), 0),
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

    def of(self, board: Board) -> doc.Ablation | None:
        """Return the ablation so far; None without a confirmed winner or with a single line."""
        whole = self.whole_of(board)
        if whole is None:
            return None
        winner, metric = board.candidates[whole.name], board.aim.objective
        parts = part_results(whole, metric)
        effects = tuple(sorted(_effects(whole, parts), key=_order))
        if not effects:
            return None
        budget = Budget(runs_left=whole.runs_left)
        baseline = board.baseline.name
        open_lines = is_left(whole, metric, budget, baseline)
        more = not self.is_concluded and open_lines
        reduced = self._reduced(board, whole, parts)
        found = doc.Ablation(
            whole_id=winner.pk,
            metric=metric,
            margin=parts.margin,
            effects=effects,
            reduced=reduced,
            is_over=self.is_over,
            is_concluded=self.is_concluded,
            is_left=more,
            no_use=_no_use(whole, parts, baseline),
            shortage=shortage_text(is_concluded=self.is_concluded, is_left=more),
            sentences=(),
        )
        named = next(
            (one for one in self.candidates if reduced and one.pk == reduced.candidate_id), None
        )
        texts = [{"text": effect_text(one, found)} for one in found.effects]
        return found.model_copy(
            update={
                "effects": tuple(
                    one.model_copy(update=text)
                    for one, text in zip(found.effects, texts, strict=True)
                ),
                "sentences": tuple(ablation_sentences(found, winner, named)),
            }
        )

    def _reduced(self, board: Board, whole: Whole, parts: PartResults) -> doc.Reduced | None:
        """Return the newest that is advice, else the newest: lines may have been tested later."""
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
    ) -> doc.Reduced:
        """Judge the reduced config whose runs are those of `measured`, by its own rounds."""
        variants = [
            one
            for one in self.candidates
            if one.taken_from_id == board.candidates[whole.name].pk
            and measured in (one, one.merged_into)
        ]
        # The shortest of the variants with the same effective values.
        candidate = max(variants, key=lambda one: len(one.without), default=measured)
        blocks = sorted({slot.block for slot in slots if slot.candidate == measured})
        slots = [slot for slot in slots if slot.block in blocks]
        rounds_runs = _comparable(slots, SlotPurpose.REDUCED)
        names = measured.name, whole.name, board.baseline.name
        done = set(blocks) - {slot.block for slot in slots if not slot.run.is_finished}
        mine = [run for run in rounds_runs if run.candidate == measured.name]
        ok = [run for run in mine if run.counts]
        found = throughput = None
        if len(done) == len(blocks):
            metric, noise = board.aim.objective, parts.run_noise
            found = judge_reduction(
                [_figures(rounds_runs, block, names, metric) for block in blocks],
                (candidate.name, *names[1:]),
                margin=parts.margin,
                run_noise=noise,
                metric=metric,
            )
            by_throughput = [_figures(rounds_runs, one, names, Metric.TPMP) for one in blocks]
            pairs = [(one[0], one[2]) for one in by_throughput]
            throughput = confirm(pairs, candidate.name, names[2], run_noise=noise)
        is_fit = (
            not any(run.outcome in FAULTS for run in mine)
            and not board.aim.missed(mine)
            and candidate.name not in board.not_recovered
        )
        return doc.Reduced(
            candidate_id=candidate.pk,
            rounds=len(blocks),
            rounds_done=len(done),
            state=found.state if found else "measuring",
            to_baseline=found.to_baseline.estimate if found else None,
            to_whole=found.to_whole.estimate if found else None,
            throughput=throughput.estimate if throughput else None,
            runs=len(ok),
            failures=sum(not (run.counts or run.is_cut_short) for run in mine),
            blocks=len({run.block for run in ok}),
            figures=_medians(ok),
            debtor=debt_of_reduced(board, candidate),
            is_advice=found is not None
            and found.state is ReductionState.VERIFIED
            and throughput is not None
            and throughput.estimate is not None
            and is_fit,
        )


def confirmed_winner(board: Board) -> tuple[Candidate, Confirmation] | None:
    """Return the config that its fresh pairs confirm, and their result."""
    name = board.confirmed
    return None if name is None else (board.candidates[name], board.confirmations[name])


def _no_use(whole: Whole, parts: PartResults, baseline: str) -> str:
    """Return why the fully reduced config cannot be measured; "" if it can."""
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
    """Return the slots of this winner's ablation."""
    blocks = {slot.block for slot in board.ablation_slots if slot.candidate == whole}
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


def _figures(
    runs: Iterable[Observation], block: int, names: tuple[str, str, str], metric: Metric
) -> tuple[float | None, float | None, float | None]:
    there = {run.candidate: run.figure(metric) for run in runs if run.block == block}
    first, second, third = (there.get(name) for name in names)
    return first, second, third


def _medians(runs: Sequence[Observation]) -> doc.Figures:
    def middle(name: str) -> float | None:
        known = [value for run in runs if (value := getattr(run, name)) is not None]
        return median(known) if known else None

    own = {name: middle(name) for name in doc.Figures.model_fields if name != "throughput"}
    return doc.Figures(throughput=middle("tpmP"), **own)


def _effects(whole: Whole, parts: PartResults) -> Iterator[doc.LinesEffect]:
    for one in of_each_line(parts):
        state, found = one.state, None
        if state is None:
            state = RemovalState.UNSETTLED if one.blocks >= MIN_BLOCKS else RemovalState.UNTESTED
        if one.estimate is not None and state is not RemovalState.UNTESTED:
            found = one.estimate.inverse()
        yield _effect(one.part.lines, state, found, one.blocks, one.reason)
    for name, reason in whole.kept.items():
        if whole.baseline_knobs.get(name) != whole.knobs[name]:
            yield _effect((name,), RemovalState.NEEDED, reason=reason)


def _effect(
    names: tuple[str, ...],
    state: RemovalState,
    estimate: Estimate | None = None,
    blocks: int = 0,
    reason: str = "",
) -> doc.LinesEffect:
    return doc.LinesEffect(
        names=names,
        state=state,
        estimate=estimate,
        blocks=blocks,
        reason=reason,
        text="",
        is_left_out=state in DROPPED,
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
    """Sort what matters first, the largest effect first."""
    size = abs(log(effect.estimate.ratio)) if effect.estimate else 0.0
    return _ORDER.index(RemovalState(effect.state)), -size, effect.names
