"""Reads the published figures of the 2016 whitepaper: facts, each with its place in the source."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Count, Frozen, Number, Some, distinct, read_data_file

FILE = Path(__file__).resolve().parent / "whitepaper.yaml"

#: By device and number of connections; None where the run could not be completed.
Figures = dict[str, dict[int, float | None]]
Phrase = Annotated[str, Field(min_length=3)]


@dataclass(frozen=True, config=STRICT)
class Statement:
    """A statement of the whitepaper's text about a figure that is only a picture."""

    figure: Count
    says: Phrase
    place: Phrase


@dataclass(frozen=True, config=STRICT)
class Whitepaper:
    """The figures by device, in the order of `connections`, and what was measured where.

    tpm: New-Orders per minute. cpu_hz: cycles per second of all CPUs of the server. cpu_pct: user
    and system time, in percent of them.
    """

    title: Phrase
    place: Phrase
    setup: Phrase
    cpu_hz: Count
    connections: Some[Count]
    tpm: Frozen[str, tuple[Number | None, ...]]
    cpu_pct: Frozen[str, tuple[Number | None, ...]]
    statements: Annotated[tuple[Statement, ...], distinct(by="figure")]

    @property
    def throughput(self) -> Figures:
        """New-Orders per minute, of Table 1; slowest device first."""
        return {
            device: dict(zip(self.connections, figures, strict=True))
            for device, figures in self.tpm.items()
        }

    @property
    def path_lengths(self) -> Figures:
        """Cycles of the whole server host per New-Order.

        By the formula of the whitepaper's section 4.4 from its Tables 1, 2 and 10; Figures 16 and
        17 print no figures. The driver ran on another host.
        """
        return {
            device: {
                connections: self.cpu_hz * busy / 100 / (tpm / 60) if busy and tpm else None
                for connections, tpm, busy in zip(
                    self.connections, figures, self.cpu_pct[device], strict=True
                )
            }
            for device, figures in self.tpm.items()
        }


@cache
def whitepaper() -> Whitepaper:
    """Return everything, read once; raises InvalidDataFile."""
    return read_data_file(FILE, Whitepaper)
