"""The recommendation of a study, in a line of a list or in one sentence."""

from __future__ import annotations

from advisor.wording.formatting import change_range, confidence_text, percent_change
from advisor.wording.words import certainty, certainty_text, names_beside_figures
from benchmarks.counted import counted
from tuning.models import DurabilityClass, Recommendation, Study
from tuning.results.document import Board, StudyDocument
from tuning.statistics.aim import FULL_NAMES
from tuning.statistics.data import Metric


def named_answers(study: Study) -> list[tuple[Recommendation, str]]:
    """Each recommendation with its device's name, "" if the name is not needed."""
    names = names_beside_figures(study.devices.all())
    return [(found, names.get(found.device_id, "")) for found in study.recommendations.all()]


def answer_sentence(found: Recommendation, where: str = "") -> str:
    """As "Use big-pool on nvme: +23.4 % throughput (96 %: +11.1 to +34.5 %), measurably best,
    confirmed."; reads its candidate and study.
    """
    metric, ratio = Metric.THROUGHPUT, found.ratio_to_baseline
    low, high = found.low, found.high
    if found.objective_ratio is not None:
        metric, ratio = Metric(found.objective), found.objective_ratio
        low, high = found.objective_low, found.objective_high
    effect = _effect_text(metric, ratio, low, high, found.confidence)
    on = f" on {where}" if where else ""
    candidate = found.candidate
    return _sentence(candidate.name, on, effect, certainty(found), keeps=candidate.is_baseline)


def answer_of(document: StudyDocument, board: Board) -> str:
    """The sentence of a board's recommendation, with what tells it from the study's others."""
    found = board.recommendation
    if found is None:
        return ""
    metric, effect = Metric.THROUGHPUT, found.effect
    if found.objective_effect is not None:
        metric, effect = found.objective, found.objective_effect
    says = _effect_text(metric, effect.ratio, effect.low, effect.high, effect.confidence)
    where = document.short_names[board.device_id]
    on = f" on {where}" if board.device_id in document.named_devices else ""
    conditions = []
    if len(document.workloads) > 1:
        connections = document.workload[board.workload_id].connections
        conditions.append(counted(connections, "connection"))
    if board.durability != DurabilityClass.D0:
        conditions.append(f"durability {board.durability}")
    on += f" with {' and '.join(conditions)}" if conditions else ""
    sure = certainty_text(found.kind, found.confirmation, confirms=document.study.confirms)
    candidate = document.candidate[found.candidate_id]
    return _sentence(candidate.name, on, says, sure, keeps=candidate.is_baseline)


def _sentence(name: str, on: str, effect: str, certain: str, *, keeps: bool) -> str:
    if keeps:
        return f"Keep the baseline, {name},{on}: {certain}.".replace(",:", ":")
    return f"Use {name}{on}: {effect}, {certain}."


def _effect_text(
    metric: Metric,
    ratio: float,
    low: float | None,
    high: float | None,
    confidence: float | None,
) -> str:
    effect = f"{percent_change(ratio)} {FULL_NAMES[metric]}"
    if low is None or high is None:
        return effect
    return f"{effect} ({confidence_text(confidence)}: {change_range(low, high)})"
