"""The script of docs/how-to/ci.md, on a new installation with a real server: shortest runs."""

from __future__ import annotations

import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen
from xml.etree import ElementTree as ET

import pytest

from advisor.tests.harness import Home, wait_for
from advisor.tests.receiver import Receiver, receiving
from advisor.tests.test_ci_client import GUIDE, programs
from advisor.tests.test_notify import is_genuine
from benchmarks.servers.reach import free_port

pytestmark = [pytest.mark.server, pytest.mark.slow]

# A second on a busy host may pass without a transaction, which of a baseline ends the gate.
SIZES = {
    "WAREHOUSES": "2",
    "CONNECTIONS": "1",
    "WARMUP_S": "0",
    "MEASURE_S": "2",
    "BLOCKS": "2",
    "PAIRS": "4",
}


def script() -> str:
    (found,) = re.findall(r"<!-- script -->\n```sh\n(.*?)```", GUIDE, flags=re.DOTALL)
    return str(found)


@pytest.mark.timeout(420)
def test_the_script_leads_from_a_new_installation_to_a_verdict_and_a_recommended_file(
    home: Home, tmp_path: Path
) -> None:
    with receiving() as receiver:
        run_the_script(home, tmp_path, receiver)


def run_the_script(home: Home, tmp_path: Path, receiver: Receiver) -> None:
    """While a program listens for what ends."""
    port = free_port()
    place = {"ADVISOR_SERVERS": str(home.server.path), "ADVISOR_DEVICE": str(home.device)}
    listed = {"ADVISOR_NOTIFY_URL": receiver.url, "ADVISOR_NOTIFY_KEY": "a key"}
    # A run without work because the host stood still is measured again, as anywhere else.
    stalls = {"ADVISOR_STALL_LIMIT_PCT": "100"}
    home.start("serve", "--no-first-study", ADVISOR_PORT=str(port), **place, **listed, **stalls)
    url = f"http://127.0.0.1:{port}"
    wait_for(lambda: is_ready(url), 120)
    made = home.run("token", "create", "--role", "operator", "pipeline", "--days", "1")
    token = re.search(r"oltp_\w+", made.stdout)
    assert token, made.stderr
    (tmp_path / "my.cnf").write_text("[mysqld]\ninnodb_io_capacity = 4000\n")
    environment = home.environment(ADVISOR_URL=url, ADVISOR_TOKEN=token[0], **SIZES)
    environment["PATH"] = f"{programs(tmp_path)}:{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script()],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=360,
    )
    # Four pairs of two seconds each show nothing; what counts is that there is a verdict.
    assert done.returncode in (0, 1, 3), done.stdout + done.stderr
    (suite,) = ET.parse(tmp_path / "gate.xml").getroot()  # noqa: S314
    assert suite.get("tests") == "4"
    assert (tmp_path / "recommended.cnf").read_text().startswith("#")
    verdict = {0: "pass", 1: "fail", 3: "undecided"}[done.returncode]
    assert f"Gate release: {verdict}" in (tmp_path / "gate.md").read_text()
    with closing(sqlite3.connect(home.database)) as database:
        studies = database.execute("SELECT name FROM tuning_study ORDER BY id").fetchall()
        measured = (
            "SELECT DISTINCT block, candidate_id FROM tuning_slot JOIN benchmarks_run "
            "ON benchmarks_run.id = run_id WHERE study_id = 1 AND state = 'ok'"
        )
        blocks = [block for block, _ in database.execute(measured)]
    assert studies == [("production",), ("release",)]
    assert sorted(blocks) == [1, 1, 2, 2]  # of two configs
    wait_for(lambda: len(receiver.got) > 1, 60, "it was not told of both ends")
    of_study, of_gate = receiver.messages
    assert (of_study["event"], of_study["state"]) == ("study.ended", "finished")
    assert (of_gate["event"], of_gate["verdict"]) == ("gate.ended", verdict)
    assert all(is_genuine("a key", *one) for one in receiver.got)


def is_ready(url: str) -> bool:
    """Whether it answers that all is there; 503 is an URLError."""
    try:
        with urlopen(f"{url}/readyz", timeout=5) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False
