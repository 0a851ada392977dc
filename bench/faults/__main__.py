"""Studies on two hosts under random faults: is anything lost, left behind or decided wrongly?

make bench-faults SEED=1
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from math import inf
from pathlib import Path

from advisor.tests.fleet import centre
from advisor.tests.harness import ROOT
from bench.faults import checks, clock
from bench.faults.costs import table
from bench.faults.faults import faults
from bench.faults.scene import Scene, scene
from bench.faults.storm import Storm
from bench.faults.watch import Watch
from benchmarks.servers.binary import identify

_HOSTS = {"db1": "A/A", "db2": "A/B"}
#: Between two faults, on average: runs of real servers take longer.
_MEAN_SECONDS = {"stand-in": 2.5, "real": 6.0}
#: With so many of every kind each has done something.
_ENOUGH_OF_EACH = 5


def main(arguments: Sequence[str]) -> int:
    """Run the bench and return its exit status."""
    parser = argparse.ArgumentParser(prog="make bench-faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=inf, help="no fault begins after that")
    parser.add_argument("--servers", choices=[*_MEAN_SECONDS], default="stand-in")
    parser.add_argument("--mean-seconds", type=float, help="between two faults")
    parser.add_argument("--patience", type=float, default=1.0, help="how long the long ones last")
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="kinds of faults, by their names")
    parser.add_argument("--keep", type=Path, help="an empty folder in which logs are to stay")
    asked = parser.parse_args(arguments)
    if why := centre.why_not() or clock.why_not():
        print(f"bench-faults: {why}")
        return 1
    server = identify(ROOT / "var" / "servers" / "mariadb" / "mariadbd")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    fakes = [] if asked.servers == "real" else [*_HOSTS]
    with tempfile.TemporaryDirectory(prefix="advisor-storm-", dir="/var/tmp") as name:
        folder = asked.keep or Path(name)
        folder.chmod(0o755)
        with scene(
            folder, server, seed=asked.seed, asks=_HOSTS, blocks=asked.blocks, fakes=fakes
        ) as there:
            return _storm(there, asked)


def _storm(there: Scene, asked: argparse.Namespace) -> int:
    watch, wrong = Watch(there), list[str]()
    kinds = [one for one in faults(asked.patience) if not asked.only or one.name in asked.only]
    storm = Storm(there, watch, kinds, asked.mean_seconds or _MEAN_SECONDS[asked.servers])
    with watch.beside():
        Storm(there, watch, [], 0).rage(0, studies=1)
        wrong += checks.wrong_verdicts(there)
        print(f"undisturbed: {dict(checks.verdicts(there).values())}", flush=True)
        storm.began = time.monotonic()
        try:
            storm.rage(asked.faults, minutes=asked.minutes)
        except (AssertionError, KeyboardInterrupt) as stopped:
            wrong.append(f"the storm did not come to its end: {stopped!r}")
            storm.calm()
            wrong += checks.wrong_verdicts(there)
        else:
            wrong += checks.wrong_after(there, watch)
    minutes = (time.monotonic() - storm.began) / 60
    ended = sum(1 for study in watch.studies if study["finished_at"])
    print(
        table(
            storm,
            f"\nSeed {asked.seed}: {len(storm.strikes)} faults in {minutes:.0f} minutes, {ended} "
            f"studies came to their end; {len(watch.kept)} results were on a host's disk.",
        ),
        flush=True,
    )
    if len(storm.strikes) >= _ENOUGH_OF_EACH * len(kinds) and not asked.only:
        wrong += checks.not_felt(storm)
    for text, number in there.refusals.most_common():
        print(f"refused {number} times: {text}")
    for line in wrong or ["nothing is wrong"]:
        print(f"WRONG: {line}" if wrong else line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
