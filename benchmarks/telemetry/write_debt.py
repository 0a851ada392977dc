"""Write debt: what a server has accepted and put off when a measurement begins and ends.

A large redo log lets a server postpone its page writes for longer than a short run lasts: the run
looks fast because the flushing comes after it. docs/explanation/write-debt.md states the rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from benchmarks.documents import Document

#: A run is marked if it put off more than this share of the writes that it caused.
MAX_PUT_OFF = 0.25
#: A run that filled its redo log so often has shown what flushing costs, whatever it still owes.
FILLS = 2.0


class Debt(StrEnum):
    """The kinds of debt; the values are stored."""

    REDO = "redo"  # redo log that is not checkpointed yet
    PAGES = "pages"  # dirty pages
    PURGE = "purge"  # undo of committed transactions that is not purged yet


_MARKING = (Debt.REDO, Debt.PAGES)


@dataclass(frozen=True)
class DebtReading:
    """The debt at one moment, in bytes and undo logs; None where the server does not say.

    `lsn`, `flushed_bytes` and `commits` are counters since the start: redo log written, pages
    written and COMMITs. `redo_capacity` is in bytes.
    """

    lsn: int | None = None
    checkpoint_age_bytes: int | None = None
    dirty_bytes: int | None = None
    history_length: int | None = None
    flushed_bytes: int | None = None
    commits: int | None = None
    redo_capacity: int | None = None


@dataclass(frozen=True)
class WriteDebt(Document):
    """The debt at both ends of an interval of `seconds`; `missing` has why a figure is None."""

    start: DebtReading
    end: DebtReading
    seconds: float
    redo_capacity_bytes: int | None = None
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def redo_bytes(self) -> int | None:
        """Return the redo log written in the interval."""
        return self._grown("lsn")

    @property
    def redo_mb_s(self) -> float | None:
        """Return 10^6 bytes of redo log per second of the interval."""
        written = self.redo_bytes
        return written / self.seconds / 1e6 if written is not None and self.seconds else None

    @property
    def fills(self) -> float | None:
        """Return how often the interval filled the redo log."""
        written, capacity = self.redo_bytes, self.redo_capacity_bytes
        return written / capacity if written is not None and capacity else None

    @property
    def put_off(self) -> dict[Debt, float]:
        """Return the share of the interval's writes that was postponed, by kind.

        It is negative where the server caught up.
        Redo: growth of the checkpoint age by redo written. Pages: growth of the dirty pages by
        pages written plus that growth. Purge: growth of the history list by commits.
        """
        dirty, flushed = self._grown("dirty_bytes"), self._grown("flushed_bytes")
        pages = None if dirty is None or flushed is None else max(dirty, 0) + flushed
        growth = {
            Debt.REDO: (self._grown("checkpoint_age_bytes"), self.redo_bytes),
            Debt.PAGES: (dirty, pages),
            Debt.PURGE: (self._grown("history_length"), self._grown("commits")),
        }
        return {
            kind: owed / total
            for kind, (owed, total) in growth.items()
            if owed is not None and total is not None and total > 0
        }

    @property
    def is_marked(self) -> bool:
        """Whether the run postponed flushing that a longer run would have done.

        A late purge marks nothing: it costs little compared with pages.
        """
        return self.put_off_most > MAX_PUT_OFF

    @property
    def put_off_most(self) -> float:
        """Return the largest share of what can mark a run; 0.0 where nothing is known."""
        shares = self.put_off
        return max((shares[kind] for kind in _MARKING if kind in shares), default=0.0)

    @property
    def is_settled(self) -> bool:
        """Whether the run was long enough: its debt did not grow, or it filled the log twice."""
        return not self.is_marked or (self.fills or 0.0) >= FILLS

    @property
    def seconds_to_settle(self) -> float | None:
        """Return the measured seconds that fill the redo log FILLS times; None: unknown."""
        fills = self.fills
        return FILLS * self.seconds / fills if fills else None

    def _grown(self, name: str) -> int | None:
        before, after = getattr(self.start, name), getattr(self.end, name)
        return None if before is None or after is None else after - before
