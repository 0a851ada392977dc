"""Studies on two hosts under random faults: is anything lost, left behind or decided wrongly?

make bench-faults SEED=1
"""

from __future__ import annotations

import argparse
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


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make bench-faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--mean-seconds", type=float, default=2.5, help="between two faults")
    parser.add_argument("--patience", type=float, default=1.0, help="how long the long ones last")
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="kinds of faults, by their names")
    parser.add_argument("--fake", nargs="*", default=[], help="hosts that start no servers")
    parser.add_argument("--keep", type=Path, help="an empty folder in which logs are to stay")
    asked = parser.parse_args(arguments)
    if why := centre.why_not() or clock.why_not():
        print(f"bench-faults: {why}")
        return 1
    server = identify(ROOT / "var" / "servers" / "mariadb" / "mariadbd")
    asks = {"db1": "A/A", "db2": "A/B"}
    with tempfile.TemporaryDirectory(prefix="advisor-storm-", dir="/var/tmp") as name:
        folder = asked.keep or Path(name)
        folder.chmod(0o755)
        with scene(
            folder, server, seed=asked.seed, asks=asks, blocks=asked.blocks, fakes=asked.fake
        ) as there:
            return _storm(there, asked)


def _storm(there: Scene, asked: argparse.Namespace) -> int:
    watch = Watch(there)
    with watch.notes():
        Storm(there, watch, [], 0).rage(0, studies=1)
        undisturbed = dict(checks.verdicts(there).values())
        print(f"undisturbed: {undisturbed}", flush=True)
        kinds = [one for one in faults(asked.patience) if not asked.only or one.name in asked.only]
        storm, began = Storm(there, watch, kinds, asked.mean_seconds), time.monotonic()
        storm.rage(asked.faults)
    wrong = checks.wrong_after(there, watch, undisturbed) + checks.left_control_groups()
    if undisturbed["A/A"][0] != "no_difference":
        wrong.append(f"the undisturbed A/A study says {undisturbed['A/A']}")
    minutes = (time.monotonic() - began) / 60
    print(
        table(
            storm,
            f"\nSeed {asked.seed}: {len(storm.strikes)} faults in {minutes:.0f} minutes, "
            f"{len(watch.studies)} studies; {len(watch.kept)} results were on a host's disk.",
        )
    )
    if there.refusals:
        print(f"asked in vain: {dict(there.refusals)}")
    for line in wrong:
        print(f"WRONG: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
