"""`python -m bench.statistics`: print the tables, fail when a promise is not kept."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import monotonic

from bench.statistics.ablation import lines_that_matter
from bench.statistics.criteria import PROOFS as RANKED
from bench.statistics.criteria import Table
from bench.statistics.gates import few_pairs, gates, several_limits
from bench.tables import begin, markdown, with_tables

STUDIES = 2000
PROOFS = (*RANKED, lines_that_matter, gates, few_pairs, several_limits)
# Between these lines of a document its tables stand.
BEGIN = begin("bench.statistics")


def main() -> int:
    """Run the proofs; 1 when one is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.statistics", description=__doc__)
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
            shown.append(written(table))
            print(shown[-1], flush=True)
            missed += table.missed
    print(f"{arguments.studies} studies per scenario, {monotonic() - started:.0f} s.")
    for miss in missed:
        print(f"MISSED: {miss}", file=sys.stderr)
    if arguments.write and not missed:
        shown.append(f"{arguments.studies} simulated studies per line.\n")
        text = with_tables(arguments.write.read_text(), BEGIN, shown)
        arguments.write.write_text(text)
    return 1 if missed else 0


def written(table: Table) -> str:
    """The table as the documents show it."""
    return markdown(f"**{table.title}.** {table.note}", table.head, table.lines)


if __name__ == "__main__":
    sys.exit(main())
