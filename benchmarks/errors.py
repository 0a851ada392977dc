"""Failures that are expected: the root of all of them, and the branch of measuring.

Anything that is not an `ExpectedError` is a bug and is reported as one.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.outcomes import Outcome

#: The system's error numbers for a full disk or quota.
NO_SPACE_ERRNOS = (errno.ENOSPC, errno.EDQUOT)


#: Messages quote programs, which may say anything at any length.
_MAX_MESSAGE = 16_000
_MAX_LOG_TAIL = 256 * 1024


def _bounded(text: str, limit: int = _MAX_MESSAGE) -> str:
    half = limit // 2
    return text if len(text) <= limit else f"{text[:half]} [...] {text[-half:]}"


class ExpectedError(Exception):
    """The root of all expected failures. Pages, API and commands catch this class.

    `code` is a stable word for programs, `str(error)` one line for people, `field` the field of
    the request that it is about ("server", "devices[1].path"), "" if it is about none.
    """

    code = "error"
    field = ""


class BenchmarkError(ExpectedError):
    """An expected failure while measuring.

    `log_tail`: the lines of a server's or driver's log that explain it, without secrets. `outcome`
    is that of a run which ends with it.
    """

    code = "benchmark_error"
    outcome = Outcome.SETUP_FAILED

    def __init_subclass__(cls, *, code: str = "") -> None:
        cls.code = code or cls.code

    def __init__(self, message: str, *, log_tail: str = "", field: str = "") -> None:
        super().__init__(_bounded(message))
        self.log_tail = _bounded(log_tail, _MAX_LOG_TAIL)
        self.field = field


@contextmanager
def about(field: str) -> Iterator[None]:
    """Name the field of the request that a BenchmarkError from this block is about.

    If the error already has a field, it is appended: "path" becomes "devices[1].path".
    """
    try:
        yield
    except BenchmarkError as error:
        error.field = ".".join(filter(None, [field, error.field]))
        raise


class InvalidDataFile(BenchmarkError, code="invalid_data_file"):
    """A data file of the project (the knobs, a preset, a study template) cannot be used."""


class NotAServer(BenchmarkError, code="not_a_server"):
    """The given path is not a mysqld that can run here."""


class NotListed(BenchmarkError, code="not_listed"):
    """A program or directory that neither the host found itself nor its administrator listed."""


class ServerChanged(BenchmarkError, code="server_changed"):
    """Another program is at the path of a server than the one that a study was made for."""


class NotInspected(BenchmarkError, code="host_not_inspected"):
    """Nothing is known of a host, because no worker has run there yet."""


class NoServerFound(BenchmarkError, code="no_server_found"):
    """No server was named, none is on PATH and none was installed by set-up."""


class NoServerUser(BenchmarkError, code="no_server_user"):
    """We run as root and the unprivileged user that mysqld must run as does not exist."""


class NoDriver(BenchmarkError, code="no_driver"):
    """The requested workload driver is not installed."""


class DeviceUnusable(BenchmarkError, code="device_unusable"):
    """The data or log path does not exist, is not a directory, not writable or too full."""


class DeviceFull(DeviceUnusable, code="disk_full"):
    """Nothing more can be written there."""

    outcome = Outcome.DISK_FULL


class EmulationUnavailable(BenchmarkError, code="emulation_unavailable"):
    """The limits of an emulated device cannot be set here; the message says why."""


class NoFio(BenchmarkError, code="no_fio"):
    """fio, which is needed to probe devices, is not installed."""


class ProbeFailed(BenchmarkError, code="probe_failed"):
    """fio ended with an error or its output cannot be read."""


class LoadFailed(BenchmarkError, code="load_failed"):
    """The dataset could not be loaded or does not meet TPC-C's consistency conditions."""


class NoDataset(BenchmarkError, code="not_found"):
    """A dataset that is to be deleted is not there."""


class DatasetInUse(BenchmarkError, code="in_use"):
    """A dataset that is to be deleted is needed by a study, or by a job that runs now."""


class RunFailed(BenchmarkError):
    """A run ended without a measurement; `outcome` says how."""

    def __init__(self, outcome: Outcome, message: str, *, log_tail: str = "") -> None:
        super().__init__(message, log_tail=log_tail)
        self.outcome = outcome
        self.code = outcome.value
