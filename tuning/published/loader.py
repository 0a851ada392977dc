"""Reads the published figures: tables of facts, each with its place in the source."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Count, Frozen, Named, Some, distinct, read_data_file
from benchmarks.errors import InvalidDataFile

HERE = Path(__file__).resolve().parent
INDEX = HERE / "tables.yaml"

Value = str | int | float | None
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
        """The value of a cell; raises ValueError."""
        if not self.is_number:
            return text
        if not text:
            return None
        return int(text) if self.type == "integer" else float(text)


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
    def rows(self) -> tuple[Mapping[str, Value], ...]:
        """The rows by column, of the file of the table's name; raises InvalidDataFile."""
        return _rows(HERE / f"{self.name}.csv", self.columns)

    def by_device(self, figure: str) -> dict[str, dict[int, float | None]]:
        """Device -> connections -> a figure, of a table with those columns; slowest first."""
        found: dict[str, dict[int, float | None]] = {}
        for row in self.rows:
            device, connections, value = row["device"], row["connections"], row[figure]
            if not isinstance(device, str) or not isinstance(connections, int):
                raise TypeError(f"{self.name} has no figures by device and connections")
            if isinstance(value, str):
                raise TypeError(f"{self.name}: {figure} is not a figure")
            found.setdefault(device, {})[connections] = value
        return found


@dataclass(frozen=True, config=STRICT)
class Statement:
    """A statement of the whitepaper's text about a figure that is only a picture."""

    figure: Count
    says: Sentence
    place: Phrase


@dataclass(frozen=True, config=STRICT)
class Machine:
    """The processors of a host; the frequency in Hz."""

    cpu_hz: Count
    logical_cpus: Count


@dataclass(frozen=True, config=STRICT)
class Publications:
    """Everything. `quad_socket` is the host of Tables 1 to 3."""

    sources: Annotated[Frozen[str, Source], Field(min_length=1)]
    quad_socket: Machine
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


def path_lengths() -> dict[str, dict[int, float | None]]:
    """Device -> connections -> cycles of the whole server host per New-Order.

    By the formula of the whitepaper's section 4.4 from its Tables 1, 2 and 10; Figures 16 and 17
    print no figures. The driver ran on another host.
    """
    found = publications()
    hz = found.quad_socket.cpu_hz * found.quad_socket.logical_cpus
    throughput = found.tables["throughput_by_connections"].by_device("tpmP")
    busy = found.tables["cpu_by_connections"].by_device("cpu_user_sys_pct")
    return {
        device: {
            connections: _cycles(tpm, busy[device][connections], hz)
            for connections, tpm in line.items()
        }
        for device, line in throughput.items()
    }


def _rows(path: Path, columns: tuple[Column, ...]) -> tuple[Mapping[str, Value], ...]:
    names = [column.name for column in columns]
    with path.open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    if header != names:
        raise InvalidDataFile(f"{path.name}: has the columns {header}, expected {names}")
    rows = []
    for number, line in enumerate(lines, start=2):
        if len(line) != len(columns):
            raise InvalidDataFile(f"{path.name}: line {number} is incomplete")
        try:
            values = {one.name: one.read(text) for one, text in zip(columns, line, strict=True)}
        except ValueError as error:
            raise InvalidDataFile(f"{path.name}: line {number}: {error}") from error
        rows.append(MappingProxyType(values))
    return tuple(rows)


def _cycles(tpm: float | None, busy_pct: float | None, hz: float) -> float | None:
    if tpm is None or busy_pct is None:
        return None
    return hz * busy_pct / 100 / (tpm / 60)
