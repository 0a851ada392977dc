"""Tables of the benches, as the documents show them."""

from __future__ import annotations

from collections.abc import Sequence

#: Between the line of a bench and this one stand its tables in a document.
END = "<!-- end of what is written -->"


def begin(module: str) -> str:
    """The line before the tables that this module writes."""
    return f"<!-- written by: python -m {module} --write -->"


def markdown(heading: str, head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table under its heading."""
    rows = [head, ["---"] * len(head), *lines]
    body = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{heading}\n\n{body}\n"


def with_tables(document: str, first: str, tables: Sequence[str]) -> str:
    """The document with the tables in their place, after the line `first`.

    Raises ValueError when it has no such place.
    """
    before, there, rest = document.partition(first)
    _, end, after = rest.partition(END)
    if not there or not end:
        raise ValueError(f"the document has no place for the tables: {first}")
    return f"{before}{first}\n\n{chr(10).join(tables)}\n{END}{after}"
