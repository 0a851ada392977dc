"""What taking a winner apart found, in sentences."""

from __future__ import annotations

from collections.abc import Iterable

from tuning.results.apart import LinesEffect, Reduced, TakenApart
from tuning.statistics.confirmation import Confirmation
from tuning.statistics.data import Metric
from tuning.statistics.removal import Reduction, ReductionState, RemovalState, loss_text
from tuning.statistics.verdict import change_text
from tuning.strategy.apart.take_apart import MAX_APART_RUNS

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
    elif apart.is_over and (left_out := lines_text(apart.with_state(RemovalState.NO_EFFECT))):
        texts.append(f"Nothing measurable is lost without {left_out}, but {_why_kept_all(apart)}.")
    if not apart.is_over:
        return texts
    command = f"manage.py study ablation {apart.whole.study_id}"
    if apart.untested and not any(one.blocks for one in apart.effects):
        texts.append(
            f"Its lines were measured together; what each contributes was not tested, because "
            f"{shortage_text(apart)}."
        )
        if apart.is_left:
            texts.append(
                f'The button "Take the winner apart" on the study\'s page, or {command}, measures '
                f"it without some of them, in at most {MAX_APART_RUNS} runs."
            )
        return texts
    if apart.untested:
        names = ", ".join(apart.untested)
        texts.append(f"Not tested on their own, because {shortage_text(apart)}: {names}.")
    if apart.is_left:
        texts.append(f"{command} takes it further apart.")
    return texts


def effect_text(effect: LinesEffect, apart: TakenApart) -> str:
    """What lines contribute, as "+12.3 % tpmP (95 % interval +8.0 to +16.9 %)", else why not."""
    if effect.state is RemovalState.SAME:
        return "the server has the same effective values without"
    if effect.state is RemovalState.UNTESTED:
        why = f"not tested on its own: {shortage_text(apart)}"
        return why if apart.is_over else "not tested on its own yet"
    if effect.ratio is None:
        return effect.reason or "no figure"
    change = change_text(effect.ratio, effect.interval, _OF[apart.metric])
    if effect.state is RemovalState.UNSETTLED:
        return f"{change}; more than {loss_text(apart.margin)} may be lost without"
    return change


def lines_text(effects: Iterable[LinesEffect]) -> str:
    """The names of the lines, separated by commas."""
    return ", ".join(name for one in effects for name in one.names)


def _why_kept_all(apart: TakenApart) -> str:
    """Why lines that contribute nothing are kept: nothing was measured without all of them."""
    without = f"{apart.whole.name} without all of them"
    if apart.no_use:
        return f"{without} cannot be used, so they are kept: {apart.no_use.rstrip('.')}"
    if apart.is_concluded:
        return f"the study was concluded early, before {without} was measured: they are kept"
    return f"{shortage_text(apart)} to measure {without}, so they are kept"


def shortage_text(apart: TakenApart) -> str:
    """Why lines were not tested."""
    if apart.is_concluded:
        return "the study was concluded early"
    if not apart.is_left:
        return f"{MAX_APART_RUNS} runs did not suffice"
    return "the time did not suffice"


def _about_reduced(apart: TakenApart, reduced: Reduced) -> str:
    left_out = ", ".join(reduced.candidate.without)
    found = reduced.found
    if found is None or found.state is ReductionState.UNFINISHED:
        return f"{apart.whole.name} without {left_out} was not measured to the end."
    of = _OF[apart.metric]
    against = f"{_change(found.to_whole, of)} against {apart.whole.name}"
    if reduced.is_advice:
        return (
            f"Taken apart: nothing measurable is lost without {left_out}, so they are left out. "
            f"{reduced.candidate.name}: {_change(found.to_baseline, of)} against the baseline and "
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


def _change(found: Confirmation, of: str) -> str:
    return "no figure" if found.ratio is None else change_text(found.ratio, found.interval, of)
