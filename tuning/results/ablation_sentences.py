"""Sentences about the ablation of a winner."""

from __future__ import annotations

from collections.abc import Iterator

from tuning.results.document import Ablation, CandidateFacts, Reduced, StudyDocument
from tuning.statistics.data import Metric
from tuning.statistics.estimate import Estimate
from tuning.statistics.removal import ReductionState, RemovalState, loss_text
from tuning.strategy.ablation.ablate import MAX_ABLATION_RUNS

_OF = {
    Metric.THROUGHPUT: "throughput",
    Metric.P95: "p95 response time",
    Metric.SERVER_PATH_LENGTH: "CPU cycles per transaction",
}


def ablation_sentences(document: StudyDocument, found: Ablation) -> Iterator[str]:
    """Yield for the verdict which lines were left out and why, and which were not tested."""
    whole = document.candidate[found.whole_id]
    if found.reduced is not None:
        reduced = document.candidate[found.reduced.candidate_id]
        yield _about_reduced(found, found.reduced, whole, reduced)
    elif found.is_over and (left_out := _names(found, RemovalState.NO_EFFECT)):
        why = _why_kept_all(found, whole.name)
        yield f"Nothing measurable is lost without {', '.join(left_out)}, but {why}."
    if not found.is_over:
        return
    command = f"manage.py study ablation {document.study.id}"
    untested = _names(found, RemovalState.UNTESTED)
    if untested and not any(one.blocks for one in found.effects):
        yield (
            f"Its lines were measured together; none was tested separately, because "
            f"{found.shortage}."
        )
        if found.is_left:
            yield (
                f'The button "Test each line" on the study\'s page, or {command}, measures '
                f"it without some of them, in at most {MAX_ABLATION_RUNS} runs."
            )
        return
    if untested:
        yield f"Not tested separately, because {found.shortage}: {', '.join(untested)}."
    if found.is_left:
        yield f"{command} tests the others."


def effect_text(estimate: Estimate | None, metric: Metric) -> str:
    """Return the change as "+12.3 % throughput (95 % interval +8.0 to +16.9 %)"."""
    if estimate is None:
        return "no figure"
    return estimate.change(_OF[metric])


def shortage_text(*, is_concluded: bool, is_left: bool) -> str:
    """Return why lines were not tested."""
    if is_concluded:
        return "the study was concluded early"
    return "there was no time left" if is_left else f"{MAX_ABLATION_RUNS} runs were not enough"


def _names(found: Ablation, state: RemovalState) -> list[str]:
    return [name for one in found.effects if one.state == state for name in one.names]


def _why_kept_all(found: Ablation, whole: str) -> str:
    """Return why lines that contribute nothing are kept: nothing was measured without them."""
    without = f"{whole} without all of them"
    if found.no_use:
        return f"{without} cannot be used, so they are kept: {found.no_use.rstrip('.')}"
    if found.is_concluded:
        return f"the study was concluded early, before {without} was measured: they are kept"
    return f"{found.shortage} to measure {without}, so they are kept"


def _about_reduced(
    found: Ablation, reduced: Reduced, whole: CandidateFacts, candidate: CandidateFacts
) -> str:
    left_out = ", ".join(candidate.without)
    if reduced.state not in set(ReductionState) - {ReductionState.UNFINISHED}:
        return f"{whole.name} without {left_out} was not measured to the end."
    against = f"{effect_text(reduced.to_whole, found.metric)} against {whole.name}"
    if reduced.is_advice:
        lead = effect_text(reduced.to_baseline, found.metric)
        return (
            f"Lines tested: nothing measurable is lost without {left_out}, so they are left out. "
            f"{candidate.name}: {lead} against the baseline and {against}, in {reduced.rounds} "
            f"fresh rounds; at most {loss_text(found.margin)} may be lost."
        )
    why = {
        ReductionState.NOT_CONFIRMED: "the config without is not measurably better than the "
        "baseline",
        ReductionState.LOSES: f"without, more than {loss_text(found.margin)} may be lost: "
        f"{against}",
        ReductionState.VERIFIED: "without, a run failed or a limit was missed",
    }
    return f"Lines tested: {left_out} kept, because {why[ReductionState(reduced.state)]}."
