"""Expected failures of deciding: a branch of `benchmarks.errors.ExpectedError`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.counted import counted
from benchmarks.errors import ExpectedError


class TuningError(ExpectedError):
    """An expected failure around configs, studies and results."""

    def __init__(self, code: str, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.field = field


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a config.

    `source` is the name of the file or preset, `line` counts from 1 (None: not about one line),
    `name` is the option as it was written ("" if the line has none).
    """

    source: str
    line: int | None
    name: str
    reason: str

    def __str__(self) -> str:
        where = self.source if self.line is None else f"{self.source}, line {self.line}"
        return f"{where}: {self.name}: {self.reason}" if self.name else f"{where}: {self.reason}"


class InvalidConfig(TuningError):
    """A config was refused; every problem found is in `problems`, in the order of the lines."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        more = len(self.problems) - 1
        tail = f" (and {counted(more, 'more problem')})" if more else ""
        super().__init__("invalid_config", f"{self.problems[0]}{tail}")


class BadRequest(TuningError):
    """The request itself is invalid: a size out of range, nothing to compare."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__("bad_request", message, field=field)


class InvalidRequest(BadRequest):
    """Fields of a request are at fault; `faults` has the path of each and the reason."""

    def __init__(self, faults: Iterable[tuple[str, str]]) -> None:
        self.faults = tuple(faults)
        field, reason = self.faults[0]
        super().__init__(f"{field}: {reason}" if field else reason, field=field)
        self.code = "invalid_request"


class UnknownTemplate(TuningError):
    """There is no study template of that name."""

    def __init__(self, message: str) -> None:
        super().__init__("unknown_template", message, field="template")


class NothingToRecommend(TuningError):
    """The study has no figures to compare."""
