"""Gates through the API, on their pages, as files and on the command line; nothing is measured."""

from __future__ import annotations

import io
import json
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.core.management import CommandError, call_command
from django.template.defaultfilters import capfirst
from django.test import Client
from django.urls import reverse
from rich.console import Console

from advisor.management.commands import gate as command
from advisor.management.commands import serve
from advisor.tests.drawn import flat
from advisor.tests.test_api_studies import client_of
from benchmarks.models import Run
from tuning.comparison.history import gate_history, recent_candidates
from tuning.creation.gates import create_gate
from tuning.gate_facts import GateFacts, gate_facts, junit_xml, markdown_summary
from tuning.models import Candidate, GateVerdict, Study
from tuning.requests.gate import GateSide
from tuning.results.document import Gate
from tuning.statistics.data import Metric
from tuning.statistics.gate import GatePlan
from tuning.studies.commands import cancel_study
from tuning.studies.revision import bump
from tuning.tests.fakes import BINARY, begin, run_to_the_end
from tuning.tests.test_gates import (
    OF_MYSQL,
    OTHER,
    gate,
    measuring,
    reading_back,
    two_servers,
)

__all__ = ["two_servers"]


pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("host_of_fakes", "sent"),
]

GATES = "/api/v1/gates/"
BODY = {
    "name": "nightly",
    "candidate": {"config": {"name": "new", "text": "[mysqld]\ninnodb_io_capacity = 4000\n"}},
    "limits": {"throughput": 5},
    "max_pairs": 8,
    "warmup_s": 1,
    "measure_s": 5,
}


