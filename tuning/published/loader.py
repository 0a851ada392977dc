"""Reads the published figures: tables of facts, each with its place in the source."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Count, Frozen, Named, Some, distinct, read_data_file

HERE = Path(__file__).resolve().parent
INDEX = HERE / "tables.yaml"

Value = str | int | float | None
#: By device and number of connections.
Figures = dict[str, dict[int, Any]]
Text = Annotated[str, Field(min_length=1)]
Phrase = Annotated[str, Field(min_length=3)]
Sentence = Annotated[str, Field(min_length=10)]


@dataclass(frozen=True, config=STRICT)
class Source:
    """A document: a short label ("whitepaper 2016") and its full title."""

    label: Phrase
    title: Sentence


@dataclass(frozen=True, config=STRICT)
class Column:
    """A column of a table; `unit` is empty where a number has none or a row names it."""

    name: Text
    title: Text
    type: Literal["text", "integer", "number"]
    unit: Text = ""

    @property
    def is_number(self) -> bool:
        return self.type != "text"

    def read(self, text: str) -> Value:
        """Return the value of a cell; None for an empty one of a number."""
        if not self.is_number:
            return text
        kind = int if self.type == "integer" else float
        return kind(text) if text else None


@dataclass(frozen=True, config=STRICT)
class PublishedTable:
    """Facts as the sources print them. None is "NA" there: the run could not be completed.

    place: the place of the facts in the source. setup: what was measured, "" if the rows say it.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z_]*$")]
    title: Phrase
    sources: Some[Source]
    place: Phrase
    columns: Annotated[tuple[Column, ...], Field(min_length=2), distinct(by="name")]
    setup: Phrase = ""

    @cached_property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """The rows by column, of the file of the table's name."""
        with (HERE / f"{self.name}.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        return tuple(
            {one.name: one.read(line[one.name]) for one in self.columns} for line in lines
        )

    def by_device(self, figure: str) -> Figures:
        """Device -> connections -> a figure, of a table with those columns; slowest first."""
        found: Figures = {}
        for row in self.rows:
            found.setdefault(row["device"], {})[row["connections"]] = row[figure]
        return found


@dataclass(frozen=True, config=STRICT)
class Statement:
    """A statement of the whitepaper's text about a figure that is only a picture."""

    figure: Count
    says: Sentence
    place: Phrase


@dataclass(frozen=True, config=STRICT)
class Publications:
    """Everything. cpu_hz: cycles per second of all CPUs of the host of Tables 1 to 3."""

    sources: Annotated[Frozen[str, Source], Field(min_length=1)]
    cpu_hz: Count
    tables: Annotated[Named[str, PublishedTable], Field(min_length=1)]
    statements: Annotated[tuple[Statement, ...], distinct(by="figure")]


def tables() -> tuple[PublishedTable, ...]:
    """All tables, in the order of the index."""
    return tuple(publications().tables.values())


def table(name: str) -> PublishedTable:
    """One of the tables; raises KeyError."""
    return publications().tables[name]


@cache
def publications() -> Publications:
    """Everything, read once; raises InvalidDataFile."""
    return read_data_file(INDEX, Publications)


def path_lengths() -> Figures:
    """Device -> connections -> cycles of the whole server host per New-Order.

    By the formula of the whitepaper's section 4.4 from its Tables 1, 2 and 10; Figures 16 and 17
    print no figures. The driver ran on another host.
    """
    found = publications()
    throughput = found.tables["throughput_by_connections"].by_device("tpmP")
    busy_pct = found.tables["cpu_by_connections"].by_device("cpu_user_sys_pct")
    lengths: Figures = {}
    for device, line in throughput.items():
        for connections, tpm in line.items():
            busy = busy_pct[device][connections]
            is_known = tpm is not None and busy is not None
            cycles = found.cpu_hz * busy / 100 / (tpm / 60) if is_known else None
            lengths.setdefault(device, {})[connections] = cycles
    return lengths
