"""`make bench-input`: bad requests by every way there is, three times with other seeds.

On SQLite, and requests to the web server also on PostgreSQL, if that is installed. (Commands end
with their connection, which is that of the test and its transaction.)
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from advisor.tests import postgres
from advisor.tests.harness import ROOT

_ROUNDS = 3
_REQUESTS = "api or pages"


def main() -> int:
    """1 as soon as a request is not refused as it should be."""
    parser = argparse.ArgumentParser(prog="make bench-input", description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--drawn", type=int, default=200, help="how many are drawn of a kind")
    asked = parser.parse_args()
    with _databases() as databases:
        for seed in range(asked.seed, asked.seed + _ROUNDS):
            for name, (database, words) in databases.items():
                print(f"SEED={seed}, {name}", flush=True)
                ours = {"ADVISOR_INPUT_DRAWN": str(asked.drawn), "ADVISOR_INPUT_SEED": str(seed)}
                tests = ["--no-migrations", "advisor/tests/test_bad_input.py", *words]
                done = subprocess.run(
                    [sys.executable, "-m", "pytest", "-q", "-s", *tests],
                    cwd=ROOT,
                    env=os.environ | ours | database,
                    check=False,
                )
                if done.returncode:
                    return 1
    return 0


@contextmanager
def _databases() -> Iterator[dict[str, tuple[dict[str, str], list[str]]]]:
    """By name the environment and the further words of pytest."""
    found: dict[str, tuple[dict[str, str], list[str]]] = {"SQLite": ({}, [])}
    if postgres.postgres_programs() is None:
        print("PostgreSQL is not installed: SQLite only")
        yield found
        return
    with postgres.own_folder() as folder:
        data = postgres.make_empty(folder / "made")
        with postgres.server(data, folder) as url:
            words = ["-k", _REQUESTS]
            yield found | {"PostgreSQL": ({"DATABASE_URL": url}, words)}


if __name__ == "__main__":
    sys.exit(main())
