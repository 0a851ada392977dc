"""The sentence of a board on which all but the baseline failed."""

from __future__ import annotations

from tuning.models import Candidate
from tuning.results.sentences import all_failed_text

REFUSED = Candidate(name="z", refusal="unknown variable")


def text_of(failed: str, *more: Candidate) -> str:
    others = [*more, *(Candidate(name=name) for name in "abcd")]
    return all_failed_text("base", others, dict.fromkeys(failed, "crashed (signal 11)"))


def test_the_first_reasons_are_named() -> None:
    assert text_of("abcd", REFUSED) == (
        "Nothing to compare with base: every other candidate failed. "
        "z: refused (unknown variable); a: crashed (signal 11); b: crashed (signal 11); 2 more. "
        "Each failed run has the last lines of its log."
    )


def test_where_one_did_not_fail_or_nothing_ran_it_says_nothing() -> None:
    assert not text_of("abc")
    assert not all_failed_text("base", [REFUSED], {})
    assert not all_failed_text("base", [], {})
