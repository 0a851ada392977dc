"""The form that starts a study: what it asks for, and where it says what is wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from advisor.tests import factories
from advisor.tests.drawn import words
from benchmarks.errors import DeviceUnusable
from benchmarks.tests.made_up_host import this_host
from tuning.catalogue.costs import CostKind
from tuning.catalogue.knob import Durability
from tuning.errors import BadRequest, InvalidConfig, Problem
from tuning.models import Study
from tuning.requests.configs import ConfigText
from tuning.requests.device import DeviceRequest
from tuning.requests.study import StudyRequest
from tuning.study_templates.loader import load_template

pytestmark = pytest.mark.django_db

BLANK = {
    "template": "first-answer",
    "name": "",
    "path": "",
    "server": "",
    "driver": "auto",
    "warehouses": "",
    "connections": "",
    "warmup_s": "",
    "measure_s": "",
    "blocks": "",
    "config_name": [""],
    "config_text": [""],
}


class Service:
    """Stands in for create_study: keeps the request, stores a study or refuses."""

    def __init__(self) -> None:
        self.request: StudyRequest | None = None
        self.user: User | None = None
        self.refusal: Exception | None = None

    def __call__(self, request: StudyRequest, user: User) -> Study:
        self.request, self.user = request, user
        if self.refusal:
            raise self.refusal
        return factories.make_study(blocks=1)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Service:
    this_host(driver="sysbench", directories=[tmp_path])
    fake = Service()
    monkeypatch.setattr("advisor.pages.new_study.answer.create_study", fake)
    return fake


def post(client: Client, **fields: Any) -> tuple[int, str]:
    answer = client.post(reverse("study-new"), BLANK | fields)
    return answer.status_code, answer.content.decode()


def beside(text: str, field: str, *, group: bool = False) -> str:
    """The errors that stand beside a field, or a group of them, tied to it for screen readers."""
    [block] = re.findall(rf'<ul class="errorlist" id="id_{field}_error">(.*?)</ul>', text, re.S)
    named = 'role="group"' if group else f'name="{field}"'
    assert re.search(rf'{named}[^>]*aria-describedby="[^"]*id_{field}_error', text)
    return str(block)


def test_the_form_shows_what_empty_fields_mean(admin_client: Client) -> None:
    text = admin_client.get(reverse("study-new")).content.decode()
    assert re.search(r'name="warehouses"[^>]*placeholder="10"', text)
    assert re.search(r'name="measure_s"[^>]*placeholder="10"', text)
    assert "server-default (baseline), dedicated-server, whitepaper-a, advisor, mysqltuner" in text


def facts_of(html: str, name: str) -> str:
    """What the form says of a template, blanks squeezed; with its tag, to see what is hidden."""
    found = re.search(rf'<div [^>]*data-template="{name}"[^>]*>.*?</div>', html, re.DOTALL)
    assert found, name
    tag, _, rest = found[0].partition(">")
    return f"{tag}> {words(rest)}"


def test_each_template_says_what_it_repeats_its_size_and_what_its_source_found(
    admin_client: Client,
) -> None:
    this_host(logical_cpus=4)
    html = admin_client.get("/studies/new/").content.decode()
    quick, knee = facts_of(html, "quick"), facts_of(html, "connections")
    assert " hidden>" in facts_of(html, "first-answer")
    assert " hidden>" not in facts_of(html, "search")
    assert " hidden>" in quick
    assert "Claims of its source" not in quick
    assert "10 warehouses, 4, 8, 16, 32, 64 connections, 3 blocks; 5" in knee
    assert "about 26 min" in knee
    [claim, *_] = load_template("connections").claims
    assert claim.source in knee


def test_an_empty_form_asks_for_the_template_as_it_is(
    admin_client: Client, admin_user: User, service: Service, settings: Any
) -> None:
    status, _ = post(admin_client)
    assert status == 302
    assert service.request == StudyRequest(host=settings.HOST_NAME)
    assert service.user == admin_user


def test_every_field_reaches_the_service(admin_client: Client, service: Service) -> None:
    factories.make_host("driver-1")
    post(
        admin_client,
        name="Mine",
        path="/srv/nvme",
        server="/opt/mysql/bin/mysqld",
        driver="sysbench",
        load_host="driver-1",
        warehouses="20",
        connections="8, 32",
        warmup_s="0",
        measure_s="60",
        blocks="5",
        config_name=["first", "", ""],
        config_text=["[mysqld]\nmax_connections=10\n", "[mysqld]\n", ""],
        config_files=[SimpleUploadedFile("prod.cnf", b"[mysqld]\nsync_binlog=1\n")],
        durability="D1",
        translate_from="mysql 5.7",
        keeps_duplicates="on",
        races="no",
        confirms="yes",
        budget_minutes="90",
        allow=["observability", "recovery-time"],
    )
    request = factories.sure(service.request)
    assert (request.name, request.driver) == ("Mine", "sysbench")
    assert request.load_host == "driver-1"
    assert request.devices == [DeviceRequest(path=Path("/srv/nvme"))]
    assert request.server == Path("/opt/mysql/bin/mysqld")
    assert (request.warehouses, request.connections) == (20, [8, 32])
    assert (request.durability, request.translate_from) == (Durability.D1, "mysql 5.7")
    assert request.keeps_duplicates
    assert (request.races, request.confirms, request.budget_minutes) == (False, True, 90)
    assert (request.warmup_s, request.measure_s, request.blocks) == (0, 60, 5)
    assert request.allow == {CostKind.OBSERVABILITY, CostKind.RECOVERY_TIME}
    names = [config.name for config in request.configs]
    assert names == ["first", "pasted-2", "prod"]
    assert request.configs[-1] == ConfigText.of("prod", b"[mysqld]\nsync_binlog=1\n")


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("warehouses", "0", "greater than or equal to 1"),
        ("connections", ",".join(map(str, range(1, 22))), "at most 20 items"),
        ("tables", "2", "only sysbench"),
    ],
)
def test_a_bad_value_is_said_beside_its_field(
    admin_client: Client, service: Service, field: str, value: str, error: str
) -> None:
    status, text = post(admin_client, **{field: value})
    assert status == 400
    assert error in beside(text, field)
    assert service.request is None


@pytest.mark.parametrize(
    ("refusal", "field"),
    [
        (DeviceUnusable("/nowhere does not exist", field="devices[0].path"), "path"),
        (BadRequest("so many blocks are not to be had", field="blocks"), "blocks"),
    ],
)
def test_what_the_service_refuses_is_said_beside_its_field(
    admin_client: Client, service: Service, refusal: Exception, field: str
) -> None:
    service.refusal = refusal
    status, text = post(admin_client)
    assert status == 400
    assert str(refusal) in beside(text, field)


def test_refused_lines_of_a_config_are_listed_once_and_the_texts_kept(
    admin_client: Client, service: Service
) -> None:
    service.refusal = InvalidConfig(
        [
            Problem("prod", 2, "datadir", "a path is not a tuning variable"),
            Problem("prod", 3, "innodb_io_capacitie", "on host a: unknown variable"),
            Problem("prod", None, "innodb_redo_log_capacity", "does not fit beside the data"),
        ]
    )
    upload = SimpleUploadedFile("prod.cnf", b"[mysqld]\ndatadir=/x\ninnodb_io_capacitie=1\n")
    status, text = post(admin_client, config_files=[upload])
    assert status == 400
    said = result(text)
    assert said.count("innodb_io_capacitie") == 1
    assert "2 datadir=/x kept" in said
    # What no line says for itself.
    assert "prod – innodb_redo_log_capacity does not fit beside the data" in said
    assert '<a href="#check-result">See what was refused.</a>' in text
    # A browser forgets chosen files: the text comes back to be corrected in the page.
    assert "innodb_io_capacitie=1" in text[text.index("<textarea") :]


# --- checking only -------------------------------------------------------------------------------

OLD = "[mysqld]\nquery_cache_size = 64M\ninnodb_io_capacity = 2000\n"


def result(text: str) -> str:
    """What stands in the place where a check is shown, without markup."""
    part = text[text.index('id="check-result"') : text.index("Start study")]
    return words(part)


def test_a_check_shows_every_line_and_starts_nothing(
    admin_client: Client, service: Service
) -> None:
    status, text = post(admin_client, config_name=["old"], config_text=[OLD], action="check")
    assert status == 200
    assert service.request is None
    assert "Accepted for MySQL 9.7.4: 1 line measured, 1 removed." in result(text)
    assert "3 innodb_io_capacity = 2000 measured innodb_io_capacity = 2000" in result(text)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, "Nothing to check"),
        ({"config_text": [OLD], "connections": "8;32"}, "Connections: must be whole numbers"),
    ],
)
def test_what_keeps_a_check_from_being_made_is_said_where_its_result_would_be(
    admin_client: Client, service: Service, fields: dict[str, Any], error: str
) -> None:
    _, text = post(admin_client, action="check", **fields)
    assert error in result(text)
    # htmx swaps only what is no error.
    answer = admin_client.post(
        reverse("study-new"),
        BLANK | fields | {"action": "check"},
        headers={"HX-Request": "true"},
    )
    assert answer.status_code == 200
