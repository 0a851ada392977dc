"""What a page costs with years of runs in the database: `make bench-dashboard`.

python -m advisor.tests.dashboard_bench [--studies N] [--samples N] [--slots N] [--only NAME]

Fills a database of its own with finished studies of 18 runs on three hosts, each run with its
seconds, and two studies of 500 slots, one of them under way, on SQLite and, where its programs are
installed, on PostgreSQL. Prints for each page, fragment and answer queries, milliseconds in the
server (median, p95), those of the processor (of the first request, and the median of those after
it) and compressed bytes; then what an open page costs of a processor. Ends with status 1 if a goal
is missed. The figures depend on the machine: run it where nothing else runs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

MAX_QUERIES, MAX_MS, MAX_BYTES = 25, 100.0, 300_000
MAX_SHARE = 0.01
RUNS_PER_STUDY = 18
DEVICES = 12
REQUESTS = 20


def main() -> int:
    asked = _arguments()
    if asked.here:
        return _measure(asked)
    statuses = []
    with _folder() as folder:
        statuses.append(_in_a_process("SQLite", {"ADVISOR_HOME": str(folder / "sqlite")}))
    with _postgres() as environment:
        if environment is None:
            print("PostgreSQL is not installed: only SQLite was measured.")
        else:
            statuses.append(_in_a_process("PostgreSQL", environment))
    return max(statuses)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=550)
    parser.add_argument("--samples", type=int, default=300, help="seconds of each run")
    parser.add_argument("--slots", type=int, default=500, help="of each large study")
    parser.add_argument("--only", default="", help="pages whose name begins so")
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
    words = [sys.executable, "-m", "advisor.tests.dashboard_bench", "--here", *sys.argv[1:]]
    return subprocess.run(words, env=os.environ | environment, check=False).returncode


def _measure(asked: argparse.Namespace) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "advisor.settings")
    import django

    django.setup()
    from django.core.management import call_command

    from advisor.tests.dashboard_bench import pages, rows

    call_command("migrate", verbosity=0)
    begun = time.perf_counter()
    filled = rows.fill(asked.studies, RUNS_PER_STUDY, asked.samples, asked.slots, DEVICES)
    took = time.perf_counter() - begun
    print(f"{filled} in {took:.0f} s")
    print(f"{'':42}{'wall, ms':>17}{'CPU, ms':>18}")
    print(f"{'page':34}{'queries':>8}{'median':>9}{'p95':>8}{'first':>9}{'median':>9}{'kB':>8}")
    missed = []
    cpu_ms = {}
    for name, page in pages.pages().items():
        if not name.startswith(asked.only):
            continue
        cost = pages.measured(page, REQUESTS)
        cpu_ms[name] = median(cost.cpu_ms)
        p95, size = quantiles(cost.ms, n=20)[-1], cost.compressed_bytes
        fails = cost.queries > MAX_QUERIES or p95 > MAX_MS or size > MAX_BYTES
        mark = "  misses its goal" if fails else ""
        print(
            f"{name:34}{cost.queries:8}{median(cost.ms):9.1f}{p95:8.1f}"
            f"{cost.first_ms:9.1f}{cpu_ms[name]:9.1f}{size / 1000:8.1f}{mark}",
            flush=True,
        )
        missed += [name] if fails else []
    if "under way".startswith(asked.only):
        share = pages.share_of_a_core(cpu_ms)
        print(
            f"An open page of the study under way: {share:.2%} of a core, asking every "
            f"{pages.POLL_S:.0f} s, with a run that ends every {pages.RUN_S:.0f} s"
        )
        missed += ["open page"] if share > MAX_SHARE else []
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
