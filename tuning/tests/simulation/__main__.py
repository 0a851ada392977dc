"""`python -m tuning.tests.simulation`: print the tables, fail when a promise is not kept."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import monotonic

from tuning.tests.simulation.criteria import PROOFS, Table

STUDIES = 2000
# Between these lines of a document its tables stand.
BEGIN = "<!-- written by: python -m tuning.tests.simulation --write -->"
END = "<!-- end of what is written -->"


def main() -> int:
    """Run the proofs; 1 when one is missed."""
    parser = argparse.ArgumentParser(prog="python -m tuning.tests.simulation", description=__doc__)
    parser.add_argument("--studies", type=int, default=STUDIES, help="simulated per scenario")
    parser.add_argument("--only", choices=[proof.__name__ for proof in PROOFS])
    parser.add_argument("--write", type=Path, help="put the tables into this document as well")
    arguments = parser.parse_args()
    started = monotonic()
    missed: list[str] = []
    shown: list[str] = []
    for proof in PROOFS:
        if arguments.only in (None, proof.__name__):
            table = proof(arguments.studies)
            shown.append(markdown(table))
            print(shown[-1], flush=True)
            missed += table.missed
    print(f"{arguments.studies} studies per scenario, {monotonic() - started:.0f} s.")
    for miss in missed:
        print(f"MISSED: {miss}", file=sys.stderr)
    if arguments.write and not missed:
        shown.append(f"{arguments.studies} simulated studies per line.\n")
        text = with_tables(arguments.write.read_text(), shown)
        arguments.write.write_text(text)
    return 1 if missed else 0


def markdown(table: Table) -> str:
    """The table as the documents show it."""
    rows = [table.head, ["---"] * len(table.head), *table.lines]
    body = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"**{table.title}.** {table.note}\n\n{body}\n"


def with_tables(document: str, tables: list[str]) -> str:
    """The document with the tables in their place; raises ValueError when it has none."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the document has no place for the tables: {BEGIN}")
    return f"{before}{BEGIN}\n\n{chr(10).join(tables)}\n{END}{after}"


if __name__ == "__main__":
    sys.exit(main())
