"""Costs: what a value gives up for speed, other than durability, in a few kinds."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Number
from tuning.catalogue.facts import Evidence, Text, Values


class CostKind(StrEnum):
    """The words that users, files and the API have for a kind of cost; they never change."""

    OBSERVABILITY = "observability"
    RECOVERY_TIME = "recovery-time"
    CHANGE_CAPTURE = "change-capture"
    STATEMENT_DELAY = "statement-delay"
    STEADINESS = "steadiness"
    ISOLATION = "isolation"
    QUERY_LIMITS = "query-limits"


#: The meaning of each kind, for people.
MEANING = {
    CostKind.OBSERVABILITY: "less insight into what the server does",
    CostKind.RECOVERY_TIME: "a longer recovery after a crash",
    CostKind.CHANGE_CAPTURE: "less in the binary log than audits and change capture may need",
    CostKind.STATEMENT_DELAY: "single statements, commits or deadlocks wait on purpose",
    CostKind.STEADINESS: "a speed that may fall when the load changes",
    CostKind.ISOLATION: "transactions see more of each other",
    CostKind.QUERY_LIMITS: "idle transactions are ended by the server",
}


def read_kinds(text: str) -> frozenset[CostKind]:
    """Read "observability, recovery-time"; raises ValueError with the kinds there are."""
    words = [word.strip().lower() for word in text.split(",") if word.strip()]
    if unknown := [word for word in words if word not in set(CostKind)]:
        raise ValueError(f"{unknown[0]!r} is none of {', '.join(CostKind)}")
    return frozenset(map(CostKind, words))


@dataclass(frozen=True, config=STRICT)
class Cost:
    """Values that have a cost, what is lost with them, and who says so.

    It holds for a value in `values`, or for a number above `above`.
    """

    kind: CostKind
    loses: Text
    source: Annotated[str, Field(min_length=5)]
    evidence: Evidence
    values: Values = frozenset()
    above: Number | None = None

    def matches(self, value: str) -> bool:
        """Whether a normalised value has this cost."""
        return value in self.values if self.above is None else float(value) > self.above
