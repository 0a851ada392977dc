"""The client of a pipeline and the examples of docs/how-to/ci.md, against a played advisor."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "how-to" / "ci.md").read_text()
FILES = {
    "junit.xml": "<testsuites/>",
    "summary.md": "### Gate",
    "my.cnf": "# recommended",
}


@dataclass
class Advisor:
    """Answers as the API does; `verdict` is that after the second look."""

    verdict: str = "pass"
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    refusals: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    refused: dict[str, Any] | None = None
    looks: int = 0
    study_looks: int = 0

    def gate(self) -> dict[str, Any]:
        is_over = self.looks > 1
        return {
            "id": 7,
            "name": "gate",
            "candidate": "my",
            "baseline": "production",
            "verdict": self.verdict if is_over else "running",
            "reason": "because",
            "progress": {"fraction": self.looks / 2, "text": f"pair {self.looks}"},
        }


@pytest.fixture
def advisor() -> Iterator[Advisor]:
    played = Advisor()

    class Handler(BaseHTTPRequestHandler):
        def answer(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            played.keys.append(self.headers.get("Idempotency-Key", ""))
            played.tokens.add(self.headers["Authorization"])
            if played.refusals:
                status, headers = played.refusals.pop(0)
                self.answer(status, "busy", headers)
            elif played.refused:
                self.answer(400, json.dumps({"error": played.refused}))
            else:
                played.bodies.append(body)
                self.answer(201, json.dumps(played.gate()))

        def do_GET(self) -> None:
            name = self.path.rpartition("/")[2]
            if self.path == "/api/v1/studies/7/":
                played.study_looks += 1
                state = "finished" if played.study_looks > 1 else "running"
                self.answer(200, json.dumps({"id": 7, "state": state}))
                return
            if name in FILES:
                self.answer(200, FILES[name])
                return
            played.looks += 1
            self.answer(200, json.dumps(played.gate()))

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    played.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield played
    server.shutdown()
    server.server_close()


def programs(place: Path) -> Path:
    """A directory for PATH: the client as if it were installed, and installers that do nothing."""
    found = place / "bin"
    found.mkdir()
    client = f'PYTHONPATH="{ROOT}/client" exec "{sys.executable}" -m oltp_gate.main "$@"\n'
    for name, text in (
        ("oltp-gate", client),
        ("pipx", 'test "$*" = "install ./advisor/client"\n'),
        ("pip", 'test "$*" = "install ./advisor/client"\n'),
    ):
        (found / name).write_text(f"#!/bin/sh\n{text}")
        (found / name).chmod(0o755)
    return found


@pytest.fixture
def job(tmp_path: Path, advisor: Advisor) -> dict[str, str]:
    """The environment of a pipeline's job, which runs in `tmp_path`."""
    (tmp_path / "my.cnf").write_text("[mysqld]\ninnodb_io_capacity = 4000\n")
    names = ("GITHUB_REPOSITORY", "CI_PROJECT_PATH", "JOB_NAME")
    return {
        "PATH": f"{programs(tmp_path)}:{os.environ['PATH']}",
        "ADVISOR_URL": advisor.url,
        "ADVISOR_TOKEN": "oltp_secret",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "page.md"),
        **dict.fromkeys(names, "shop/orders"),
    }


def shell(script: str, job: dict[str, str], place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=place,
        env=job,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("verdict", "code"), [("pass", 0), ("fail", 1), ("undecided", 3), ("error", 2)]
)
def test_the_client_waits_and_exits_as_the_verdict_says(
    verdict: str, code: int, advisor: Advisor, job: dict[str, str], tmp_path: Path
) -> None:
    advisor.verdict = verdict
    done = shell(
        "oltp-gate --config my.cnf --baseline production --limit 'p95 +5%' --junit j "
        "--markdown m --pairs 9 --budget 5 --durability D1 --binlog on --load-host load1 "
        "--set innodb-io-capacity=7000 --json d",
        job,
        tmp_path,
    )
    assert (done.returncode, done.stdout) == (code, f"{verdict}: because\n")
    assert "pair 1" in done.stderr
    assert [(tmp_path / name).read_text() for name in "jm"] == list(FILES.values())[:2]
    (body,) = advisor.bodies
    assert body["candidate"]["config"]["text"] == (tmp_path / "my.cnf").read_text()
    assert body["baseline"] == {"stored": "production"}
    assert (body["limits"], body["max_pairs"], body["budget_minutes"]) == ({"p95_ms": 5.0}, 9, 5)
    assert (body["durability"], body["binary_log"]) == ("D1", "on")
    assert body["load_host"] == "load1"
    assert body["candidate"]["knobs"] == {"innodb_io_capacity": "7000"}
    assert json.loads((tmp_path / "d").read_text())["verdict"] == verdict
    assert advisor.tokens == {"Bearer oltp_secret"}


