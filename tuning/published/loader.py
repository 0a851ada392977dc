"""Reads the published figures: tables of facts, each with the place that it was read from."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tuning.datafiles import read_data_file
from tuning.errors import InvalidDataFile

HERE = Path(__file__).resolve().parent
INDEX = HERE / "tables.yaml"
SCHEMA = HERE / "tables.schema.json"

Value = str | int | float | None


@dataclass(frozen=True)
class Source:
    """A document: a word or two for people ("whitepaper 2016"), and its full title."""

    label: str
    title: str


@dataclass(frozen=True)
class Column:
    """A column of a table; `unit` is empty where a number has none or a row names it."""

    name: str
    title: str
    unit: str
    type: str

    @property
    def is_number(self) -> bool:
        return self.type != "text"


@dataclass(frozen=True)
class PublishedTable:
    """Facts as the sources print them. None is "NA" there: the run could not be completed.

    place: of the facts in the source. setup: what was measured, "" where rows say it.
    """

    name: str
    title: str
    sources: tuple[Source, ...]
    place: str
    setup: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Value], ...]

    def by_device(self, figure: str) -> dict[str, dict[int, float | None]]:
        """Device -> connections -> a figure, of a table with those columns; slowest first."""
        found: dict[str, dict[int, float | None]] = {}
        for row in self.rows:
            device, connections, value = row["device"], row["connections"], row[figure]
            if not isinstance(device, str) or not isinstance(connections, int):
                raise TypeError(f"{self.name} has no figures by device and connections")
            if isinstance(value, str):
                raise TypeError(f"{self.name}: {figure} is no figure")
            found.setdefault(device, {})[connections] = value
        return found


@dataclass(frozen=True)
class Statement:
    """What the text of the whitepaper says of one of its figures that it prints as a picture."""

    figure: int
    says: str
    place: str


@dataclass(frozen=True)
class Publications:
    """Everything. `cpu_hz` and `logical_cpus` are those of the host of Tables 1 to 3."""

    sources: tuple[Source, ...]
    tables: Mapping[str, PublishedTable]
    statements: Mapping[int, Statement]
    cpu_hz: float
    logical_cpus: int


def tables() -> tuple[PublishedTable, ...]:
    """All tables, in the order of the index."""
    return tuple(publications().tables.values())


def table(name: str) -> PublishedTable:
    """One of the tables; raises KeyError."""
    return publications().tables[name]


@cache
def publications() -> Publications:
    """Everything, read once; raises InvalidDataFile."""
    content = read_data_file(INDEX, SCHEMA)
    sources = {name: Source(**part) for name, part in content["sources"].items()}
    found = [_table(part, sources) for part in content["tables"]]
    said = [Statement(**part) for part in content["statements"]]
    host = content["quad_socket"]
    return Publications(
        sources=tuple(sources.values()),
        tables=MappingProxyType({one.name: one for one in found}),
        statements=MappingProxyType({one.figure: one for one in said}),
        cpu_hz=float(host["cpu_hz"]),
        logical_cpus=host["logical_cpus"],
    )


def _table(part: Mapping[str, Any], sources: Mapping[str, Source]) -> PublishedTable:
    if unknown := sorted(set(part["sources"]) - set(sources)):
        raise InvalidDataFile(f"{INDEX.name}: {part['name']}: no source {', '.join(unknown)}")
    columns = tuple(
        Column(one["name"], one["title"], one.get("unit", ""), one["type"])
        for one in part["columns"]
    )
    return PublishedTable(
        name=part["name"],
        title=part["title"],
        sources=tuple(sources[name] for name in part["sources"]),
        place=part["place"],
        setup=part.get("setup", "").strip(),
        columns=columns,
        rows=_rows(HERE / f"{part['name']}.csv", columns),
    )


def _rows(path: Path, columns: tuple[Column, ...]) -> tuple[Mapping[str, Value], ...]:
    names = [column.name for column in columns]
    rows = []
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        if (header := next(reader, [])) != names:
            raise InvalidDataFile(f"{path.name}: has the columns {header}, expected {names}")
        for line in reader:
            if len(line) != len(columns):
                raise InvalidDataFile(f"{path.name}: line {reader.line_num} is not a whole row")
            values = (_value(text, column) for text, column in zip(line, columns, strict=True))
            try:
                rows.append(MappingProxyType(dict(zip(names, values, strict=True))))
            except ValueError as error:
                raise InvalidDataFile(f"{path.name}: line {reader.line_num}: {error}") from error
    return tuple(rows)


def _value(text: str, column: Column) -> Value:
    if column.type == "text":
        return text
    if not text:
        return None
    return int(text) if column.type == "integer" else float(text)