@pytest.fixture(autouse=True)
def only_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command finds its database ready, and looks at no machine."""
    monkeypatch.setattr(command, "prepare_database", lambda **_: None)
    monkeypatch.setattr(command, "look_here", lambda *_: None)


def post(api: Client, **values: Any) -> Any:
    return api.post(GATES, BODY | values, content_type="application/json")


def test_a_gate_is_started_from_its_page(admin_client: Client) -> None:
    address = reverse("gate-new")
    assert address in flat(admin_client.get(reverse("gate-list")))
    proposed = flat(admin_client.get(address, {"candidate_stored": "study:7"}))
    assert 'value="study-7"' in proposed
    typed = {
        "name": "release",
        "candidate_knobs": "innodb_io_capacity=4000",
        "limits": "throughput -5%\np95 +10%",
        "durability": "D0",
        "max_pairs": "8",
        "measure_s": "5",
    }
    made = admin_client.post(address, typed)
    assert made.status_code == 302, flat(made)
    study = Study.objects.get(gate__isnull=False)
    assert made.headers["Location"] == reverse("gate-detail", args=[study.pk])
    assert [limit.loss for limit in GatePlan.from_json(study.gate or {}).limits] == [0.05, 0.1]
    assert study.candidates.get(is_baseline=False).config.knobs["innodb_io_capacity"] == "4000"
    page = flat(admin_client.get(made.headers["Location"]))
    assert "<dd>0 of at most 8</dd>" in page
    assert "throughput at least" in page


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"candidate_knobs": ""}, "a candidate has a config, variables or a server of its own"),
        ({"limits": "speed -5%"}, "speed"),
        ({"name": ""}, "is required"),
        ({"candidate_config": "[mysqld]\nno_such_variable = 1\n"}, "no_such_variable"),
    ],
)
def test_a_refused_gate_says_what_is_wrong(
    typed: dict[str, str], said: str, admin_client: Client
) -> None:
    base = {"name": "x", "candidate_knobs": "innodb_io_capacity=4000", "limits": "throughput -5%"}
    answer = admin_client.post(reverse("gate-new"), base | {"durability": "D0"} | typed)
    assert answer.status_code == 400
    assert said in flat(answer)
    assert not Study.objects.exists()


@pytest.mark.long
def test_a_gate_is_asked_for_waited_for_and_read_through_the_api() -> None:
    api = client_of("ci")
    made = post(api)
    assert made.status_code == 201, made.content
    found = made.json()
    assert (found["verdict"], found["result"]["pairs"]) == ("running", 0)
    assert found["candidate"].startswith("new (")
    again = api.post(
        GATES, BODY, content_type="application/json", headers={"Idempotency-Key": "1"}
    ).json()
    same = api.post(
        GATES, BODY, content_type="application/json", headers={"Idempotency-Key": "1"}
    ).json()
    assert again["id"] == same["id"] != found["id"]
    cancel_study(Study.objects.get(pk=again["id"]))
    study = run_to_the_end(Study.objects.get(pk=found["id"]), measuring(loss=0.4))
    address = f"{GATES}{study.pk}/"
    ended = api.get(address)
    assert (ended.json()["verdict"], ended.json()["state"]) == ("fail", "finished")
    (limit,) = ended.json()["result"]["limits"]
    assert limit["limit"] == "throughput at least -5 %"
    assert limit["high_percent"] < -5
    assert limit["candidate"] == pytest.approx(3600, rel=0.05)
    suite = ET.fromstring(api.get(f"{GATES}{study.pk}/junit.xml").content)[0]  # noqa: S314
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    assert "| throughput at least -5 % | fail |" in api.get(f"{GATES}{study.pk}/summary.md").text
    listed = api.get(f"{GATES}?name=nightly").json()
    assert [one["verdict"] for one in listed["results"]] == ["error", "fail"]
    assert api.get(f"{GATES}?name=other").json()["count"] == 0
    cancelled = api.get(f"{GATES}{again['id']}/").json()
    assert (cancelled["verdict"], cancelled["result"]) == ("error", None)


@pytest.mark.long
def test_of_two_gates_at_once_one_waits_for_the_other() -> None:
    first, second = (post(client_of(name)).json()["id"] for name in ("one", "two"))
    rows = Study.objects.order_by("pk")
    assert list(rows.values_list("state", flat=True)) == ["preparing", "queued"]
    run_to_the_end(rows.get(pk=first), measuring(loss=0.4))
    assert set(Run.objects.values_list("slot__study", flat=True)) == {first}
    assert rows.get(pk=second).state == "preparing"
    run_to_the_end(rows.get(pk=second), measuring())
    ended = Run.objects.order_by("finished_at").values_list("slot__study", flat=True)
    assert list(ended) == sorted(ended)
    verdicts = GateVerdict.objects.order_by("study").values_list("study", "verdict")
    assert list(verdicts) == [(first, "fail"), (second, "pass")]


def test_durability_and_binary_log_of_both_sides_are_chosen_everywhere(
    admin_client: Client,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    api = client_of("ci")
    lossy = {"name": "new", "text": "[mysqld]\ninnodb_flush_log_at_trx_commit = 2\n"}
    chosen = {"durability": "D1", "binary_log": "off"}
    assert post(api, candidate={"config": lossy}, binary_log="off").status_code == 400
    few = {"innodb_io_capacity": "7000"}
    made = post(api, candidate={"config": lossy, "knobs": few}, **chosen)
    assert made.status_code == 201, made.content
    assert made.json()["binary_log"] == "off"
    assert list(Study.objects.values("durability", "binary_log")) == [chosen]
    assert few.items() <= Candidate.objects.get(is_baseline=False).config.knobs.items()
    page = flat(admin_client.get(reverse("gate-detail", args=[made.json()["id"]])))
    assert "<dt>Binary log</dt><dd>off</dd>" in page
    assert "- binary log of both: off" in api.get(f"{GATES}{made.json()['id']}/summary.md").text

    config = tmp_path / "my.cnf"
    config.write_text(lossy["text"])

    def follow(_: Any, studies: list[Study], *__: Any, is_here: bool) -> None:
        cancel_study(studies[0])
        studies[0].refresh_from_db()

    monkeypatch.setattr(command.Command, "follow", follow)
    sizes = ("--config", str(config), "--warmup", "1", "--measure", "5", "--json")
    with pytest.raises(SystemExit):
        call_command("gate", *sizes)
    assert "class D1, but only D0 is allowed" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        call_command(
            *("gate", *sizes, "--durability", "D1", "--binlog", "off"),
            *("--set", "innodb-io-capacity = 7000"),
        )
    assert json.loads(capsys.readouterr().out)["binary_log"] == "off"
    assert list(Study.objects.values("durability", "binary_log")) == [chosen, chosen]
    assert len(set(Candidate.objects.filter(is_baseline=False).values_list("config"))) == 1


@pytest.mark.long
def test_pages_show_the_verdict_the_limits_and_the_history(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What follows from the clock is not worked out anew in between.
    monkeypatch.setattr("tuning.studies.revision.REFRESH_S", 1e12)
    running = gate(name="<b>release</b>")
    begin(running)
    page = flat(admin_client.get(reverse("gate-detail", args=[running.pk])))
    assert "data-poll" in page
    # A gate is judged again only when something has changed.
    [asked] = re.findall(r'data-poll hx-get="([^"]+)"', page)
    assert admin_client.get(asked).status_code == 204
    bump([running.pk])
    assert admin_client.get(asked).status_code == 200
    # It may be decided early.
    assert "At most" in flat(admin_client.get(reverse("study-live", args=[running.pk])))
    cancel_study(running)
    running.refresh_from_db()
    page = flat(admin_client.get(reverse("gate-detail", args=[running.pk])))
    assert f"<p>{capfirst(running.reason)}</p>" in page
    study = run_to_the_end(gate(name="<b>release</b>"), measuring())
    page = flat(admin_client.get(reverse("gate-detail", args=[study.pk])))
    assert "throughput at least \N{MINUS SIGN}5\N{NO-BREAK SPACE}%" in page
    assert "&lt;b&gt;release" in page
    assert "<b>release" not in page
    assert "data-poll" not in page
    assert "Pass" in flat(admin_client.get(reverse("gate-live", args=[study.pk])))
    listed = flat(admin_client.get(reverse("gate-list")))
    assert reverse("gate-detail", args=[study.pk]) in listed
    # Its runs stand on the page of the study, which has no ranking.
    runs = flat(admin_client.get(reverse("study-detail", args=[study.pk])))
    assert reverse("gate-detail", args=[study.pk]) in runs
    assert reverse("study-extend", args=[study.pk]) not in runs


def passed_again(first: Study, candidate: float, baseline: float, change_percent: float) -> Study:
    """A later gate that was asked for the same and passed with these figures; only its rows."""
    verdict, sides = first.gate_verdict, list(first.candidates.order_by("pk"))
    study = Study.objects.get(pk=first.pk)
    study.pk = None
    study.save()
    study.devices.set(first.devices.all())
    study.workloads.set(first.workloads.all())
    for side in sides:
        side.pk, side.study = None, study
        side.save()
    found = {"candidate": candidate, "baseline": baseline, "change_percent": change_percent}
    result = verdict.result | {"limits": [verdict.result["limits"][0] | found]}
    GateVerdict.objects.create(study=study, verdict="pass", reason="kept", result=result)
    return study


@pytest.mark.long
def test_slow_drift_through_many_passing_gates_is_seen(admin_client: Client) -> None:
    first = run_to_the_end(gate(), measuring())
    # Each release is 1 % slower than the last, which is its baseline: every gate passes.
    for number in range(1, 25):
        level = 6000 * math.exp(-0.01 * number + 0.004 * math.sin(7 * number))
        study = passed_again(first, level, level * 1.01, -1.0)
    points = gate_history(study)
    assert {point.verdict for point in points} == {"pass"}
    assert len(points) == 25
    recent = recent_candidates(points, Metric.THROUGHPUT)
    assert recent is not None
    assert recent.is_outside
    assert recent.ratio < 0.9
    page = flat(admin_client.get(reverse("gate-detail", args=[study.pk])))
    assert "throughput of the last 5 gates" in page
    charts = admin_client.get(reverse("gate-charts", args=[study.pk])).json()["charts"]
    [figure] = charts.values()
    assert len(figure["data"][0]["x"]) == 25
    names = {line["name"].partition(",")[0] for line in figure["data"]}
    assert names == {"candidates", "baselines"}


def test_files_keep_what_users_typed_as_text() -> None:
    limit = {
        "metric": "p95_ms",
        "limit": "p95 at most +5 %",
        "candidate": None,
        "baseline": None,
        "verdict": "undecided",
        "change_percent": 2.0,
        "low_percent": None,
        "high_percent": 9.0,
        "pairs": 5,
        "pairs_to_decide": 40,
    }
    facts = GateFacts(
        7,
        'a"<b>|&\x07' + "x" * 60,
        "undecided",
        "a | b <script> \x00",
        "c",
        "d",
        "e",
        "2026-11-22",
        Gate.model_validate(
            {
                "verdict": "undecided",
                "reason": "",
                "pairs": 5,
                "max_pairs": 40,
                "confidence": 0.95,
                "seconds": 60.0,
                "limits": [limit],
                "durability": None,
                "differences": [],
            }
        ),
    )
    suite = ET.fromstring(junit_xml(facts))[0]  # noqa: S314
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")
    text = markdown_summary(facts)
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert "| about 40 pairs |" in text
    refused = GateFacts(1, "n", "fail", "The server refuses it.", "c", "d", "e", "2026")
    assert 'failures="1"' in junit_xml(refused)
    broken = GateFacts(1, "n", "error", "lost: it died", "c", "d", "e", "2026")
    assert 'errors="1"' in junit_xml(broken)


@pytest.mark.long
@pytest.mark.parametrize(
    ("loss", "verdict", "code"), [(0.0, "pass", 0), (0.4, "fail", 1), (0.05, "undecided", 3)]
)
def test_the_command_says_the_verdict_with_its_exit_code_and_files(
    loss: float,
    verdict: str,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = tmp_path / "my.cnf"
    config.write_text("[mysqld]\ninnodb_io_capacity = 4000\n")

    def create(request: Any, *, wake: bool) -> Study:
        # One exactly at the limit passes or fails in one of ten gates: not with this seed.
        return create_gate(request.model_copy(update={"seed": 1}))

    def follow(_: Any, studies: list[Study], *__: Any, is_here: bool) -> None:
        run_to_the_end(studies[0], measuring(loss, noise=0.01))
        studies[0].refresh_from_db()

    monkeypatch.setattr(command, "create_gate", create)
    monkeypatch.setattr(command.Command, "follow", follow)
    options = [
        "--warmup",
        "1",
        "--measure",
        "5",
        "--pairs",
        "6",
        "--limit",
        "throughput -5%",
        "--json",
    ]
    files = [f"--{name}={tmp_path / name}" for name in ("junit", "markdown")]
    with pytest.raises(SystemExit) as ended:
        call_command("gate", "--config", str(config), *options, *files)
    assert ended.value.code == code
    printed = json.loads(capsys.readouterr().out)
    assert printed["verdict"] == verdict
    assert gate_facts(Study.objects.get()).verdict == verdict
    assert f": {verdict}" in (tmp_path / "markdown").read_text()
    assert (tmp_path / "junit").read_text().startswith("<?xml")


def test_a_command_that_cannot_begin_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    for options in ([], ["--config", "/nowhere/my.cnf"], ["--config", "default", "--pairs", "2"]):
        with pytest.raises(SystemExit) as ended:
            call_command("gate", *options)
        assert ended.value.code == 2
    assert "candidate" in capsys.readouterr().err
    # What can be written nowhere is not found out after an hour of measuring.
    with pytest.raises(CommandError, match=r"/nowhere/gate\.xml is not a file path"):
        call_command("gate", "--config", "default", "--junit", "/nowhere/gate.xml")
    assert not Study.objects.exists()


@pytest.mark.long
@pytest.mark.usefixtures("two_servers")
def test_what_two_servers_differ_in_stands_wherever_the_verdict_does(admin_client: Client) -> None:
    study = gate(GateSide(server=OTHER.path), baseline=GateSide(server=BINARY.path))
    study = run_to_the_end(study, reading_back(OF_MYSQL))
    api = client_of("ci")
    found = api.get(f"{GATES}{study.pk}/").json()
    said = "Only the baseline writes a binary log"
    assert said in found["reason"]
    assert found["result"]["durability"] == {"candidate": "D0", "baseline": "D0"}
    names = [one["name"] for one in found["result"]["differences"]]
    assert names[:2] == ["sync_binlog", "log_bin"]
    summary = api.get(f"{GATES}{study.pk}/summary.md").text
    assert said in summary
    assert "| log\\_bin | OFF | ON | durability, by default |" in summary
    suite = ET.fromstring(api.get(f"{GATES}{study.pk}/junit.xml").content)[0]  # noqa: S314
    told = suite.findtext("system-out") or ""
    assert said in told
    assert "log_bin: OFF, baseline ON (durability, by default)" in told
    page = flat(admin_client.get(reverse("gate-detail", args=[study.pk])))
    assert said in page
    assert re.search(r"log_bin <span[^>]*>durability</span></th>\s*<td[^>]*>OFF</td>", page)


@pytest.mark.long
def test_serve_says_how_a_gate_ended_and_has_no_ranking_for_it() -> None:
    ended = run_to_the_end(gate(name="[nightly]"), measuring(loss=0.4))
    cancelled = gate()
    cancel_study(cancelled)
    cancelled.refresh_from_db()
    shown = io.StringIO()
    for study in (ended, cancelled):
        serve._show(study, Console(file=shown, width=100), "http://here/")
    first, page, second, _ = shown.getvalue().splitlines()
    assert first.startswith(f"Gate {ended.pk}, [nightly]: fail. throughput -")
    assert page.startswith(f"Details: http://here/gates/{ended.pk}/ ")
    assert second.startswith(f"Gate {cancelled.pk}, nightly: error. cancelled: ")
