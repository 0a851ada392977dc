"""What a progress bar says of a race and of a search so far: plain columns, no rows."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.models import RunState
from tuning.models import Candidate, SlotPurpose
from tuning.results.run_lines import RunRow, SlotRow
from tuning.statistics.aim import Aim
from tuning.statistics.data import Metric
from tuning.studies.so_far import leader_of, searched_so_far

BASE = "server-default"


def slot(name: str, block: int, tpmP: float | None = 6000.0, **values: Any) -> SlotRow:
    run = RunRow(
        pk=1,
        state=values.pop("state", RunState.OK if tpmP else RunState.QUEUED),
        tpmP=tpmP,
        p95_ms=None if tpmP is None else 300_000 / tpmP,
    )
    facts: dict[str, Any] = dict.fromkeys(SlotRow._fields)
    facts |= {"device_id": 1, "workload_id": 1, "purpose": SlotPurpose.BLOCK, "block": block}
    facts |= {"candidate": Candidate(name=name, is_baseline=name == BASE), "run": run}
    return SlotRow(**facts | values)


def block(number: int, **tpmP: float | None) -> list[SlotRow]:
    """The baseline, twice, and these."""
    found = [slot(BASE, number, 5900.0), slot(BASE, number, 6100.0, replicate=1)]
    return [*found, *(slot(name, number, figure) for name, figure in tpmP.items())]


def pair(number: int, name: str) -> list[SlotRow]:
    return [slot(one, number, purpose=SlotPurpose.CONFIRMATION) for one in (name, BASE)]


def test_the_config_with_the_best_mean_ratio_leads() -> None:
    there = [*block(1, a=6600.0, b=9000.0), *block(2, a=6600.0, b=6000.0), slot("a", 3, None)]
    found = leader_of(there, Aim())
    assert found is not None
    assert (found.name, found.blocks) == ("b", 2)
    assert found.ratio == pytest.approx((9000 * 6000 / (5900 * 6100)) ** 0.5)


@pytest.mark.parametrize(
    "there",
    [
        [],
        block(1, a=9000.0),
        [*block(1, a=5000.0), *block(2, a=5000.0)],
        [*block(1, a=9000.0), *block(2, a=9000.0), slot("a", 3, None, state=RunState.CRASHED)],
        [*block(1, a=9000.0), *block(2, a=9000.0), slot("a", 3, None, state=RunState.CUT_SHORT)],
        [
            *block(1, a=9000.0),
            *block(2, a=9000.0),
            *(one._replace(device_id=2) for one in block(1, a=9000.0)),
        ],
    ],
)
def test_nobody_leads_yet_or_behind_the_baseline_or_elsewhere(there: list[SlotRow]) -> None:
    assert leader_of(there, Aim()) is None


def test_who_is_confirmed_leads_whatever_the_figures_say() -> None:
    """Of tied configs the one with the fewest changes is confirmed, or limits rule one out."""
    there = [*block(1, a=6600.0, b=9000.0), *block(2, a=6600.0, b=9000.0)]
    found = leader_of([*there, *pair(3, "b"), *pair(4, "a")], Aim())
    assert found is not None
    assert found.name == "a"
    extended = leader_of([*there, *pair(3, "a"), *block(4, a=6600.0, b=None)], Aim())
    assert extended is not None
    assert extended.name == "b"


def test_response_times_lead_by_being_short() -> None:
    there = [*block(1, a=6600.0, b=9000.0), *block(2, a=6600.0, b=9000.0)]
    found = leader_of(there, Aim(Metric.P95))
    assert found is not None
    assert (found.name, found.ratio < 1) == ("b", True)


def test_what_misses_a_limit_does_not_lead() -> None:
    """By the median of its runs: one long response time is not enough."""
    late = {("a", 1), ("b", 1), ("b", 2), ("b", 3)}
    there = [
        one._replace(run=one.run._replace(p95_ms=90.0)) if (one.name, one.block) in late else one
        for number in (1, 2, 3)
        for one in block(number, a=6600.0, b=9000.0)
    ]
    limited = leader_of(there, Aim(keep={Metric.P95: 60.0}))
    free = leader_of(there, Aim())
    assert limited is not None
    assert free is not None
    assert (limited.name, free.name) == ("a", "b")


def test_limits_that_the_baseline_misses_are_named_after_its_second_run() -> None:
    aim = Aim(keep={Metric.P95: 40.0, Metric.TPMP: 5000.0})
    rounds = [slot(BASE, number, purpose=SlotPurpose.SEARCH) for number in (1, 2, 3)]
    assert searched_so_far(rounds[:1], aim).missed == ()
    assert searched_so_far(rounds, aim).missed == ("p95 <= 40 ms: 50 ms in 3 runs",)
    assert searched_so_far(rounds, Aim()).missed == ()
