"""The sentence of a board on which all but the baseline failed."""

from __future__ import annotations

from benchmarks.models import RunState
from tuning.models import Candidate
from tuning.results.sentences import all_failed_text

REFUSED = Candidate(name="z", refusal="unknown variable")


def said(failed: dict[str, tuple[str, str]], *more: Candidate) -> str:
    return all_failed_text("base", [*(Candidate(name=name) for name in "abcd"), *more], failed)


def crashed(reason: str) -> tuple[str, str]:
    return RunState.CRASHED, reason


def test_the_same_reason_is_said_once_and_only_the_first_few() -> None:
    alike = {name: crashed("signal 11.") for name in "abcd"}
    assert said(alike, REFUSED) == (
        "Nothing to compare with base: every other candidate failed. "
        "a, b, c, d: server crashed (signal 11); z: refused (unknown variable). "
        "Each failed run has the last lines of its log."
    )
    text = said({name: crashed(f"signal {name}") for name in "abcd"}, REFUSED)
    assert "c: server crashed (signal c); 2 other reasons. Each" in text


def test_where_one_did_not_fail_or_nothing_ran_it_says_nothing() -> None:
    assert not said({name: crashed("") for name in "abc"})
    assert not all_failed_text("base", [REFUSED], {})
    assert not all_failed_text("base", [], {})
