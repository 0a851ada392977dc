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

    effect: on throughput. gained: what it gained of the objective, where that is another metric.
    whole_id: the confirmed winner, if the candidate is that without some of its lines.
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
    ablation, advice = board.ablation, _with_all_lines(document, board)
    reduced = ablation.reduced if ablation else None
    if ablation is None or reduced is None or advice.candidate_id != ablation.whole_id:
        return advice
    if not reduced.is_advice or reduced.throughput is None:
        return advice
    return Advice(
        candidate_id=reduced.candidate_id,
        effect=reduced.throughput,
        confirmation=advice.confirmation,
        gained=_gained(document, reduced.to_baseline),
        whole_id=ablation.whole_id,
    )


def _with_all_lines(document: StudyDocument, board: Board) -> Advice:
    winner, by_throughput = board.leader_id, board.advice
    if document.study.objective is not Metric.THROUGHPUT:
        by_throughput = board.rankings[Metric.THROUGHPUT]
    standing = by_throughput.standing(winner) if winner is not None else None
    if winner is None or standing is None or standing.estimate is None:
        return Advice(board.baseline_id)
    if not document.study.confirms:
        decided = board.advice.standing(winner)
        gained = _gained(document, decided.estimate if decided else None)
        return Advice(winner, standing.estimate, gained=gained)
    found = next(one for one in board.confirmations if one.candidate_id == winner)
    if found.state != ConfirmationState.CONFIRMED or found.throughput is None:
        return Advice(board.baseline_id, KEPT, found.state)
    gained = _gained(document, found.estimate)
    return Advice(winner, found.throughput, found.state, gained)


def _gained(document: StudyDocument, found: Estimate | None) -> Estimate | None:
    return None if document.study.objective is Metric.THROUGHPUT else found


def _baseline(document: StudyDocument, board: Board) -> str:
    return document.candidate[board.baseline_id].name


def store_recommendations(study: Study, *, had_finalists: bool = False) -> None:
    """Store the recommendation of every board that has a figure of the baseline.

    `had_finalists`: whether a search that raced nothing had configs to race; its time ran out.
    Raises NothingToRecommend if none has one: then no candidate can be called better or worse.
    """
    document = build(StudyRows(study), is_over=True)
    judged = [board for board in document.boards if _has_baseline(document, board)]
    if not judged:
        raise _nothing_to_recommend(document)
    for board in judged:
        if study.search is not None and not board.is_raced:
            _store_nothing_found(study, document, board, had_finalists=had_finalists)
            continue
        advice, found = advise(document, board), board.advice
        texts = _sentences(study, document, board, advice)
        verdict = " ".join(text for text in texts if text)
        _store(study, board, advice, found.verdict.kind, found.noise_floor, verdict)


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
    is_baseline = advice.candidate_id == board.baseline_id
    yield board.advice.verdict.sentence
    if advice.confirmation:
        yield from ablation_sentences(document, board.ablation) if board.ablation else ()
    elif not is_baseline:
        yield UNCONFIRMED
    if advice.gained is not None:
        yield f"Its throughput changed by {advice.effect.change()}."
    others = {row.candidate_id for row in board.rows} - {board.baseline_id}
    refused = {pk for pk in others if document.candidate[pk].refusal}
    if board.failed and others - refused - {*board.failed}:
        names = ", ".join(document.candidate[pk].name for pk in board.failed)
        yield f"Not considered because of failed runs: {names}."
    yield from _about_limits(document, board, advice)
    if study.concluded_at is not None:
        yield f"{CONCLUDED.capitalize()}."
    yield time_sentence(study, document, board)
    for pk in dict.fromkeys([advice.candidate_id, board.baseline_id]):
        yield from (one.sentence for one in board.crash_tests if one.candidate_id == pk)
    yield board.debt_sentence
    yield document.quality.sentence


def _about_limits(document: StudyDocument, board: Board, advice: Advice) -> Iterator[str]:
    """Yield which candidates miss a limit of the user, and whether the recommended one does."""
    missed = {row.candidate_id: row.missed for row in board.rows if row.missed}
    # A reduced config has no row.
    late = {one.candidate_id: one.too_slow for one in board.crash_tests if one.too_slow}
    missed = late | missed
    own = missed.pop(board.baseline_id, "")
    if missed:
        names = "; ".join(f"{document.candidate[pk].name} ({missed[pk]})" for pk in missed)
        yield f"Not considered because of missed limits: {names}."
    if own:
        kept = advice.candidate_id == board.baseline_id
        none = ", and no config in the study meets the limits" if kept else ""
        yield f"{_baseline(document, board)} itself misses {own}{none}."


