"""The scene of the tests in full: two database hosts and a load host, MySQL and MariaDB, a cable
that is pulled for 40 s, and a browser that asks for the studies and looks at them.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

from advisor.tests.fleet import scene
from advisor.tests.fleet.centre import PASSWORD, WEB_PORT, Fleet, fleet
from advisor.tests.harness import ROOT, find_browser
from bench.tables import markdown
from benchmarks.servers.binary import ServerBinary, identify

CUT_S = 40.0
_SERVERS = ROOT / "var" / "servers"
_FIGURES = """
select host.name as host, server.flavour, run.state, count(*) as runs,
       round(avg(run."throughput")::numeric) as tpmp, round(avg(run.p95_ms)::numeric, 2) as p95,
       round(avg(run.server_path_length / 1e6)::numeric, 2) as server_path,
       round(avg(run.host_path_length / 1e6)::numeric, 2) as host_path
from benchmarks_run run
join benchmarks_host host on host.id = run.host_id
join benchmarks_server server on server.id = run.server_id
group by 1, 2, 3 order by 1, 3
"""


def play(folder: Path) -> None:
    """Play docs/how-to/fleet.md and print the figures. Raises AssertionError if one differs."""
    mysql, mariadb = (identify(_SERVERS / name) for name in ("mysql/mysqld", "mariadb/mariadbd"))
    with fleet(["db1", "db2", "load1", "desk"], folder) as place:
        delayed = [machine.delay(0.5) for machine in place.hosts.values()]
        print(f"delay of 0.5 ms on every machine: {'yes' if all(delayed) else 'no netem here'}")
        place.servers = [mysql.path, mariadb.path]
        workers = ("db1", "db2", "load1")
        for name in workers:
            place.start_worker(name)
        place.wait_for_workers(*workers, seconds=120)
        _play(place, mysql, mariadb)


def _play(place: Fleet, mysql: ServerBinary, mariadb: ServerBinary) -> None:
    began = time.monotonic()
    with sync_playwright() as player, tempfile.TemporaryDirectory() as folder:
        browser = player.chromium.launch(
            executable_path=_chromium_on_desk(place, Path(folder)), args=["--no-sandbox"]
        )
        page = browser.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        _log_in(place, page)
        ask_for_study(place, page, ["db1"], mysql)
        ask_for_study(place, page, ["db2"], mariadb, load_host="load1")
        scene.kill_what_measures(place, "db1")
        scene.kill_and_cut_off(place, "db1", "db2", seconds=CUT_S)
        _look(place, page)
        scene.wait_for_verdicts(place, 600)
        _look(place, page)
        browser.close()
    assert not complaints, complaints
    scene.check_runs(place)
    scene.check_nothing_is_left(place)
    scene.check_hosts_are_named(place)
    rows = place.rows(_FIGURES)
    print(f"both studies ended after {time.monotonic() - began:.0f} s")
    print(
        markdown(
            "Runs of the scene", list(rows[0]), [[str(v) for v in row.values()] for row in rows]
        )
    )
    sizes = place.rows(
        "select round(avg(pg_column_size(r.*))) as run, "
        "(select round(avg(pg_column_size(s.*))) from benchmarks_sample s) as sample "
        "from benchmarks_run r where state = 'ok'"
    )
    print(f"bytes of a real run's row, and of a sample's: {sizes}")


def _chromium_on_desk(place: Fleet, folder: Path) -> str:
    """A program that starts the browser on the desk's machine."""
    found = find_browser()
    assert found, "no browser on PATH"
    program = folder / "chromium"
    words = " ".join(place.hosts["desk"].words(found))
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)
    return str(program)


def _log_in(place: Fleet, page: Page) -> None:
    page.goto(f"http://{place.centre.address}:{WEB_PORT}/")
    page.fill("input[name=username]", "admin")
    page.fill("input[name=password]", PASSWORD)
    page.press("input[name=password]", "Enter")
    page.wait_for_selector("nav")


def ask_for_study(
    place: Fleet,
    page: Page,
    hosts: Sequence[str],
    server: ServerBinary,
    load_host: str = "",
    connections: int = 1,
) -> None:
    """Fill in the form of a small study, one on each of several hosts, and start it."""
    chosen = {"template": "compare", "server": str(server.path), "driver": "sysbench"}
    several = {"host": hosts, "load_host": load_host}
    address = f"http://{place.centre.address}:{WEB_PORT}/studies/new/"
    page.goto(f"{address}?{urlencode(chosen | several, doseq=True)}")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    page.fill("[name=config_name] >> nth=0", "mine")
    page.fill("[name=config_text] >> nth=0", "[mysqld]\ninnodb_io_capacity = 5000\n")
    sizes = {"warehouses": 1, "connections": connections, "warmup_s": 0, "measure_s": 8}
    for name, value in (sizes | {"blocks": 2}).items():
        page.fill(f"[name={name}]", str(value))
    for name in ("races", "confirms"):
        page.select_option(f"[name={name}]", "no")
    page.get_by_role("button", name="Start study").click()
    page.wait_for_url(re.compile(r"/(studies|groups)/\d+/$"))


def _look(place: Fleet, page: Page) -> None:
    """Look at the hosts and at each study."""
    address = f"http://{place.centre.address}:{WEB_PORT}"
    page.goto(f"{address}/hosts/")
    shown = page.inner_text("body")
    for host in ("db1", "db2", "load1"):
        assert host in shown, f"{host} is not among the hosts"
    for host, study in scene.studies(place).items():
        answer = page.goto(f"{address}/studies/{study['id']}/")
        assert answer is not None
        assert answer.ok
        assert host in page.inner_text("body")


def main() -> None:
    """Play it in a directory of its own; where that fails, show what the workers say."""
    with tempfile.TemporaryDirectory(prefix="fleet-scene-") as folder:
        Path(folder).chmod(0o755)
        try:
            play(Path(folder))
        except AssertionError:
            for log in Path(folder).glob("*/worker.log"):
                print(log, log.read_text()[-6000:], file=sys.stderr)
            raise


if __name__ == "__main__":
    main()
