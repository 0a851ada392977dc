"""The same study with the driver beside the server and on a load host: `make bench-load-host`.

Namespaces stand for the machines (`benchmarks.tests.machines`): they share their processors, so
the host path length has the driver's CPU time in both cases. On two real machines it has not.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from advisor.tests.fleet import centre, scene
from advisor.tests.fleet.centre import Fleet
from advisor.tests.harness import ROOT, wait_for
from benchmarks.drivers.select import DRIVERS
from benchmarks.servers.binary import ServerBinary, identify

_RUNS = """
select run."tpmP", run.p95_ms, run.server_path_length, run.host_path_length, run.load_side,
       run.cpu_hz, run.driver_cpu_ms_per_new_order as driver_ms, run.state, run.reason
from benchmarks_run run join tuning_slot slot on slot.run_id = run.id
where slot.study_id = {study} and run.state = 'ok'
"""
_MEASURE_S = 10
_HEAD = ("server", "driver", "load", "runs", "tpmP", "p95", "server", "host", "driver", "rtt", "±")
_UNITS = ("", "", "", "", "", "ms", "kcycles", "kcycles", "kcycles", "ms", "ms")


def main() -> None:
    """Print a line for each server, driver and place of the driver: medians of the runs."""
    if why := centre.why_not():
        sys.exit(why)
    installed = (ROOT / "var" / "servers").resolve()
    found = [*installed.glob("*/mysqld"), *installed.glob("*/mariadbd")]
    servers = [identify(path) for path in found]
    with tempfile.TemporaryDirectory(prefix="advl-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        # tpcc_start cannot be asked to use TLS: its server is offered without.
        with centre.fleet(["db1", "db2", "driver1"], folder) as place:
            place.servers = [server.path for server in servers]
            place.more["db2"] = {"ADVISOR_LOAD_TLS": "false"}
            for host in place.hosts:
                place.start_worker(host)
            place.wait_for_workers(*place.hosts)
            _print(_HEAD)
            _print(_UNITS)
            for server in servers:
                for driver in DRIVERS:
                    for load_host in ("", "driver1"):
                        _line(place, server, driver, load_host)


def _line(place: Fleet, server: ServerBinary, driver: str, load_host: str) -> None:
    host = "db2" if driver == "tpcc-mysql" else "db1"
    study = scene.request_study(
        place,
        host,
        server,
        driver=driver,
        measure_s=_MEASURE_S,
        blocks=1,
        load_host=load_host,
        connections=4,
        warmup_s=3,
    )
    query = f"select state, reason from tuning_study where id = {study}"
    wait_for(lambda: place.rows(query)[0]["state"] in ("finished", "failed"), 400, "no end")
    runs = place.rows(_RUNS.format(study=study))
    side = [_json(run["load_side"])[0] for run in runs if run["load_side"]]
    if not runs:
        print(server.version_text, driver, load_host, place.rows(query)[0]["reason"], flush=True)
        return
    cycles = [run["driver_ms"] / 1000 * run["cpu_hz"] / 1000 for run in runs]
    figures: list[Any] = [
        f"{server.flavour} {server.version_text}"[:20],
        driver,
        load_host or "beside",
        len(runs),
        round(median(run["tpmP"] for run in runs)),
        f"{median(run['p95_ms'] for run in runs):.1f}",
        round(median(run["server_path_length"] for run in runs) / 1000),
        round(median(run["host_path_length"] for run in runs) / 1000),
        round(median(cycles)),
        f"{median(one['round_trip_ms'] for one in side):.3f}" if side else "",
        f"{median(one['clock_error_ms'] for one in side):.3f}" if side else "",
    ]
    _print(tuple(map(str, figures)))


def _print(words: tuple[str, ...]) -> None:
    widths = (20, 11, 8, 5, 7, 7, 8, 8, 8, 7, 7)
    cells = zip(words, widths, strict=True)
    print("  ".join(word.ljust(width) for word, width in cells), flush=True)


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


if __name__ == "__main__":
    main()