def time_sentence(study: Study, document: StudyDocument, board: Board) -> str:
    """Return what was left out on a board because the minutes were used up; "" for nothing.

    A study with a budget or an extension has as many blocks as fit.
    """
    if not study.has_end or study.concluded_at is not None:
        return ""
    begun = len({run.block for run in document.board_runs(board, "block")})
    racing = sum(row.left is None for row in board.rows) - 1
    is_decided = racing == 0 or (study.races and racing == 1 and begun >= FIRST_DECISION)
    parts = []
    if begun < study.blocks and not is_decided:
        parts.append(f"{begun} of {counted(study.blocks, 'block')} {WERE[begun != 1]} measured")
    if void := _not_measured_again(document, board):
        parts.append(f"{counted(void, 'disturbed run', WERE)} not measured again")
    if not parts:
        return ""
    minutes = counted(study.minutes or 0, "minute")
    return (
        f"Its {minutes} were not enough for all: {' and '.join(parts)}. "
        "Extend the study to measure more."
    )


def _not_measured_again(document: StudyDocument, board: Board) -> int:
    """Count the disturbed runs that were not measured as often as they may be."""
    times = Counter(run.order for run in document.runs if run.state == RunState.DISTURBED)
    return sum(
        run.state == RunState.DISTURBED and times[run.order] <= settings.DISTURBED_RUN_RETRIES
        for run in document.board_runs(board, "block", "confirmation")
    )


def _store_nothing_found(
    study: Study, document: StudyDocument, board: Board, *, had_finalists: bool
) -> None:
    """Store that a search which took nothing into a race keeps the baseline."""
    ours = [one for one in document.candidates if not one.is_baseline]
    unfit = sum(bool(one.refusal) for one in ours)
    same = sum(one.merged_into_id is not None for one in ours)
    here = [run for run in document.newest_runs if (run.device_id, run.workload_id) == board.place]
    looked = len({run.candidate_id for run in here} - {board.baseline_id})
    said = [f"{counted(looked, 'config', WERE)} measured"]
    said += [f"{unfit} refused"] if unfit else []
    said += [f"{same} the same as others"] if same else []
    kind, head = VerdictKind.NOTHING_FOUND, "The search found nothing better"
    if not (document.search and document.search.has_figures):
        kind, head = VerdictKind.NOTHING_TO_COMPARE, "The search could compare nothing"
        name = metric_name(document.study.objective)
        why = f"none could be compared, because runs have no figure of {name}"
        said += [why] if looked else []
    elif had_finalists:
        kind = VerdictKind.TIME_RAN_OUT
        head = "The search ended without a race"
        said += ["the time ran out before the best could race"]
    else:
        said += ["none looked good enough for a race"]
    said += [CONCLUDED] if study.concluded_at else []
    texts = [f"{head}: keep {_baseline(document, board)} ({'; '.join(said)})."]
    texts += _limits_of_search(Aim.from_json(study.search or {}), document, board, here)
    _store(study, board, Advice(board.baseline_id), kind, None, " ".join(texts))


def _limits_of_search(
    aim: Aim, document: StudyDocument, board: Board, screened: Iterable[RunFacts]
) -> Iterator[str]:
    """Yield how many configs kept the limits, whether the baseline did, and its recovery."""
    baseline = _baseline(document, board)
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
    missed = [*missed_texts(aim, runs.get(board.baseline_id, []))]
    missed += [one.too_slow for one in board.crash_tests if one.candidate_id == board.baseline_id]
    if missed := [text for text in missed if text]:
        yield f"{baseline} itself misses {'; '.join(missed)}."
    for test in board.crash_tests:
        if test.candidate_id == board.baseline_id:
            yield test.sentence


def _store(
    study: Study,
    board: Board,
    advice: Advice,
    kind: str,
    noise_floor: float | None,
    verdict: str,
) -> None:
    effect, gained = advice.effect, advice.gained
    Recommendation.objects.update_or_create(
        study=study,
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
            "objective": Aim.from_json(study.search or {}).objective,
            "objective_ratio": gained.ratio if gained else None,
            "objective_low": gained.low if gained else None,
            "objective_high": gained.high if gained else None,
            "noise_floor": noise_floor,
            "confirmation": advice.confirmation,
            "verdict": verdict,
            "created_at": Now(),
        },
    )
