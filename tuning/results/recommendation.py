"""Turns a finished study's boards into one recommendation each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.db.models.functions import Now

from benchmarks.counted import WERE, counted
from benchmarks.models import RunState
from tuning.errors import TuningError
from tuning.models import Candidate, Recommendation, Study
from tuning.results.apart import Reduced, TakenApart
from tuning.results.apart_texts import apart_sentences
from tuning.results.boards import Board, missed_text
from tuning.results.crash_recovery import recovery_sentences
from tuning.results.searched import search_result
from tuning.results.short_run_limits import limit_sentences
from tuning.results.study_result import StudyResult
from tuning.results.time_limit import time_sentence
from tuning.results.write_debt import (
    advice_sentence,
    debt_of_reduced,
    debt_sentence,
    debtors_of,
)
from tuning.statistics.aim import metric_name
from tuning.statistics.analysis import Standing
from tuning.statistics.confirmation import Confirmation, ConfirmationState
from tuning.statistics.data import Metric
from tuning.statistics.ranking import Interval
from tuning.statistics.verdict import VerdictKind, change_text

CONCLUDED = "the study was concluded early on request"
UNCONFIRMED = "This lead was not confirmed in fresh pairs, so it is probably too high."


class NothingToRecommend(TuningError):
    """The study has no figures to compare."""


def store_recommendations(study: Study, *, had_finalists: bool = False) -> None:
    """Store the recommendation of every board that has a figure of the baseline.

    `had_finalists`: whether a search that raced nothing had configs to race; its time ran out.
    Raises NothingToRecommend if none has one: then no candidate can be called better or worse.
    """
    result = StudyResult(study)
    judged = [board for board in result.boards if _has_baseline(board)]
    if not judged:
        raise _nothing_to_recommend(result)
    quality = result.data_quality.sentences()
    for board in judged:
        if study.search is not None and not board.slots:
            _store_nothing_found(result, board, had_finalists=had_finalists)
        else:
            apart = result.taken_apart(board.key)
            _store_judged(study, board, quality, replace(apart, is_over=True) if apart else None)


def _store_nothing_found(result: StudyResult, board: Board, *, had_finalists: bool) -> None:
    """A search that took nothing into a race keeps the baseline."""
    ours = [one for one in result.candidates.values() if not one.is_baseline]
    unfit = sum(bool(one.refusal) for one in ours)
    same = sum(one.merged_into is not None for one in ours)
    here = [s for s in result.slots if (s.device, s.workload) == (board.device, board.workload)]
    looked = len({slot.candidate_id for slot in here if not slot.candidate.is_baseline})
    said = [f"{counted(looked, 'config', WERE)} measured"]
    said += [f"{unfit} refused"] if unfit else []
    said += [f"{same} the same as others"] if same else []
    kind, head = VerdictKind.NOTHING_FOUND, "The search found nothing better"
    if not _has_ratio(result):
        kind, head = VerdictKind.NOTHING_TO_COMPARE, "The search could compare nothing"
        name = metric_name(result.aim.objective)
        why = f"none could be compared, because runs have no figure of {name}"
        said += [why] if looked else []
    elif had_finalists:
        kind = VerdictKind.TIME_RAN_OUT
        head = "The search ended without a race"
        said += ["the time ran out before the best could race"]
    else:
        said += ["none looked good enough for a race"]
    said += [CONCLUDED] if result.study.concluded_at else []
    sentences = [f"{head}: keep {board.baseline.name} ({'; '.join(said)})."]
    verdict = " ".join(sentences + limit_sentences(board, here))
    _store(result.study, board, _keep(board), kind, None, verdict)


def _has_ratio(result: StudyResult) -> bool:
    """Whether any config of the search could be compared with the baseline."""
    found = search_result(result)
    return found is not None and any(look.ratio is not None for look in found.looks)


def _nothing_to_recommend(result: StudyResult) -> NothingToRecommend:
    """The reason why the baseline has no figure on the first device."""
    if not result.boards:
        text = "nothing was measured, so nothing can be compared"
        return NothingToRecommend("nothing_measured", text)
    device = result.boards[0].device
    slots = [slot for slot in result.slots if slot.candidate.is_baseline and slot.device == device]
    if all(slot.run.state == RunState.DISTURBED for slot in slots):
        last = max((slot.run for slot in slots), key=lambda run: run.pk)
        return NothingToRecommend(
            "disturbed",
            f"every run of the baseline on {device} was disturbed, so nothing can be compared "
            f"(the last one: {last.reason}). Measure when the host is quiet or raise the limits "
            "(docs/settings.md)",
        )
    reasons = [slot.run.reason for slot in slots if slot.run.is_finished and slot.run.reason]
    return NothingToRecommend(
        "no_baseline",
        f"the baseline has no successful run on {device}, so nothing can be compared"
        f"{f': {reasons[-1]}' if reasons else ''}",
    )


@dataclass(frozen=True)
class _Advice:
    """The config to use and the figures that support it; `whole` as in `Recommendation`."""

    candidate: Candidate
    ratio: float
    interval: Interval | None
    selected_ratio: float | None
    confirmation: Confirmation | None
    gained: Gain | None = None
    whole: Candidate | None = None


@dataclass(frozen=True)
class Gain:
    """What it gained of the objective, where that is not tpmP."""

    ratio: float
    interval: Interval | None


def _store_judged(study: Study, board: Board, quality: str, apart: TakenApart | None) -> None:
    judgement = board.for_advice
    advice = _advise(study, board, apart)
    sentences = [judgement.verdict.sentence]
    if advice.confirmation is not None:
        sentences.append(advice.confirmation.sentence)
        if apart is not None:
            sentences += apart_sentences(apart)
    elif advice.candidate != board.baseline:
        sentences.append(UNCONFIRMED)
    if advice.gained is not None:
        sentences.append(f"Its tpmP changed by {change_text(advice.ratio, advice.interval)}.")
    if board.failed and not board.all_failed:
        names = ", ".join(board.failed)
        sentences.append(f"Not considered because of failed runs: {names}.")
    sentences += _about_limits(board, advice.candidate)
    if study.concluded_at is not None:
        sentences.append(f"{CONCLUDED.capitalize()}.")
    sentences.append(time_sentence(study, board))
    debtors = debtors_of(board)
    tested = dict.fromkeys([advice.candidate.name, board.baseline.name])
    sentences += recovery_sentences(board.crash_tests, tested)
    # A winner without some of its lines owes what its own rounds left to be written.
    owing = debtors if advice.whole is None else debt_of_reduced(board, advice.candidate)
    sentences += [debt_sentence(debtors), advice_sentence(owing, advice.candidate), quality]
    kind, floor = judgement.verdict.kind, judgement.analysis.floor
    verdict = " ".join(sentence for sentence in sentences if sentence)
    _store(study, board, advice, kind, floor, verdict)


def _store(
    study: Study,
    board: Board,
    advice: _Advice,
    kind: VerdictKind,
    noise_floor: float | None,
    verdict: str,
) -> None:
    gained = advice.gained
    Recommendation.objects.update_or_create(
        study=study,
        device=board.device,
        workload=board.workload,
        durability=board.durability,
        defaults={
            "candidate": advice.candidate,
            "whole": advice.whole,
            "kind": kind,
            "ratio_to_baseline": advice.ratio,
            "low": advice.interval.low if advice.interval else None,
            "high": advice.interval.high if advice.interval else None,
            "selected_ratio": advice.selected_ratio,
            "objective": board.aim.objective.value,
            "objective_ratio": gained.ratio if gained else None,
            "objective_low": gained.interval.low if gained and gained.interval else None,
            "objective_high": gained.interval.high if gained and gained.interval else None,
            "noise_floor": noise_floor,
            "confirmation": advice.confirmation.state if advice.confirmation else "",
            "verdict": verdict,
            "created_at": Now(),
        },
    )


def advised_on(result: StudyResult, board: Board) -> Candidate:
    """The config that would be recommended now."""
    return _advise(result.study, board, result.taken_apart(board.key)).candidate


def _advise(study: Study, board: Board, apart: TakenApart | None) -> _Advice:
    """The winner, if fresh pairs confirm it or the study has none; else the baseline.

    Of a winner that was taken apart the reduced config, if its fresh rounds speak for it.
    """
    advice = _with_all_lines(study, board)
    if apart is None or apart.advised is None or advice.candidate != apart.whole:
        return advice
    return _reduced(board, advice, apart.whole, apart.advised)


def _with_all_lines(study: Study, board: Board) -> _Advice:
    analysis = board.for_advice.analysis
    if analysis.winner is None:
        return _keep(board)
    winner = board.candidates[analysis.winner]
    # Whatever it won by: what is stored is of throughput.
    standing = board.throughput.analysis.standing(winner.name)
    if standing.ratio is None:
        return _keep(board)
    if not study.confirms:
        gained = _gained(board, analysis.standing(winner.name))
        return _Advice(winner, standing.ratio, standing.interval, standing.ratio, None, gained)
    confirmation, found = board.confirmation_of(winner), board.throughput_of(winner)
    if confirmation.state is ConfirmationState.CONFIRMED and found.ratio is not None:
        gained = _gained(board, confirmation)
        return _Advice(winner, found.ratio, found.interval, standing.ratio, confirmation, gained)
    return _Advice(board.baseline, 1.0, None, standing.ratio, confirmation)


def _gained(board: Board, found: Standing | Confirmation) -> Gain | None:
    if board.aim.objective is Metric.TPMP or found.ratio is None:
        return None
    return Gain(found.ratio, found.interval)


def _reduced(board: Board, advice: _Advice, whole: Candidate, reduced: Reduced) -> _Advice:
    """The winner without the lines that contribute nothing, with the figures of its own rounds."""
    found = reduced.throughput
    if found is None or found.ratio is None or reduced.found is None:
        return advice
    return replace(
        advice,
        candidate=reduced.candidate,
        ratio=found.ratio,
        interval=found.interval,
        gained=_gained(board, reduced.found.to_baseline),
        whole=whole,
    )


def _keep(board: Board) -> _Advice:
    return _Advice(board.baseline, 1.0, None, None, None)


def _has_baseline(board: Board) -> bool:
    if not board.slots:  # a search without a race
        return any(
            slot.candidate.is_baseline and slot.run.state == RunState.OK
            for slot in board.screening
        )
    return any(run.candidate == board.baseline.name and run.counts for run in board.observations)


def _about_limits(board: Board, advised: Candidate) -> list[str]:
    """Which candidates miss a limit that the user set, and whether the recommended one does."""
    texts = []
    if names := board.over_limits:
        misses = "; ".join(f"{name} ({missed_text(board, name)})" for name in names)
        texts.append(f"Not considered because of missed limits: {misses}.")
    if board.baseline.name in (*board.missed, *board.not_recovered):
        none = ", and no config in the study meets the limits" if advised.is_baseline else ""
        text = f"{board.baseline.name} itself misses {missed_text(board, board.baseline.name)}"
        texts.append(f"{text}{none}.")
    return texts
