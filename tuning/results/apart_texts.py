"""What taking a winner apart found, in sentences."""

from __future__ import annotations

from collections.abc import Iterable

from tuning.results.apart import LinesEffect, Reduced, TakenApart
from tuning.statistics.confirmation import Confirmation
from tuning.statistics.data import Metric
from tuning.statistics.removal import Reduction, ReductionState, RemovalState, loss_text
from tuning.statistics.verdict import interval_text

_OF = {
    Metric.TPMP: "tpmP",
    Metric.P95: "p95 response time",
    Metric.SERVER_PATH_LENGTH: "CPU cycles per New-Order",
}


def apart_sentences(apart: TakenApart) -> list[str]:
    """For the verdict: what was left out and why, and what could not be tested."""
    texts = []
    if apart.reduced is not None:
        texts.append(_about_reduced(apart, apart.reduced))
    elif left_out := lines_text(apart.with_state(RemovalState.NO_EFFECT)):
        texts.append(
            f"Nothing measurable is lost without {left_out}, but the time did not suffice to "
            f"measure {apart.whole.name} without them, so they are kept."
        )
    if apart.untested:
        names = ", ".join(apart.untested)
        texts.append(
            f"Not tested on their own, because the time did not suffice: {names}; manage.py study "
            f"take-apart {apart.whole.study_id} does that."
        )
    return texts


def effect_text(effect: LinesEffect, metric: Metric, margin: float) -> str:
    """What some lines bring, as "+12.3 % tpmP (95 % interval +8.0 to +16.9 %)", else why not."""
    if effect.state is RemovalState.SAME:
        return "the server has the same effective values without"
    if effect.state is RemovalState.UNTESTED:
        return "not tested on its own: the time did not suffice"
    if effect.ratio is None:
        return effect.reason or "no figure"
    spread = f" ({interval_text(effect.interval)})" if effect.interval else ""
    change = f"{(effect.ratio - 1) * 100:+.1f} % {_OF[metric]}{spread}"
    if effect.state is RemovalState.UNSETTLED:
        return f"{change}; more than {loss_text(margin)} may be lost without"
    return change


def lines_text(effects: Iterable[LinesEffect]) -> str:
    """The names of the lines, separated by commas."""
    return ", ".join(name for one in effects for name in one.names)


def _about_reduced(apart: TakenApart, reduced: Reduced) -> str:
    left_out = ", ".join(reduced.candidate.without)
    found = reduced.found
    if found is None or found.state is ReductionState.UNFINISHED:
        return f"{apart.whole.name} without {left_out} was not measured to the end."
    against = f"{_change(found.to_whole)} against {apart.whole.name}"
    if reduced.is_advice:
        return (
            f"Taken apart: nothing measurable is lost without {left_out}, so they are left out. "
            f"{reduced.candidate.name}: {_change(found.to_baseline)} against the baseline and "
            f"{against}, in {reduced.rounds} fresh rounds; at most {loss_text(apart.margin)} may "
            "be lost."
        )
    return f"Taken apart: {left_out} kept, because {_why_kept(apart, found, against)}."


def _why_kept(apart: TakenApart, found: Reduction, against: str) -> str:
    if found.state is ReductionState.NOT_CONFIRMED:
        return "the config without is not measurably better than the baseline"
    if found.state is ReductionState.LOSES:
        return f"without, more than {loss_text(apart.margin)} may be lost: {against}"
    return "without, a run failed or a limit was missed"


def _change(found: Confirmation) -> str:
    spread = f" ({interval_text(found.interval)})" if found.interval else ""
    return "no figure" if found.ratio is None else f"{(found.ratio - 1) * 100:+.1f} %{spread}"
