"""Sentences about a regression gate: its limits, its sides, and how a change is rounded."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, isfinite

from benchmarks.counted import counted
from tuning.catalogue.knob import Durability
from tuning.configs.price import may_lose
from tuning.configs.readback import EffectiveSettings, SettingDifference, effective_values
from tuning.statistics.aim import metric_name
from tuning.statistics.gate import MAX_FORESEEN, GateResult, LimitResult, Verdict


def percent_text(value: float | None) -> str:
    """Return a change with one decimal."""
    return "unknown" if value is None else f"{value:+.1f} %"


def verdict_sentences(judged: GateResult, pair_s: float) -> str:
    """Return the limits that decided, or what is missing; `pair_s`: seconds of a pair."""
    shown = [one for one in judged.limits if judged.verdict in (Verdict.PASS, one.verdict)]
    texts = []
    for one in shown:
        missing = f": {_missing(one, pair_s)}" if judged.verdict is Verdict.UNDECIDED else ""
        texts.append(f"{limit_sentence(one)}{missing}.")
    return " ".join(texts)


def limit_sentence(found: LimitResult) -> str:
    """Formatted as `p95 +1.2 % (-0.8 % to +3.1 %), allowed is at most +5 %`."""
    name, allowed = metric_name(found.limit.metric), found.limit.allowed
    if found.ratio is None:
        return f"{name} has {counted(found.pairs, 'pair')} with figures, allowed is {allowed}"
    if found.is_inconsistent:
        change = percent_text(change_percent(found.ratio))
        return (
            f"{name} {change}, allowed is {allowed}; earlier and later pairs contradict each "
            "other, so the host or a server changed during the gate"
        )
    change, low, high = (
        percent_text(change_percent(one)) for one in (found.ratio, found.low, found.high)
    )
    return f"{name} {change} ({low} to {high}), allowed is {allowed}"


def _missing(found: LimitResult, pair_s: float) -> str:
    if found.ratio is None:
        return "too few to tell"
    if found.is_inconsistent:
        return "run the gate again on a steady host"
    if found.pairs_to_decide is None:
        return f"too near the limit to be decided by {MAX_FORESEEN} pairs"
    minutes = ceil(found.pairs_to_decide * pair_s / 60)
    time = f", {counted(minutes, 'minute')} of measuring" if minutes else ""
    return (
        f"undecided after {counted(found.pairs, 'pair')}; about "
        f"{counted(found.pairs_to_decide, 'pair')}{time} would "
        "decide, if the difference is what it looks like"
    )


def change_percent(ratio: float | None) -> float | None:
    """Return the change as it is stored; None also for an end that is not known yet."""
    if ratio is None or not isfinite(ratio) or ratio == 0:
        return None
    return round((ratio - 1) * 100, 2)


def side_sentences(
    candidate: EffectiveSettings,
    baseline: EffectiveSettings,
    differences: Iterable[SettingDifference],
    asked: bool | None,
) -> list[str]:
    """Return how the sides differ apart from what is compared.

    asked: whether both were to write a binary log; None for the servers' own defaults.
    """
    texts = []
    if candidate.durability != baseline.durability:
        lost = [
            f"with the {side} {_losses(ran)}"
            for side, ran in (("candidate", candidate), ("baseline", baseline))
            if ran.durability > Durability.D0
        ]
        texts.append(
            f"The durability differs, {candidate.durability} of the candidate and "
            f"{baseline.durability} of the baseline: {'; '.join(lost)}."
        )
    if candidate.logs != baseline.logs and None not in (candidate.logs, baseline.logs):
        side = "candidate" if candidate.logs else "baseline"
        texts.append(
            f"Only the {side} writes a binary log, so its commits cost more; a gate can have "
            "it on both sides or on none."
        )
    elif asked is not None and candidate.logs == baseline.logs == asked:
        wrote = "Both sides write a" if asked else "Neither side writes a"
        texts.append(f"{wrote} binary log, as was asked for.")
    by_default = [one for one in differences if one.is_default]
    if by_default and candidate.target != baseline.target:
        durable = [one.name for one in by_default if one.is_durability]
        about = f", of durability {', '.join(durable)}" if durable else ""
        differ = counted(len(by_default), "setting", ("differs", "differ"))
        texts.append(f"{differ} by the servers' defaults{about}.")
    return texts


def _losses(ran: EffectiveSettings) -> str:
    shown = effective_values(ran.losses, ran.variables, ran.target)
    return ", ".join(may_lose(name, shown[name], lost) for name, lost in ran.losses.items())
