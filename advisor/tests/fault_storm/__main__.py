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
from pathlib import Path

from advisor.tests.fault_storm import checks, clock
from advisor.tests.fault_storm.costs import table
from advisor.tests.fault_storm.faults import faults
from advisor.tests.fault_storm.scene import Scene, scene
from advisor.tests.fault_storm.storm import Storm
from advisor.tests.fault_storm.watch import Watch
from advisor.tests.fleet import centre
from advisor.tests.harness import ROOT
from benchmarks.servers.binary import identify

_HOSTS = {"db1": "A/A", "db2": "A/B"}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make bench-faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--mean-seconds", type=float, default=2.5, help="between two faults")
    parser.add_argument("--patience", type=float, default=1.0, help="how long the long ones last")
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="kinds of faults, by their names")
    parser.add_argument(
        "--fake",
        nargs="*",
        default=[*_HOSTS],
        choices=[*_HOSTS],
        help="hosts that start no servers, by default all: --fake alone for none",
    )
    parser.add_argument("--keep", type=Path, help="an empty folder in which logs are to stay")
    asked = parser.parse_args(arguments)
    if why := centre.why_not() or clock.why_not():
        print(f"bench-faults: {why}")
        return 1
    server = identify(ROOT / "var" / "servers" / "mariadb" / "mariadbd")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="advisor-storm-", dir="/var/tmp") as name:
        folder = asked.keep or Path(name)
        folder.chmod(0o755)
        with scene(
            folder, server, seed=asked.seed, asks=_HOSTS, blocks=asked.blocks, fakes=asked.fake
        ) as there:
            return _storm(there, asked)


def _storm(there: Scene, asked: argparse.Namespace) -> int:
    watch, wrong = Watch(there), list[str]()
    with watch.notes():
        Storm(there, watch, [], 0).rage(0, studies=1)
        undisturbed = dict(checks.verdicts(there).values())
        print(f"undisturbed: {undisturbed}", flush=True)
        kinds = [one for one in faults(asked.patience) if not asked.only or one.name in asked.only]
        storm, began = Storm(there, watch, kinds, asked.mean_seconds), time.monotonic()
        try:
            storm.rage(asked.faults)
        except (AssertionError, KeyboardInterrupt) as stopped:
            wrong.append(f"the storm did not come to its end: {stopped!r}")
            storm.calm()
    minutes = (time.monotonic() - began) / 60
    ended = sum(1 for study in watch.studies if study["finished_at"])
    print(
        table(
            storm,
            f"\nSeed {asked.seed}: {len(storm.strikes)} faults in {minutes:.0f} minutes, {ended} "
            f"studies came to their end; {len(watch.kept)} results were on a host's disk.",
        ),
        flush=True,
    )
    if there.refusals:
        print(f"asked in vain: {dict(there.refusals)}")
    if wrong:
        wrong += checks.wrong_verdicts(there, undisturbed)
    else:
        wrong += checks.wrong_after(there, watch, undisturbed)
        if len(asked.fake) < len(_HOSTS):
            wrong += checks.left_control_groups()
    if undisturbed["A/A"][0] != "no_difference":
        wrong.append(f"the undisturbed A/A study says {undisturbed['A/A']}")
    for line in wrong or ["nothing is wrong"]:
        print(f"WRONG: {line}" if wrong else line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
