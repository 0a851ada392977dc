"""Changes of a level as rows of a table, for the histories of baselines and of gates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from advisor.wording import addresses
from tuning.comparison.baseline_history import Shift
from tuning.results.gate_history import LevelChange
from tuning.statistics.aim import FULL_NAMES
from tuning.statistics.change_points import Level

HOST_CHANGED = "The baseline, the same config throughout, changed alike: the host has changed."


@dataclass(frozen=True)
class ShiftRow:
    """`since`: the first study or gate with the new level, and its page."""

    figure: str
    is_better: bool
    at: datetime
    since: str
    url: str
    level: Level
    before: int
    note: str = ""


def baseline_rows(shifts: Iterable[Shift]) -> list[ShiftRow]:
    """Newest first."""
    rows = [
        _row(
            one,
            one.since.at,
            one.since.name,
            study_url(one.since.study, is_gate=one.since.is_gate),
        )
        for one in shifts
    ]
    return sorted(rows, key=lambda row: row.at, reverse=True)


def gate_rows(changes: Iterable[LevelChange]) -> list[ShiftRow]:
    """Newest first."""
    rows = [
        _row(
            one,
            one.since.created_at,
            f"gate {one.since.pk}",
            study_url(one.since.pk, is_gate=True),
            HOST_CHANGED if one.is_of_the_host else "",
        )
        for one in changes
    ]
    return sorted(rows, key=lambda row: row.at, reverse=True)


def study_url(pk: int, *, is_gate: bool) -> str:
    return addresses.gate_url(pk) if is_gate else addresses.study_url(pk)


def _row(one: Shift | LevelChange, at: datetime, since: str, url: str, note: str = "") -> ShiftRow:
    is_better = (one.level.ratio > 1) == one.metric.more_is_better
    return ShiftRow(FULL_NAMES[one.metric], is_better, at, since, url, one.level, one.before, note)
