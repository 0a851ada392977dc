"""How a command ends that is refused: with the reason on stderr, and a status that says so."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import BaseCommand

from advisor.errors import AdvisorError
from benchmarks.errors import BenchmarkError
from tuning.errors import TuningError
from tuning.studies.request import BadRequest


@contextmanager
def ends_when_refused(command: BaseCommand, *, bad_request: int = 1) -> Iterator[None]:
    """An expected failure inside becomes the line `code: reason` and the status 1.

    `bad_request` is the status where what was asked for makes no sense.
    """
    try:
        yield
    except (AdvisorError, BenchmarkError, TuningError) as error:
        command.stderr.write(f"{error.code}: {error}")
        sys.exit(bad_request if isinstance(error, BadRequest) else 1)
