"""What a page costs with years of runs in the database: `make bench-pages`.

python -m bench.pages [--studies N] [--samples N] [--slots N] [--requests N]
    [--only NAME] [--database NAME]

Fills a database of its own with finished studies of 18 runs on three hosts, each run with its
seconds, two studies of 500 slots, one of them under way, and a search of 100 configs, on
SQLite and, where its programs are installed, on PostgreSQL. Prints for each page, fragment and
answer the queries, milliseconds in the server (median, p95) and of the processor (median), of
first views, for which nothing was kept from earlier ones, and of those after them, and
compressed bytes; then what an open page costs of a processor, and a verdict for each database.
Ends with status 1 if a goal is missed. The figures depend on the machine: run it where nothing
else runs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for whoever runs it, Django is set up first
    from bench.pages.pages import Cost, Times

MAX_QUERIES, MAX_MS, MAX_BYTES = 25, 100.0, 300_000
MAX_SHARE = 0.01
RUNS_PER_STUDY = 18
DEVICES = 12
REQUESTS = 20
DATABASES = "SQLite", "PostgreSQL"


def main() -> int:
    """Run the bench and return its exit status."""
    asked = _arguments()
    if asked.here:
        return _measure(asked)
    begun = time.perf_counter()
    statuses = [0]
    if asked.database in ("", "SQLite"):
        with _folder() as folder:
            statuses.append(_in_a_process("SQLite", {"ADVISOR_HOME": str(folder / "sqlite")}))
    if asked.database in ("", "PostgreSQL"):
        with _postgres() as environment:
            if environment is None:
                print("PostgreSQL is not installed, so it was not measured.")
            else:
                statuses.append(_in_a_process("PostgreSQL", environment))
    print(f"\nTook {(time.perf_counter() - begun) / 60:.1f} minutes.")
    return max(statuses)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=550)
    parser.add_argument("--samples", type=int, default=300, help="seconds of each run")
    parser.add_argument("--slots", type=int, default=500, help="of each large study")
    parser.add_argument(
        "--requests", type=int, default=REQUESTS, help="first views, and as many after them"
    )
    parser.add_argument("--only", default="", help="pages whose name begins so")
    parser.add_argument("--database", default="", choices=["", *DATABASES])
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


@contextmanager
def _folder() -> Iterator[Path]:
    # PostgreSQL's own user has to pass through it.
    folder = Path(tempfile.mkdtemp(prefix="dashboard-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _postgres() -> Iterator[dict[str, str] | None]:
    from advisor.tests import postgres

    if postgres.postgres_programs() is None:
        yield None
        return
    with _folder() as folder:
        data = postgres.make_migrated(folder / "server")
        with postgres.server(data, folder / "server") as url:
            yield {"ADVISOR_HOME": str(folder / "home"), "DATABASE_URL": url}


def _in_a_process(name: str, environment: dict[str, str]) -> int:
    print(f"\n{name}", flush=True)
    words = [sys.executable, "-m", "bench.pages", "--here", *sys.argv[1:]]
    return subprocess.run(words, env=os.environ | environment, check=False).returncode


def _measure(asked: argparse.Namespace) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "advisor.settings")
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from bench.pages import pages, rows

    call_command("migrate", verbosity=0)
    begun = time.perf_counter()
    filled = rows.fill(asked.studies, RUNS_PER_STUDY, asked.samples, asked.slots, DEVICES)
    took = time.perf_counter() - begun
    print(f"{filled} in {took:.0f} s")
    print(f"{'':42}{'first views, ms':>25}{'later views, ms':>25}")
    of_views = f"{'median':>9}{'p95':>8}{'CPU':>8}"
    print(f"{'page':34}{'queries':>8}{of_views}{of_views}{'kB':>8}")
    missed: dict[str, list[str]] = {}
    seen = 0
    cpu_ms = {}
    for name, page in pages.pages().items():
        if not name.startswith(asked.only):
            continue
        cost = pages.measured(page, asked.requests)
        seen += 1
        cpu_ms[name] = median(cost.again.cpu_ms)
        line = f"{name:34}{cost.queries:8}{_views(cost.first)}{_views(cost.again)}"
        said = _too_much(cost)
        print(f"{line}{cost.compressed_bytes / 1000:8.1f}{'  MISSED' * bool(said)}", flush=True)
        if said:
            missed[name] = said
    if "under way".startswith(asked.only):
        share = pages.share_of_a_core(cpu_ms)
        print(
            f"An open page of the study under way: {share:.2%} of a core, asking every "
            f"{pages.POLL_S:.0f} s, with a run that ends every {pages.RUN_S:.0f} s"
        )
        if share > MAX_SHARE:
            missed["an open page"] = [f"{share:.2%} of a core"]
    print(_verdict(connection.vendor, seen, missed))
    return 1 if missed else 0


def _views(times: Times) -> str:
    wall, cpu = median(times.wall_ms), median(times.cpu_ms)
    return f"{wall:9.1f}{times.p95_ms:8.1f}{cpu:8.1f}"


def _too_much(cost: Cost) -> list[str]:
    """What misses its goal, in words."""
    found = []
    if cost.queries > MAX_QUERIES:
        found.append(f"{cost.queries} queries")
    for what, times in (("first", cost.first), ("later", cost.again)):
        if times.p95_ms > MAX_MS:
            found.append(f"{what} views {times.p95_ms:.0f} ms")
    if cost.compressed_bytes > MAX_BYTES:
        found.append(f"{cost.compressed_bytes / 1000:.0f} kB")
    return found


def _verdict(database: str, seen: int, missed: Mapping[str, list[str]]) -> str:
    goals = (
        f"at most {MAX_QUERIES} queries, {MAX_MS:.0f} ms at p95 in first and later views, "
        f"{MAX_BYTES / 1000:.0f} kB, and {MAX_SHARE:.0%} of a core for an open page"
    )
    if not missed:
        return f"VERDICT, {database}: kept by all {seen} pages and answers: {goals}."
    texts = "; ".join(f"{name}: {', '.join(said)}" for name, said in missed.items())
    return f"VERDICT, {database}: MISSED by {len(missed)} of {seen} ({goals}): {texts}."


if __name__ == "__main__":
    sys.exit(main())
