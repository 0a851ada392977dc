"""One of something is not said as several, nor is what it does."""

from __future__ import annotations

import pytest

from benchmarks.counted import WERE, counted


@pytest.mark.parametrize(
    ("number", "alone", "with_verb"),
    [
        (0, "0 runs", "0 runs were"),
        (1, "1 run", "1 run was"),
        (2, "2 runs", "2 runs were"),
    ],
)
def test_nouns_and_verbs_follow_the_number(number: int, alone: str, with_verb: str) -> None:
    assert counted(number, "run") == alone
    assert counted(number, "run", WERE) == with_verb
