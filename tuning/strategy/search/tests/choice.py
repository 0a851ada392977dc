"""What a search would take now, for tests and the bench."""

from __future__ import annotations

from tuning.strategy.protocol import History
from tuning.strategy.search.search import Search


def choice(search: Search, history: History) -> str:
    """By its belief, not by the highest figure."""
    found = search.learn(history)
    if found is None or not found.standings[1:]:
        return history.baseline
    return found.ranked(search.effort.doubts)[0].name
