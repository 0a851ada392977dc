"""The gate as its four stages, each with its result: for a study's preparation and for pages.

Values and rules are asked when a config is read (`tuning.configs.config_check.check`), the server
at a trial start (`benchmarks.servers.trial`). Nothing here starts anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from benchmarks.errors import RunFailed
from tuning.catalogue.target import ServerTraits
from tuning.configs.config_check.check import ConfigReport
from tuning.configs.effective.readback import Difference, differences
from tuning.configs.notes import Note
from tuning.errors import Problem


class Stage(StrEnum):
    """The stages, in order."""

    VALUES = "values"
    RULES = "rules"
    SERVER = "server"
    READ_BACK = "read_back"


@dataclass(frozen=True)
class StageResult:
    """The result of one stage; `reached` is False if an earlier stage failed.

    `outcome` is the code of a failed start (benchmarks.outcomes.Outcome), `differences` are values
    that the server changed: shown, not a failure. `seconds` is the time of a trial start.
    """

    stage: Stage
    problems: tuple[Problem, ...] = ()
    notes: tuple[Note, ...] = ()
    differences: tuple[Difference, ...] = ()
    log_tail: str = ""
    seconds: float | None = None
    reached: bool = True
    outcome: str = ""

    @property
    def passed(self) -> bool:
        """Whether it ran and found no problem."""
        return self.reached and not self.problems

    def document(self) -> dict[str, Any]:
        """The result as it is stored with a candidate."""
        return {**asdict(self), "passed": self.passed}


def static_stages(report: ConfigReport) -> tuple[StageResult, ...]:
    """The results of values and rules, which always run."""
    return (
        StageResult(Stage.VALUES, problems=report.value_problems, notes=report.notes),
        StageResult(Stage.RULES, problems=report.rule_problems),
    )


def refused_stages(
    source: str, knobs: Mapping[str, str], failure: RunFailed, line_of: Mapping[str, int]
) -> list[StageResult]:
    """The results of a trial start that failed.

    `line_of` has the lines of the file that the knobs are from, if there is one.
    """
    server = StageResult(
        Stage.SERVER,
        problems=(_start_problem(source, knobs, failure, line_of),),
        log_tail=failure.log_tail,
        outcome=failure.code,
    )
    return [server, StageResult(Stage.READ_BACK, reached=False)]


def started_stages(
    knobs: Mapping[str, str],
    variables: Mapping[str, str],
    target: ServerTraits,
    *,
    log_tail: str,
    seconds: float,
) -> list[StageResult]:
    """The results of a trial start after which the server read these variables back."""
    found = differences(knobs, variables, target)
    return [
        StageResult(Stage.SERVER, log_tail=log_tail, seconds=seconds),
        StageResult(Stage.READ_BACK, differences=tuple(found)),
    ]


def _start_problem(
    source: str, knobs: Mapping[str, str], failure: RunFailed, line_of: Mapping[str, int]
) -> Problem:
    """The server's message, with the line of the knob that it names."""
    said = f"{failure}\n{failure.log_tail}".lower().replace("-", "_")
    words = set(re.findall(r"[a-z_][a-z0-9_]+", said))
    named = [name for name in knobs if name in words]
    if len(named) != 1:
        return Problem(source, None, "", str(failure))
    return Problem(source, line_of.get(named[0]), named[0], str(failure))
