"""Rows of a baseline over months: one study a week on one device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from math import sin
from typing import Any

from advisor.tests import factories
from benchmarks.models import Device, Run
from tuning.models import Study, StudyState

WEEK = timedelta(weeks=1)
NEW_KERNEL: dict[str, Any] = {
    "comparability_key": "b2" * 32,
    "fingerprint": {**factories.FINGERPRINT, "kernel": "6.1.0-40-cloud-amd64"},
}


def weekly(
    device: Device,
    first: datetime,
    levels: Iterable[float],
    *,
    name: str = "Weekly",
    changed: dict[str, Any] | None = None,
    **values: Any,
) -> list[Study]:
    """A study for each level of throughput, the first ending at `first`; with a percent of noise.

    `changed`: columns of all their runs, such as those of `NEW_KERNEL`.
    """
    studies = []
    for number, level in enumerate(levels):
        at = first + number * WEEK
        studies.append(_measured(device, at, _with_noise(level, number), name, changed, values))
    return studies


def _with_noise(level: float, number: int) -> float:
    return level * (1 + 0.005 * sin(7 * number))


def _measured(
    device: Device,
    at: datetime,
    level: float,
    name: str,
    changed: dict[str, Any] | None,
    values: dict[str, Any],
) -> Study:
    def end(run: Run) -> None:
        factories.end_well(run)
        run.throughput = level * (1 + 0.004 * sin(run.slot.order))
        run.p95_ms = 900_000 / run.throughput
        run.server_path_length = 2.4e10 / run.throughput
        run.started_at, run.finished_at = at - timedelta(seconds=26), at
        for column, value in (changed or {}).items():
            setattr(run, column, value)

    facts: dict[str, Any] = {"names": ["server-default"], "blocks": 2}
    return factories.make_study(
        device=device,
        name=name,
        state=StudyState.FINISHED,
        started_at=at - timedelta(minutes=3),
        finished_at=at,
        end=end,
        **(facts | values),
    )


def slower(studies: int, by: float, after: int, level: float = 6000.0) -> Sequence[float]:
    """Levels of which those from place `after` on are lower by the share `by`."""
    return [level * (1 - by * (place >= after)) for place in range(studies)]
