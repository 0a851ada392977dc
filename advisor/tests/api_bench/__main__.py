"""`make bench-api`: how the API stands up to many clients on a database of 10,000 runs.

python -m advisor.tests.api_bench [--clients N] [--pause-ms N] [--seconds N] [--creations N]

The web server runs as `serve` runs it, alone, on a home of its own; clients and server share this
host. It prints what each read costs alone, then p50 and p95 of each

- for 50 clients that each ask every two seconds. A client of a pipeline waits for its gate with a
  request a minute and reads a few files at its end; a script that polls does so every few seconds:
  50 of them that ask every two seconds are more than a fleet of hundreds of pipelines asks for;
- the same while 30 others wait for a study;
- for clients that ask every second, for 50 at the same moment, and for 50 without any pause. These
  show where it ends: 50 requests at once wait for each other however fast one is, and without a
  pause there are always 50. How many are answered in a second is what there is to say of them.

Then 20 clients ask without a pause while, by a row, a run is measured, and 1,000 studies are
requested at 20 at once. The last lines are the promises, of which the first is that 95 of 100
reads of the first two loads take at most 100 ms. Ends with 1 if one is broken. Six minutes at most
on two cores; its times mean something on a host that does nothing else.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from advisor.tests.api_bench.asking import at
from advisor.tests.api_bench.reads import Load, alone, bursts, load
from advisor.tests.api_bench.report import Promises, say
from advisor.tests.api_bench.scene import Scene, fill, settle_in, web_server
from advisor.tests.api_bench.writes import create
from benchmarks.servers.startup import free_port

MAX_READ_MS: Final = 100.0


def main() -> int:
    """Print the tables and the promises; 1 if one was not kept."""
    options = _options()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="advisor-api-", dir="/var/tmp") as home:
        port = free_port()
        settle_in(Path(home), port)
        runs, tokens = fill(Path(home), options.studies, options.clients)
        say(f"{runs} runs in {options.studies} studies, {time.monotonic() - begin:.0f} s to make")
        with web_server(port) as process:
            scene = Scene(port, tokens, options.studies, process)
            promises = _measure(scene, options)
    status = promises.show()
    say(f"{(time.monotonic() - begin) / 60:.1f} minutes")
    return status


def _measure(scene: Scene, options: argparse.Namespace) -> Promises:
    promises, clients = Promises(), options.clients
    pause_s, seconds = options.pause_ms / 1000, options.seconds
    alone(scene)

    usual = f"{clients} clients, each asks every {pause_s:g} s"
    _judge(load(scene, clients, pause_s, seconds), usual, promises)

    often = f"{clients} clients, each asks every {pause_s / 2:g} s (no promise)"
    load(scene, clients, pause_s / 2, seconds / 2).show(often)
    bursts(scene, clients).show(f"{clients} clients at the same moment, five times (no promise)")
    load(scene, clients, 0, seconds / 2).show(f"{clients} clients without a pause (no promise)")

    create(scene, options.creations, options.creators, promises)
    return promises


def _judge(seen: Load, what: str, promises: Promises) -> None:
    seen.show(what)
    p95 = at(seen.all_ms, 0.95)
    promises.note(
        f"{what}: p95 of reads {p95:.0f} ms, at most {MAX_READ_MS:.0f}; {seen.failed} failed",
        kept=p95 <= MAX_READ_MS and not seen.failed,
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=556, help="in the database, of 18 runs")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--pause-ms", type=float, default=2000.0, help="between two requests")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each load")
    parser.add_argument("--beside-s", type=float, default=120.0, help="beside a run")
    parser.add_argument("--creations", type=int, default=1000)
    parser.add_argument("--creators", type=int, default=20)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
