"""What `make bench-faults` looks for is found when it is there."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from advisor.tests.fault_storm import checks
from advisor.tests.fault_storm.faults import Fault
from advisor.tests.fault_storm.storm import Strike
from benchmarks.outcomes import Outcome

KILLED = Fault("server killed", "host", lambda *_: True)
CUT = Fault("network cut", "host", lambda *_: True)


def run(number: int, state: str = "ok", retry_of: int | None = None) -> dict[str, Any]:
    reason = "" if state == "ok" else f"it is {state}"
    return {"id": number, "state": state, "reason": reason, "retry_of_id": retry_of}


def verdict(study: int, name: str, kind: str | None, candidate: str) -> dict[str, Any]:
    ended = {"state": "finished" if kind else "failed", "reason": "" if kind else "why"}
    return {"id": study, "name": name, "kind": kind, "candidate": candidate, **ended}


@pytest.fixture
def rows() -> dict[str, list[dict[str, Any]]]:
    """By query. Two studies with nothing wrong: run 2 was lost and is measured again as run 3."""
    return {
        checks.RUNS: [run(1), run(2, "lost"), run(3, retry_of=2)],
        checks.SLOTS: [{"study_id": 1, "order": 1, "run_id": 1}, {"study_id": 2, "run_id": 3}],
        checks.VERDICTS: [
            verdict(1, "A/A", "no_difference", "server-default"),
            verdict(2, "A/B", "winner", "mine"),
        ],
    }


def found(rows: dict[str, list[dict[str, Any]]], **more: Any) -> str:
    scene: Any = SimpleNamespace(
        place=SimpleNamespace(rows=rows.__getitem__),
        asks={"db1": "A/A", "db2": "A/B"},
        fakes=more.get("fakes", ["db1", "db2"]),
        wrong_answers=more.get("wrong_answers", Counter()),
    )
    watch: Any = SimpleNamespace(kept=more.get("kept", {1, 3}))
    return "\n".join(checks.wrong_to_see(scene, watch))


def test_a_run_that_is_not_counted_once_is_found(rows: dict[str, list[dict[str, Any]]]) -> None:
    assert found(rows) == ""
    whole = list(rows[checks.RUNS])
    cases: list[tuple[list[dict[str, Any]], str]] = [
        ([run(1), run(2), run(3, retry_of=2)], "has 2 counted runs"),
        ([run(1), run(2, "lost"), run(3, "lost", retry_of=2)], "has 0 counted runs"),
        ([run(1), run(2), run(3, "lost", retry_of=2)], "has 1 counted runs"),
        ([*whole, run(4, "lost")], "run 4 belongs to no slot"),
        ([run(1), run(2, "crashed"), run(3, retry_of=2)], "run 2 is crashed: it is crashed"),
        ([run(1), run(2, "lost") | {"reason": ""}, run(3, retry_of=2)], "without a reason"),
    ]
    for runs, says in cases:
        rows[checks.RUNS] = runs
        assert says in found(rows)
    rows[checks.RUNS] = whole
    rows[checks.SLOTS].append({"study_id": 2, "order": 2, "run_id": None})
    assert "has 0 counted runs" in found(rows)


def test_a_result_that_was_kept_and_lost_is_found(rows: dict[str, list[dict[str, Any]]]) -> None:
    assert "run 2 was measured and kept, and is lost" in found(rows, kept={1, 2, 3})
    assert "run 9 was measured and kept, and is None" in found(rows, kept={1, 3, 9})
    # Who sees no results would find none of them lost.
    assert "of 2 results only 0 were seen" in found(rows, kept=set())


def test_another_verdict_is_found(rows: dict[str, list[dict[str, Any]]]) -> None:
    whole = list(rows[checks.VERDICTS])
    cases: list[tuple[dict[str, Any], bool, bool]] = [
        # Whether stand-ins and real servers may say so.
        (verdict(3, "A/A", "winner", "mine"), False, False),
        (verdict(3, "A/A", "baseline_best", "server-default"), False, True),
        (verdict(3, "A/B", "no_difference", "server-default"), False, True),
        (verdict(3, "A/B", "baseline_best", "server-default"), False, False),
        (verdict(3, "A/B", None, ""), False, False),
        (verdict(3, "A/B", "winner", "mine"), True, True),
    ]
    for one, of_stand_ins, of_servers in cases:
        rows[checks.VERDICTS] = [*whole, one]
        assert ("study 3" not in found(rows)) == of_stand_ins
        assert ("study 3" not in found(rows, fakes=[])) == of_servers
    rows[checks.VERDICTS] = whole[:1]
    assert found(rows) == "no study ended: A/B"
    answers = Counter({"GET /: 500 Internal error": 2})
    assert "answered 2 times: GET /: 500" in found(rows, wrong_answers=answers)


def test_a_storm_that_did_nothing_is_found(rows: dict[str, list[dict[str, Any]]]) -> None:
    storm: Any = SimpleNamespace(
        kinds=[KILLED, CUT],
        strikes=[Strike(KILLED, "db1", 0.0)],
        scene=SimpleNamespace(place=SimpleNamespace(rows=rows.__getitem__)),
    )
    assert checks.not_felt(storm) == ["it never came: network cut", "no run is disk_full"]
    storm.strikes.append(Strike(CUT, "db1", 1.0))
    rows[checks.RUNS].append(run(4, Outcome.DISK_FULL))
    assert checks.not_felt(storm) == []
