"""A new study as a guided start: a question, what will happen, checks beside fields, run again."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from advisor.access.roles import Role
from advisor.tests import factories
from advisor.tests.drawn import words
from benchmarks.models import Host
from benchmarks.tests.made_up_host import this_host
from tuning.catalogue.costs import CostKind
from tuning.catalogue.knob import Durability
from tuning.creation.create import create_study, request_again
from tuning.creation.plan import plan_of
from tuning.creation.preview import preview_of
from tuning.models import Study, StudyState
from tuning.requests.configs import ConfigText
from tuning.requests.device import DeviceRequest
from tuning.requests.search import SearchRequest
from tuning.requests.study import StudyRequest
from tuning.results.study_rows import StudyRows
from tuning.studies.budget import StudyBudget
from tuning.studies.progress import study_progress

pytestmark = pytest.mark.django_db
NEW = "/studies/new/"
RISKY = b"[mysqld]\ninnodb_flush_log_at_trx_commit = 2\n"
MINE = b"[mysqld]\ninnodb_io_capacity = 2000\nsync_binlog = 1\n"

SAID = re.compile(r'<div id="id_(\w+)_said" hx-swap-oob="true">(.*?)</div>', re.DOTALL)


@pytest.fixture(autouse=True)
def here(tmp_path: Path) -> Host:
    return this_host(driver="sysbench", directories=[tmp_path])


def page(client: Client, query: str = "") -> str:
    answer = client.get(NEW + query)
    assert answer.status_code == 200
    return answer.content.decode()


def preview(client: Client, **fields: Any) -> str:
    headers = {"HX-Request": "true"}
    asked = {"template": "compare", "driver": "auto", "action": "preview"} | fields
    answer = client.post(NEW, asked, headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_preview_is_that_of_the_device_in_the_address(
    admin_client: Client, tmp_path: Path
) -> None:
    this_host(driver="sysbench", directories=[tmp_path / "usual", tmp_path / "other"])
    assert f"Disk space in {tmp_path / 'usual'}" in words(page(admin_client))
    other = DeviceRequest(path=tmp_path / "other")
    [device] = create_study(
        asked_before().model_copy(update={"devices": [other]}), wake=False
    ).devices.all()
    again = create_study(asked_before().model_copy(update={"name": ""}), wake=False)
    assert re.search(r": M\w+ [\d.]+, .+, \d{4}-\d\d-\d\d$", again.name), "told apart"
    text = words(page(admin_client, f"?device={device.pk}"))
    assert f"Disk space in {tmp_path / 'other'}" in text
    assert f"Disk space in {tmp_path / 'usual'}" not in text


def test_a_wrong_field_keeps_start_off(admin_client: Client) -> None:
    start = '<button type="submit" class="primary" id="start-study"'
    assert f"{start}>Start study" in page(admin_client)
    for fields, is_on in (
        ({"template": "search", "search_pinned": "innodb_io_capacty=200"}, False),
        ({"template": "quick", "warehouses": "-1"}, False),
        ({"config_name": "mine", "config_text": "[mysqld]\nno_such_line = 1\n"}, False),
        ({"template": "quick"}, True),
    ):
        text = preview(admin_client, **fields)
        assert (f'{start} hx-swap-oob="true">Start study' in text) == is_on, fields
        assert (f'{start} hx-swap-oob="true" disabled>' in text) != is_on, fields
    refused = preview(admin_client, config_name="mine", config_text="[mysqld]\nno_such_line = 1\n")
    assert "mine, line 2: no_such_line: " in refused


@pytest.mark.parametrize(
    ("question", "template"),
    [
        *(("best", "search"), ("mine", "compare"), ("published", "quick"), ("device", "quick")),
        ("connections", "connections"),
    ],
)
def test_each_question_begins_with_its_template(
    admin_client: Client, question: str, template: str
) -> None:
    text = page(admin_client, f"?question={question}&host=x")
    assert re.search(rf'<option value="{template}" selected>', text)
    [chosen] = re.findall(r'<a href="([^"]*)"\s+aria-current="true"><strong>', text)
    assert f"question={question}&amp;host=x" in chosen
    assert text.count('name="template"') == 1  # wherever it stands, it is there once
    assert text.count('id="config_files"') == 1
    assert f'<input type="hidden" name="question" value="{question}">' in text
    assert words(text).count("What will happen") == 1
    assert ("8, 16, 32, 64, 128, 256, 512" in text) == (question == "connections")
    assert '<details class="card" id="more-settings">' in text, "nothing in it was changed"
    assert text.count(f'href="{reverse("gate-new")}"') == 1, "whether a change is safe"


def test_the_preview_counts_candidates_runs_time_and_space(admin_client: Client) -> None:
    asked = StudyRequest(
        template="compare",
        configs=[ConfigText.of("mine", MINE)],
        connections=[8, 16],
        blocks=3,
        warmup_s=5,
    )
    seen = preview_of(plan_of(asked))
    # The baseline, twice in each block, and one file, with two numbers of connections.
    # Then up to two pairs for each block.
    assert (seen.candidates, seen.runs, seen.rankings) == (2, 2 * 3 * 3 + 2 * 2 * 6, 2)
    [disk] = seen.disks
    assert 0 < disk.needed < disk.usable
    assert (
        preview_of(plan_of(StudyRequest(template="compare", warehouses=20))).disks[0].needed
        > disk.needed
    )
    searched = preview_of(plan_of(StudyRequest(template="search", budget_minutes=30)))
    assert (searched.runs, searched.seconds) == (None, 1800.0)
    # Ten seconds, and for each of three kills ten beside 30 of load, or as long as a run.
    assert searched.crash_tests_s == 2 * (10 + 3 * (30 + 10))
    longer = StudyRequest(template="search", warmup_s=20, measure_s=40)
    assert preview_of(plan_of(longer)).crash_tests_s == 2 * (10 + 3 * (60 + 10))
    assert preview_of(plan_of(longer.model_copy(update={"recovery": False}))).crash_tests_s == 0
    # The baseline alone is nothing to compare.
    assert "Shown once there is something" in words(page(admin_client, "?template=compare"))

    text = words(
        preview(
            admin_client,
            connections="8, 16",
            blocks="3",
            config_name=["mine"],
            config_text=[MINE.decode()],
        )
    )
    for said in (
        "Candidates 2",
        "1 device, 8 and 16 connections: 2 rankings",
        "at most 42",
    ):
        assert said in text
    assert Study.objects.count() == 0


@pytest.mark.parametrize(
    "asked",
    [
        StudyRequest(template="compare", connections=[8, 16], blocks=1),
        StudyRequest(template="compare", blocks=12, races=False),
        StudyRequest(template="compare", ablates=True),
        StudyRequest(template="compare", durability=Durability.D1),
        StudyRequest(),  # has proposals, and an end
    ],
)
def test_the_preview_counts_what_the_study_counts_then(asked: StudyRequest) -> None:
    configs = [ConfigText.of("mine", MINE)]
    if asked.durability > Durability.D0:
        configs.append(ConfigText.of("risky", RISKY))
    asked = asked.model_copy(update={"configs": configs})
    seen, study = preview_of(plan_of(asked)), create_study(asked)
    assert seen.runs == study_progress(study).runs_total
    assert seen.seconds == StudyBudget(StudyRows(study)).seconds


def test_what_is_wrong_stands_beside_its_field_while_it_is_typed(admin_client: Client) -> None:
    text = preview(admin_client, connections="many", blocks="0")
    said = dict(SAID.findall(text))
    assert "must be whole numbers" in said["connections"]
    assert "greater than or equal to 1" in html.unescape(said["blocks"])
    assert said["warehouses"] == ""  # an error that was there before goes
    # What only the host knows is said as well, before the study is requested.
    refused = preview(admin_client, path="/nowhere/at/all")
    assert "/nowhere/at/all" in dict(SAID.findall(refused))["path"]


def asked_before() -> StudyRequest:
    return StudyRequest(
        template="compare",
        name="Mine, twice",
        configs=[ConfigText.of("mine", MINE)],
        warehouses=3,
        connections=[4, 8],
        warmup_s=2,
        measure_s=7,
        blocks=4,
        durability=Durability.D1,
        races=False,
        confirms=True,
        ablates=False,
        budget_minutes=45,
        allow=frozenset({CostKind.OBSERVABILITY}),
        keeps_duplicates=True,
        recovery=True,
        driver="sysbench",
    )


def test_a_study_is_run_again_as_it_was(client: Client) -> None:
    client.force_login(factories.make_user("otto", Role.OPERATOR))
    asked = asked_before()
    study = create_study(asked, wake=False)
    again = request_again(study)
    differs = {
        name: (getattr(asked, name), getattr(again, name))
        for name in StudyRequest.model_fields
        if getattr(asked, name) != getattr(again, name)
    }
    # What was left to the host is named now.
    assert set(differs) == {"host", "devices", "server"}
    assert again.host == study.host.name
    assert again.configs == asked.configs
    answer = client.post(reverse("study-again", args=[study.pk]))
    newest = Study.objects.latest("pk")
    assert answer["Location"] == reverse("study-detail", args=[newest.pk])
    assert newest.pk != study.pk
    assert newest.request == again.as_json()
    assert [one.config for one in newest.candidates.all()] == [
        one.config for one in study.candidates.all()
    ]
    client.force_login(factories.make_user("vera", Role.VIEWER))
    assert client.post(reverse("study-again", args=[study.pk])).status_code == 403


def test_a_study_fills_in_the_form_to_change_and_run_again(admin_client: Client) -> None:
    study = create_study(asked_before(), wake=False)
    detail = admin_client.get(reverse("study-detail", args=[study.pk])).content.decode()
    assert f'href="{NEW}?again={study.pk}"' in detail
    assert "Run again</button>" not in detail  # it has not ended
    text = page(admin_client, f"?again={study.pk}")
    for name, value in (
        ("name", "Mine, twice"),
        ("connections", "4, 8"),
        ("warehouses", "3"),
        ("blocks", "4"),
        ("budget_minutes", "45"),
    ):
        assert re.search(
            rf'name="{name}"[^>]*value="{value}"|value="{value}"[^>]*name="{name}"', text
        )
    assert "innodb_io_capacity = 2000" in text
    assert re.search(r'name="durability"[^>]*value="D1"[^>]*checked', text)
    assert re.search(r'<details class="card" id="more-settings" open>', text)
    assert 'name="question" value="mine"' in text
    # What will happen stands there before anything is typed.
    assert "1 device, 4 and 8 connections" in words(text)
    assert "about 45 min" in words(text)
    Study.objects.filter(pk=study.pk).update(state=StudyState.FINISHED)
    assert "Run again</button>" in (
        admin_client.get(reverse("study-detail", args=[study.pk])).content.decode()
    )
    assert admin_client.get(f"{NEW}?again=99999").status_code == 404
    # A device that is gone is said, not guessed.
    study.devices.update(retired_at="2026-01-01T00:00Z")
    answer = admin_client.get(f"{NEW}?again={study.pk}", follow=True)
    assert "cannot be run again as it was" in words(answer.content.decode())


def test_what_cannot_be_run_again_says_why_before_anything_is_typed(admin_client: Client) -> None:
    study = factories.measured_study(blocks=1)
    text = words(page(admin_client, f"?again={study.pk}"))
    assert "as it was. There is no workload driver 'tpcc-mysql'" in html.unescape(text)
    assert re.search(r"there are: [a-z, -]+\. ", text)


def test_a_search_is_asked_for_again_with_its_limits_and_bounds() -> None:
    search = SearchRequest(
        knobs=4,
        pinned={"innodb_flush_method": "O_DIRECT"},
        bounds={"innodb_io_capacity": ("200", "9000")},
        objective="p95",
        keep={"throughput": 5000.0, "path-length": 3.5, "recovery": 60.0},
        warm_start=False,
    )
    study = create_study(
        StudyRequest(template="search", search=search, budget_minutes=60), wake=False
    )
    again = request_again(study)
    assert again.search == search
    assert (again.blocks, again.races, again.budget_minutes) == (None, True, 60)
    create_study(again, wake=False)
    assert Path(study.server.path) == again.server
