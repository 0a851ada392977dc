"""The outcomes of a run. Every kind of failure has its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """The end of a run; stored on the Run row and shown in the UI, the API and the ranking."""

    OK = "ok"
    INVALID_CONFIG = "invalid_config"
    NO_START = "no_start"
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out_of_memory"
    DISK_FULL = "disk_full"
    TIMED_OUT = "timed_out"
    ZERO_WORK = "zero_work"
    DRIVER_FAILED = "driver_failed"
    DISTURBED = "disturbed"
    # Stopped early because its first seconds were too slow: an upper bound, no figure.
    CUT_SHORT = "cut_short"
    CANCELLED = "cancelled"
    LOST = "lost"
    # The device, the server or the dataset cannot be used; nothing was started.
    SETUP_FAILED = "setup_failed"
    # A bug of the advisor itself, as opposed to an expected failure.
    INTERNAL_ERROR = "internal_error"


#: A driver's failures that may be the config's as well as a host's.
DRIVERS_OWN = frozenset({Outcome.ZERO_WORK, Outcome.DRIVER_FAILED, Outcome.TIMED_OUT})


@dataclass(frozen=True)
class Cut:
    """Why a run is not worth finishing, and the throughput that it would not have exceeded."""

    reason: str
    throughput_at_most: float


#: Judges the commits of each second measured so far; None if the run may continue.
CutRule = Callable[[Sequence[int]], Cut | None]
