"""What a study recommends, in a line of a list or in one sentence."""

from __future__ import annotations

from advisor.wording.formatting import NARROW, change_range, percent_change
from advisor.wording.words import certainty, names_beside_figures
from tuning.models import Recommendation, Study
from tuning.statistics.aim import FULL_NAMES
from tuning.statistics.data import Metric


def named_answers(study: Study) -> list[tuple[Recommendation, str]]:
    """Each recommendation with its device's name, "" if the name is not needed."""
    names = names_beside_figures(study.devices.all())
    return [(found, names.get(found.device_id, "")) for found in study.recommendations.all()]


def answer_sentence(found: Recommendation, where: str = "", conditions: str = "") -> str:
    """As "Use big-pool on nvme with durability D1: +23.4 % tpmP (95 %: +11.1 to +34.5 %),
    measurably best, confirmed."; reads its candidate and study.
    """
    name, on = found.candidate.name, f" on {where}" if where else ""
    on += f" with {conditions}" if conditions else ""
    if found.candidate.is_baseline:
        return f"Keep the baseline, {name},{on}: {certainty(found)}.".replace(",:", ":")
    return f"Use {name}{on}: {_effect(found)}, {certainty(found)}."


def _effect(found: Recommendation) -> str:
    if found.objective_ratio is None:
        return f"{percent_change(found.ratio_to_baseline)} tpmP{_within(found.low, found.high)}"
    effect = f"{percent_change(found.objective_ratio)} {FULL_NAMES[Metric(found.objective)]}"
    return f"{effect}{_within(found.objective_low, found.objective_high)}"


def _within(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" (95{NARROW}%: {change_range(low, high)})"
