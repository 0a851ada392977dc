"""Read the script's output as clients write it: rows separated by tabs, tables, or CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from importlib.resources import files

_SECONDS = 60
_MAX_LINE = 10_000
_CSV = re.compile(r'"?[A-Za-z][\w:. ]{0,100}"?([,;])', re.ASCII)
Row = tuple[str, ...]


def script(seconds: int = _SECONDS) -> str:
    """Return the SQL script that waits so long between its two readings."""
    text = files(__package__).joinpath("script.sql").read_text()
    return text.replace(f"SLEEP({_SECONDS})", f"SLEEP({seconds})")


def statements(seconds: int) -> list[str]:
    """Return the statements of the script, without comments."""
    lines = [line for line in script(seconds).splitlines() if not line.startswith("--")]
    return [one.strip() for one in "\n".join(lines).split(";") if one.strip()]


def rows_of(text: str) -> Iterator[Row]:
    """Yield the rows of a client's output; lines that are no rows have one cell."""
    for line in text.splitlines():
        line = line.strip("\r\n\ufeff")
        if line.startswith("|"):
            cells = line.strip().strip("|").split("|")
        elif "\t" in line:
            cells = line.split("\t")
        elif len(line) <= _MAX_LINE and (found := _CSV.match(line)):
            cells = next(csv.reader([line], delimiter=found[1]))
        else:
            cells = [line]
        yield tuple(one.strip().strip('"') for one in cells)
