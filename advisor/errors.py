"""Expected failures of processes and databases: a branch of `ExpectedError`."""

from __future__ import annotations

from benchmarks.errors import ExpectedError


class AdvisorError(ExpectedError):
    """An expected failure of the programs around a study."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ProcessFailed(AdvisorError):
    """Redis, the worker or the web server could not be started or did not stay up."""


class DatabaseUnreachable(AdvisorError):
    """The database of DATABASE_URL cannot be opened."""


class VersionDiffers(AdvisorError):
    """This code and the database are of different versions."""


class PortTaken(AdvisorError):
    """Another program listens on the port of the web server."""


class StudyFailed(AdvisorError):
    """A study ended without a ranking; `code` is its reason code."""