@pytest.mark.slow
def test_what_cannot_be_asked_is_an_error_that_says_why(
    advisor: Advisor, job: dict[str, str], tmp_path: Path
) -> None:
    advisor.refused = {"code": "invalid_config", "message": "no", "details": {"problems": []}}
    for command, says in (
        ("oltp-gate --config my.cnf", "invalid_config: no"),
        ("oltp-gate --config nowhere.cnf", "nowhere.cnf"),
        ("oltp-gate --config my.cnf --limit 'p95 -5%'", "is no limit"),
        ("oltp-gate --set innodb_io_capacity", "is not NAME=VALUE"),
        ("ADVISOR_TOKEN= oltp-gate --config my.cnf", "ADVISOR_TOKEN"),
        ("oltp-gate --url file:///etc --config my.cnf", "is not an http address"),
    ):
        done = shell(command, job, tmp_path)
        assert done.returncode == 2, command
        assert says in done.stderr
        assert "oltp_secret" not in done.stderr


def test_a_busy_advisor_is_asked_again_with_the_same_key_and_its_token_goes_nowhere_else(
    advisor: Advisor, job: dict[str, str], tmp_path: Path
) -> None:
    advisor.refusals = [(503, {"Retry-After": "0"}), (429, {"Retry-After": "0"})]
    assert shell("oltp-gate --config my.cnf", job, tmp_path).returncode == 0
    assert len(advisor.keys) == 3
    assert len(set(advisor.keys)) == 1
    assert len(advisor.bodies) == 1
    advisor.refusals = [(302, {"Location": f"{advisor.url}/elsewhere"})]
    before = advisor.looks
    assert shell("oltp-gate --config my.cnf", job, tmp_path).returncode == 2
    assert advisor.looks == before


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, flags=re.DOTALL)


def steps() -> dict[str, list[str]]:
    """The shell steps of the examples of the guide, by system."""
    github, gitlab = map(yaml.safe_load, blocks("yaml"))
    (jenkins,) = blocks("groovy")
    return {
        "GitHub": [one["run"] for one in github["jobs"]["database"]["steps"] if "run" in one],
        "GitLab": gitlab["database"]["script"],
        "Jenkins": re.findall(r"sh '''(.*?)'''", jenkins, flags=re.DOTALL),
    }


@pytest.mark.parametrize("system", ["GitHub", "GitLab", "Jenkins"])
def test_the_steps_of_the_examples_do_what_they_say(
    system: str, advisor: Advisor, job: dict[str, str], tmp_path: Path
) -> None:
    found = steps()[system]
    assert found
    for step in found:
        done = shell(step, job, tmp_path)
        assert done.returncode == 0, done.stderr
    assert advisor.bodies[0]["name"] == "shop/orders"
    assert (tmp_path / "gate.xml").read_text() == FILES["junit.xml"]
    if system == "GitHub":
        assert (tmp_path / "page.md").read_text() == FILES["summary.md"]
    advisor.verdict = "fail"
    assert [shell(step, job, tmp_path).returncode for step in found if "oltp-gate" in step] == [1]


@pytest.mark.slow
@pytest.mark.parametrize(("verdict", "code"), [("pass", 0), ("fail", 1), ("undecided", 3)])
def test_the_script_leads_to_a_recommended_file_and_a_verdict(
    verdict: str, code: int, advisor: Advisor, job: dict[str, str], tmp_path: Path
) -> None:
    (script,) = re.findall(r"<!-- script -->\n```sh\n(.*?)```", GUIDE, flags=re.DOTALL)
    advisor.verdict = verdict
    sizes = {"WAREHOUSES": "1", "CONNECTIONS": "1", "MEASURE_S": "1", "BLOCKS": "2", "PAIRS": "4"}
    done = shell(script, job | sizes, tmp_path)
    assert done.returncode == code, done.stderr
    study, gate = advisor.bodies
    assert (study["name"], study["connections"], study["blocks"]) == ("production", [1], 2)
    assert study["configs"][0]["text"] == (tmp_path / "my.cnf").read_text()
    assert (gate["baseline"], gate["measure_s"]) == ({"stored": "production"}, 1)
    assert (tmp_path / "recommended.cnf").read_text() == FILES["my.cnf"]
    assert (tmp_path / "gate.xml").read_text() == FILES["junit.xml"]
