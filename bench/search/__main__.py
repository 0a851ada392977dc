"""`python -m bench.search`: print how the searches compare on recorded surfaces."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

from bench.search import warm as warm_start
from bench.search.play import Played, summary
from bench.search.recorded import SURFACES
from bench.search.table import (
    CASES,
    HEAD,
    METHODS,
    SHORT_RUNS,
    Case,
    bounds,
    line,
    played,
    same_after,
    worse_than_baseline,
)
from bench.search.truth import KINDS, error_of
from bench.tables import begin, markdown, with_tables

SEEDS = 50
CHOICES = 1000
PARTS = ("truths", "tables", "choices", "warm")
#: By part: the line before its tables in a document.
BEGIN = {part: begin(f"bench.search --only {part}") for part in PARTS}


def main() -> int:
    """Print a table per case; 1 when ours is not the best or a choice is worse than nothing."""
    parser = argparse.ArgumentParser(prog="python -m bench.search")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="searches per method and table")
    parser.add_argument("--choices", type=int, default=CHOICES, help="short searches of ours")
    parser.add_argument(
        "--only",
        choices=PARTS,
        help="what no search can do, the comparison, "
        "how often a choice is worse than the baseline, or what earlier searches bring",
    )
    parser.add_argument("--write", type=Path, help="put the tables into this document as well")
    arguments = parser.parse_args()
    began = monotonic()
    missed: list[str] = []
    for part in (arguments.only,) if arguments.only else PARTS:
        shown = []
        for text, faults in tables_of(part, arguments.seeds, arguments.choices):
            print(text, flush=True)
            shown.append(text)
            missed += faults
        if arguments.write:
            arguments.write.write_text(
                with_tables(arguments.write.read_text(), BEGIN[part], shown)
            )
    print(f"{monotonic() - began:.0f} s")
    for miss in missed:
        print(f"MISSED: {miss}", file=sys.stderr)
    return 1 if missed else 0


def tables_of(part: str, seeds: int, searches: int) -> Iterator[tuple[str, list[str]]]:
    """The tables of a part, and what was promised and is not so."""
    if part == "truths":
        yield errors(), []
        yield limits(seeds), []
    elif part == "tables":
        for case in CASES:
            yield table(case, seeds)
        yield f"{seeds} searches per line; regrets are medians.\n", []
    elif part == "choices":
        yield choices(searches)
    else:
        yield warm(seeds), []


def errors() -> str:
    """How well each truth says what it has not seen."""
    lines = []
    for surface in SURFACES:
        for name in KINDS:
            error = error_of(name, surface)
            lines.append((surface.title, name, f"{error.rmse:.3f}", f"{error.r2:.2f}"))
    head = "surface", "truth", "rmse of the log ratio", "R²"
    return markdown("**Truths, cross-validated**", head, lines)


def limits(seeds: int) -> str:
    """What cannot be had on these truths, whatever the noise."""
    head = "surface", "truth", "all main effects known", f"ours after {SHORT_RUNS}, no noise"
    lines = [bounds(surface, kind, seeds) for surface in SURFACES for kind in KINDS]
    title = f"**Regret without any noise** ({seeds} searches, medians)"
    return markdown(title, head, lines)


def choices(searches: int) -> tuple[str, list[str]]:
    """How often a short search chooses worse than nothing; a promise that it never does."""
    row = worse_than_baseline(searches)
    head = "searches", "choice worse than baseline", "median regret", "highest regret"
    title = f"**Many searches of {SHORT_RUNS} runs, given nothing, seeds of their own**"
    missed = [] if row[1] == "0" else [f"{row[1]} of {row[0]} choices are worse than the baseline"]
    return markdown(title, head, [row]), missed


def warm(seeds: int) -> str:
    """What it contributes to begin with an earlier search, and what if that misleads."""
    runs = warm_start.EARLIER_RUNS
    title = f"**{seeds} searches per line, medians; the earlier ones had {runs} runs**"
    lines = [warm_start.line(name, seeds) for name in warm_start.HISTORIES]
    return markdown(title, warm_start.HEAD, lines)


def table(case: Case, seeds: int) -> tuple[str, list[str]]:
    """The table of a case, and what was promised and is not so."""
    games: dict[str, list[Played]] = {name: played(case, name, seeds) for name in METHODS}
    found = {name: summary(games[name]) for name in METHODS}
    lines = [line(name, found[name], seeds) for name in METHODS]
    others = [name for name in METHODS if name != "ours"]
    best = min(others, key=lambda name: found[name].regret[max(found[name].regret)])
    runs = same_after(games["ours"], found[best])
    text = markdown(f"**{case.title}**", HEAD, lines)
    text += f"\nOurs is after {runs} runs where {best} is after 80.\n" if runs else ""
    missed = []
    if runs is None:
        missed.append(f"{case.title}: {best} is better")
    if found["ours"].worse:
        missed.append(f"{case.title}: a choice is worse than the baseline")
    return text, missed


if __name__ == "__main__":
    sys.exit(main())
