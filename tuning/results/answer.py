"""The answer of a study: which config to use on each board, by the study's document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.conf import settings
from django.db.models.functions import Now

from benchmarks.counted import WERE, counted
from benchmarks.models import RunState
from tuning.errors import NothingToRecommend
from tuning.models import Recommendation, Study
from tuning.results.build import build
from tuning.results.document import Board, RunFacts, StudyDocument
from tuning.results.sentences import ablation_sentences
from tuning.results.study_rows import StudyRows, observation_of
from tuning.statistics.aim import Aim, limit_text, metric_name, missed_texts
from tuning.statistics.confirmation import ConfirmationState
from tuning.statistics.data import Metric, Observation
from tuning.statistics.estimate import Estimate
from tuning.statistics.verdict import VerdictKind
from tuning.strategy.racing import FIRST_DECISION

CONCLUDED = "the study was concluded early on request"
UNCONFIRMED = "This lead was not confirmed in fresh pairs, so it is probably too high."
KEPT = Estimate(ratio=1.0)


@dataclass(frozen=True)
class Advice:
    """The config to use on a board and the figures that support it.

    effect: on throughput. gained: what it gained of the objective. whole_id: the confirmed winner,
    if the candidate is that without some of its lines.
    """

    candidate_id: int
    effect: Estimate = KEPT
    confirmation: str = ""
    gained: Estimate | None = None
    whole_id: int | None = None


def advise(document: StudyDocument, board: Board) -> Advice:
    """Return what fresh pairs confirm, or the winner of a study without any, else the baseline.

    A confirmed winner that was measured without some of its lines gives way to the reduced config
    if the rounds of that speak for it.
    """
    winner = board.leader_id
    by_throughput = board.rankings[Metric.THROUGHPUT]
    if document.study.objective is Metric.THROUGHPUT:
        by_throughput = board.advice
    standing = by_throughput.standing(winner) if winner is not None else None
    if winner is None or standing is None or standing.estimate is None:
        return Advice(board.baseline_id)
    if not document.study.confirms:
        decided = board.advice.standing(winner)
        gained = decided.estimate if decided else None
        return Advice(winner, standing.estimate, gained=gained)
    found = next(one for one in board.confirmations if one.candidate_id == winner)
    if found.state != ConfirmationState.CONFIRMED or found.throughput is None:
        return Advice(board.baseline_id, confirmation=found.state)
    reduced = board.ablation.reduced if board.ablation else None
    if reduced is None or not reduced.is_advice or reduced.throughput is None:
        return Advice(winner, found.throughput, found.state, found.estimate)
    return Advice(
        reduced.candidate_id, reduced.throughput, found.state, reduced.to_baseline, winner
    )


def store_recommendations(study: Study, *, had_finalists: bool = False) -> None:
    """Store the recommendation of every board that has a figure of the baseline.

    had_finalists: whether a search that raced nothing had configs to race; its time ran out.
    Raises NothingToRecommend if none has one: then no candidate can be called better or worse.
    """
    document = build(StudyRows(study), is_over=True)
    judged = [board for board in document.boards if _has_baseline(document, board)]
    if not judged:
        raise _nothing_to_recommend(document)
    for board in judged:
        if study.search is not None and not board.is_raced:
            kind, texts = _nothing_found(study, document, board, had_finalists=had_finalists)
            _store(document, board, Advice(board.baseline_id), kind, None, texts)
        else:
            advice, found = advise(document, board), board.advice
            texts = [*_sentences(study, document, board, advice)]
            _store(document, board, advice, found.verdict.kind, found.noise_floor, texts)


def _has_baseline(document: StudyDocument, board: Board) -> bool:
    if board.is_raced:
        row = board.row(board.baseline_id)
        return row is not None and row.runs > 0
    screened = document.board_runs(board, "search")
    return any(run.candidate_id == board.baseline_id and run.is_ok for run in screened)


def _nothing_to_recommend(document: StudyDocument) -> NothingToRecommend:
    """Return the reason why the baseline has no figure on the first device."""
    if not document.boards:
        text = "nothing was measured, so nothing can be compared"
        return NothingToRecommend("nothing_measured", text)
    board = document.boards[0]
    device = document.device[board.device_id].name
    runs = [
        run
        for run in document.newest_runs
        if run.candidate_id == board.baseline_id and run.device_id == board.device_id
    ]
    if all(run.state == RunState.DISTURBED for run in runs):
        last = max(runs, key=lambda run: run.id)
        return NothingToRecommend(
            "disturbed",
            f"every run of the baseline on {device} was disturbed, so nothing can be compared "
            f"(the last one: {last.reason}). Measure when the host is quiet or raise the limits "
            "(docs/reference/settings.md)",
        )
    reasons = [run.reason for run in runs if run.is_finished and run.reason]
    return NothingToRecommend(
        "no_baseline",
        f"the baseline has no successful run on {device}, so nothing can be compared"
        f"{f': {reasons[-1]}' if reasons else ''}",
    )


def _sentences(
    study: Study, document: StudyDocument, board: Board, advice: Advice
) -> Iterator[str]:
    """Yield the sentences of the verdict; some are empty."""
    yield board.advice.verdict.sentence
    if advice.confirmation:
        yield from ablation_sentences(document, board.ablation) if board.ablation else ()
    elif advice.candidate_id != board.baseline_id:
        yield UNCONFIRMED
    if advice.gained is not None and document.study.objective is not Metric.THROUGHPUT:
        yield f"Its throughput changed by {advice.effect.change()}."
    others = {row.candidate_id for row in board.rows} - {board.baseline_id}
    refused = {pk for pk in others if document.candidate[pk].refusal}
    if board.failed and others - refused - {*board.failed}:
        names = ", ".join(document.candidate[pk].name for pk in board.failed)
        yield f"Not considered because of failed runs: {names}."
    # A reduced config has no row.
    missed = {one.candidate_id: one.too_slow for one in board.crash_tests if one.too_slow}
    missed |= {row.candidate_id: row.missed for row in board.rows if row.missed}
    own = missed.pop(board.baseline_id, "")
    if missed:
        names = "; ".join(f"{document.candidate[pk].name} ({missed[pk]})" for pk in missed)
        yield f"Not considered because of missed limits: {names}."
    if own:
        is_kept = advice.candidate_id == board.baseline_id
        none = ", and no config in the study meets the limits" if is_kept else ""
        yield f"{_baseline(document, board)} itself misses {own}{none}."
    if study.concluded_at is not None:
        yield f"{CONCLUDED.capitalize()}."
    yield time_sentence(study, document, board)
    for pk in dict.fromkeys([advice.candidate_id, board.baseline_id]):
        yield from (one.sentence for one in board.crash_tests if one.candidate_id == pk)
    yield board.debt_sentence
    yield document.quality.sentence


def _baseline(document: StudyDocument, board: Board) -> str:
    return document.candidate[board.baseline_id].name


def time_sentence(study: Study, document: StudyDocument, board: Board) -> str:
    """Return what was left out on a board because the minutes were used up; "" for nothing.

    A study with a budget or an extension has as many blocks as fit.
    """
    if not study.has_end or study.concluded_at is not None:
        return ""
    begun = len({run.block for run in document.board_runs(board, "block")})
    racing = sum(row.left is None for row in board.rows) - 1
    is_decided = racing == 0 or (study.races and racing == 1 and begun >= FIRST_DECISION)
    # Disturbed runs that were not measured as often as they may be.
    times = Counter(run.order for run in document.runs if run.state == RunState.DISTURBED)
    void = sum(
        run.state == RunState.DISTURBED and times[run.order] <= settings.DISTURBED_RUN_RETRIES
        for run in document.board_runs(board, "block", "confirmation")
    )
    parts = []
    if begun < study.blocks and not is_decided:
        parts.append(f"{begun} of {counted(study.blocks, 'block')} {WERE[begun != 1]} measured")
    if void:
        parts.append(f"{counted(void, 'disturbed run', WERE)} not measured again")
    if not parts:
        return ""
    minutes = counted(study.minutes or 0, "minute")
    return (
        f"Its {minutes} were not enough for all: {' and '.join(parts)}. "
        "Extend the study to measure more."
    )


def _nothing_found(
    study: Study, document: StudyDocument, board: Board, *, had_finalists: bool
) -> tuple[VerdictKind, list[str]]:
    """Return why a search that took nothing into a race keeps the baseline, with sentences."""
    ours = [one for one in document.candidates if not one.is_baseline]
    unfit = sum(bool(one.refusal) for one in ours)
    same = sum(one.merged_into_id is not None for one in ours)
    here = [run for run in document.newest_runs if run.place == board.place]
    looked = len({run.candidate_id for run in here} - {board.baseline_id})
    parts = [f"{counted(looked, 'config', WERE)} measured"]
    parts += [f"{unfit} refused"] if unfit else []
    parts += [f"{same} the same as others"] if same else []
    kind, head = VerdictKind.NOTHING_FOUND, "The search found nothing better"
    if not (document.search and document.search.has_figures):
        kind, head = VerdictKind.NOTHING_TO_COMPARE, "The search could compare nothing"
        name = metric_name(document.study.objective)
        why = f"none could be compared, because runs have no figure of {name}"
        parts += [why] if looked else []
    elif had_finalists:
        kind, head = VerdictKind.TIME_RAN_OUT, "The search ended without a race"
        parts.append("the time ran out before the best could race")
    else:
        parts.append("none looked good enough for a race")
    parts += [CONCLUDED] if study.concluded_at else []
    text = f"{head}: keep {_baseline(document, board)} ({'; '.join(parts)})."
    aim = Aim.from_json(study.search or {})
    return kind, [text, *_limits_of_search(aim, document, board, here)]


def _limits_of_search(
    aim: Aim, document: StudyDocument, board: Board, screened: Iterable[RunFacts]
) -> Iterator[str]:
    """Yield how many configs kept the limits, whether the baseline did, and its recovery."""
    runs: dict[int, list[Observation]] = {}
    for run in screened:
        if run.is_ok:
            name = document.candidate[run.candidate_id].name
            runs.setdefault(run.candidate_id, []).append(observation_of(run, name))
    others = [seen for pk, seen in runs.items() if pk != board.baseline_id]
    if aim.keep and others:
        kept = sum(not aim.missed(seen) for seen in others)
        limits = " and ".join(limit_text(metric, bound) for metric, bound in aim.keep.items())
        yield f"In short runs {kept} of {len(others)} configs kept {limits}."
    tests = [one for one in board.crash_tests if one.candidate_id == board.baseline_id]
    missed = [*missed_texts(aim, runs.get(board.baseline_id, [])), *(t.too_slow for t in tests)]
    if missed := list(filter(None, missed)):
        yield f"{_baseline(document, board)} itself misses {'; '.join(missed)}."
    yield from (test.sentence for test in tests)


def _store(
    document: StudyDocument,
    board: Board,
    advice: Advice,
    kind: str,
    noise_floor: float | None,
    texts: Iterable[str],
) -> None:
    objective, effect = document.study.objective, advice.effect
    gained = None if objective is Metric.THROUGHPUT else advice.gained
    Recommendation.objects.update_or_create(
        study_id=document.study.id,
        device_id=board.device_id,
        workload_id=board.workload_id,
        durability=board.durability,
        defaults={
            "candidate_id": advice.candidate_id,
            "whole_id": advice.whole_id,
            "kind": kind,
            "ratio_to_baseline": effect.ratio,
            "low": effect.low,
            "high": effect.high,
            "confidence": effect.confidence,
            "objective": objective,
            "objective_ratio": gained.ratio if gained else None,
            "objective_low": gained.low if gained else None,
            "objective_high": gained.high if gained else None,
            "noise_floor": noise_floor,
            "confirmation": advice.confirmation,
            "verdict": " ".join(filter(None, texts)),
            "created_at": Now(),
        },
    )
