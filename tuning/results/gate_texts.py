"""The reason of a gate's verdict, in plain sentences."""

from __future__ import annotations

from math import ceil, isfinite

from benchmarks.counted import counted
from tuning.export.gate_files import percent_text
from tuning.statistics.aim import metric_name
from tuning.statistics.gate import (
    MAX_FORESEEN,
    GateResult,
    LimitResult,
    Verdict,
)


def reason_of(judged: GateResult, fault: str, pair_s: float) -> str:
    """What decided, or what is missing; `pair_s` are the seconds of a pair."""
    if fault:
        return f"{fault[0].upper()}{fault[1:]}."
    if judged.verdict is Verdict.FAIL:
        failed = [one for one in judged.limits if one.verdict is Verdict.FAIL]
        return " ".join(f"{limit_sentence(one)}." for one in failed)
    if judged.verdict is Verdict.PASS:
        return " ".join(f"{limit_sentence(one)}." for one in judged.limits)
    opened = [one for one in judged.limits if one.verdict is Verdict.UNDECIDED]
    return " ".join(f"{limit_sentence(one)}: {_what_it_takes(one, pair_s)}." for one in opened)


def limit_sentence(found: LimitResult) -> str:
    """As `p95 +1.2 % (-0.8 % to +3.1 %), allowed is at most +5 %`."""
    name, allowed = metric_name(found.limit.metric), found.limit.allowed
    if found.ratio is None:
        return f"{name} has {counted(found.pairs, 'pair')} with figures, allowed is {allowed}"
    change, low, high = (
        percent_text(change_percent(one)) for one in (found.ratio, found.low, found.high)
    )
    return f"{name} {change} ({low} to {high}), allowed is {allowed}"


def _what_it_takes(found: LimitResult, pair_s: float) -> str:
    if found.ratio is None:
        return "too few to tell"
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
    """As it is stored and, rounded once more, said; None also for an end that is not known yet."""
    if ratio is None or not isfinite(ratio) or ratio == 0:
        return None
    return round((ratio - 1) * 100, 2)
