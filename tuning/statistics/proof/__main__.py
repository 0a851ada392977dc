"""`python -m tuning.statistics.proof`: print the tables, fail when a promise is not kept."""

from __future__ import annotations

import argparse
import sys
from time import monotonic

from tuning.statistics.proof.criteria import PROOFS, Table

STUDIES = 2000


def main() -> int:
    """Run the proofs; 1 when one is missed."""
    parser = argparse.ArgumentParser(prog="python -m tuning.statistics.proof", description=__doc__)
    parser.add_argument("--studies", type=int, default=STUDIES, help="simulated per scenario")
    parser.add_argument("--only", choices=[proof.__name__ for proof in PROOFS])
    arguments = parser.parse_args()
    started = monotonic()
    missed: list[str] = []
    for proof in PROOFS:
        if arguments.only in (None, proof.__name__):
            table = proof(arguments.studies)
            print(markdown(table), flush=True)
            missed += table.missed
    print(f"{arguments.studies} studies per scenario, {monotonic() - started:.0f} s.")
    for miss in missed:
        print(f"MISSED: {miss}", file=sys.stderr)
    return 1 if missed else 0


def markdown(table: Table) -> str:
    """The table as the documents show it."""
    rows = [table.head, ["---"] * len(table.head), *table.lines]
    body = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{table.title}\n\n{body}\n"


if __name__ == "__main__":
    sys.exit(main())
