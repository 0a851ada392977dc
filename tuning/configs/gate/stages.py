"""The gate as its four stages, each with its result: for a study's preparation and for pages.

Values and rules come from the import report (`tuning.configs.files.imports`,
`tuning.configs.gate.check`), the part of the server from a trial start
(`benchmarks.servers.trial`). Nothing here starts anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.errors import RunFailed
from benchmarks.servers.trial import Trial
from tuning.configs.files.imports import ImportReport
from tuning.configs.gate.readback import Difference, differences
from tuning.configs.notes import Note
from tuning.errors import Problem


class Stage(StrEnum):
    """What is asked, in this order."""

    VALUES = "values"
    RULES = "rules"
    SERVER = "server"
    READ_BACK = "read_back"


@dataclass(frozen=True)
class StageResult:
    """The answer of one stage; `reached` is False where an earlier one kept it from being asked.

    `outcome` is the code of a failed start (benchmarks.outcomes.Outcome), `differences` are what
    the server made of the config: shown, and no failure. `seconds` is the time of a trial start.
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
        """Whether it was asked and found nothing wrong."""
        return self.reached and not self.problems


def check_in_stages(
    report: ImportReport, trial: Trial | RunFailed | None = None
) -> list[StageResult]:
    """The four results for one config; `trial` is what `try_config` gave or raised.

    None stands for a start that was not made, which leaves the last two stages unreached. Values
    and rules are both always asked.
    """
    values = StageResult(Stage.VALUES, problems=report.value_problems, notes=report.notes)
    rules = StageResult(Stage.RULES, problems=report.rule_problems)
    if trial is None:
        return [values, rules, _unreached(Stage.SERVER), _unreached(Stage.READ_BACK)]
    if isinstance(trial, RunFailed):
        server = StageResult(
            Stage.SERVER,
            problems=(_start_problem(report, trial),),
            log_tail=trial.log_tail,
            outcome=trial.code,
        )
        return [values, rules, server, _unreached(Stage.READ_BACK)]
    found = differences(report.knobs, trial.variables, report.target)
    return [
        values,
        rules,
        StageResult(Stage.SERVER, log_tail=trial.log_tail, seconds=trial.seconds),
        StageResult(Stage.READ_BACK, differences=tuple(found)),
    ]


def _unreached(stage: Stage) -> StageResult:
    return StageResult(stage, reached=False)


def _start_problem(report: ImportReport, failure: RunFailed) -> Problem:
    """What the server said, with the line of the knob that it named."""
    said = f"{failure}\n{failure.log_tail}".lower().replace("-", "_")
    words = set(re.findall(r"[a-z_][a-z0-9_]+", said))
    named = [name for name in report.knobs if name in words]
    if len(named) != 1:
        return Problem(report.source, None, "", str(failure))
    lines = [
        line.line
        for line in report.lines
        if line.line and named[0] in (line.name, *(name for name, _ in line.became))
    ]
    return Problem(report.source, lines[-1] if lines else None, named[0], str(failure))
