"""Why nothing is left to compare with the baseline: all other candidates failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from benchmarks.counted import counted
from tuning.models import Candidate
from tuning.results.slot_rows import RunRow

MAX_REASONS = 3


def all_failed_text(
    baseline: str, others: Iterable[Candidate], failed: Mapping[str, RunRow]
) -> str:
    """All other candidates failed, with the first few reasons; "" if that is not the case.

    `failed`: by name of a candidate a run that its config may have broken. What the gate refused
    has no run.
    """
    reasons: dict[str, list[str]] = {}
    for one in others:
        if one.refusal:
            why = f"refused ({one.refusal})"
        elif run := failed.get(one.name):
            why = run.label.lower() + (f" ({run.reason.rstrip('.')})" if run.reason else "")
        else:
            return ""
        reasons.setdefault(why, []).append(one.name)
    if not failed:
        return ""
    said = [f"{', '.join(names)}: {why}" for why, names in reasons.items()]
    more = len(said) - MAX_REASONS
    said[MAX_REASONS:] = [f"{counted(more, 'other reason')}"] if more > 0 else []
    return (
        f"Nothing to compare with {baseline}: every other candidate failed. {'; '.join(said)}. "
        "Each failed run has the last lines of its log."
    )
