"""The command that repeats a study asks for what its row has stored."""

from __future__ import annotations

import html
import shlex
from pathlib import Path
from typing import Any

import pytest
from django.core.management import load_command_class
from django.test import Client
from django.urls import reverse

from advisor.management.advise_options import read_options
from advisor.management.commands import gate
from advisor.pages.study.command import command_of
from advisor.tests import factories
from tuning.catalogue.costs import CostKind
from tuning.catalogue.knob import Durability
from tuning.models import Study
from tuning.requests.device import DeviceRequest
from tuning.requests.gate import GateRequest
from tuning.requests.search import SearchRequest
from tuning.requests.study import StudyRequest
from tuning.results.build import build
from tuning.results.study_rows import StudyRows
from tuning.statistics.data import Metric
from tuning.statistics.gate import GatePlan, Limit

pytestmark = pytest.mark.django_db


def command(study: Study) -> list[str]:
    devices = build(StudyRows(study)).devices
    return command_of(study.request, devices, is_gate=study.gate is not None)


def asked(study: Study) -> StudyRequest | GateRequest:
    """The request that the command of a study makes."""
    text = " ".join(command(study))
    _, name, *arguments = shlex.split(text)
    parser = load_command_class("advisor", name).create_parser("manage.py", name)
    options = vars(parser.parse_args(arguments))
    if name == "gate":
        return gate.read_options(options)
    request = read_options(options, options["host"])
    assert isinstance(request, StudyRequest)
    return request


def test_the_page_has_the_command(admin_client: Client) -> None:
    study = factories.raced_study()
    page = html.unescape(admin_client.get(reverse("study-detail", args=[study.pk])).text)
    assert " ".join(command(study)) in page


def test_the_command_asks_for_what_was_stored() -> None:
    drivers = [factories.make_host(name) for name in ("load-1", "load-2")]
    workload = factories.make_workload(load_hosts=drivers)
    search = SearchRequest(
        knobs=("innodb_io_capacity", "innodb_lru_scan_depth"),
        free=("table_open_cache",),
        objective="p95",
        keep={"tpmP": 5000.0},
        pinned={"init_connect": "SET NAMES 'utf8mb4'"},
        bounds={"innodb_io_capacity": ("200", "4000")},
        warm_start=False,
    )
    chosen = {"ablates": True, "recovery": False, "keeps_duplicates": True}
    sizes = {"data_size": 200 * 10**9, "memory": 48 * 10**9, "budget_minutes": 30}
    for values in (
        {"allow": frozenset({CostKind.STEADINESS}), "durability": Durability.D1, **chosen},
        {"search": search, "template": "search", **sizes},
    ):
        study = factories.make_study(workloads=[workload], blocks=2)
        factories.keep_request(study, **values)
        stored = StudyRequest.model_validate(study.request)
        devices = [DeviceRequest(path=Path(study.devices.get().data_dir))]
        there = {"devices": devices, "name": ""}
        found = asked(study)
        assert found.as_json() == stored.model_copy(update=there).as_json()


def test_the_command_has_the_limits_of_the_devices() -> None:
    native = factories.make_device()
    emulated = factories.emulated_device(data_dir=native.data_dir)
    request = asked(factories.make_study(device=native, others=[emulated], blocks=1))
    assert isinstance(request, StudyRequest)
    assert [one.emulate for one in request.devices] == ["native", "hdd"]
    limit = {"name": "native", "memory_bytes": 400 * 10**6}
    limited = factories.make_device(emulation=limit, emulation_label="400 MB")
    study = factories.make_study(device=limited, blocks=1)
    request = asked(study)
    assert isinstance(request, StudyRequest)
    assert [one.memory_mb for one in request.devices] == [400]


def test_the_command_of_a_gate_asks_for_a_gate() -> None:
    plan = GatePlan((Limit(Metric.TPMP, 0.03), Limit(Metric.P95, 0.05)), 0.9, max_pairs=12)
    names = factories.NAMES[:2]
    facts: dict[str, Any] = {"gate": plan.as_json(), "template": "gate", "binary_log": "on"}
    study = factories.make_study(name="every night", names=names, blocks=1, **facts)
    stored = GateRequest.model_validate(study.request)
    device = DeviceRequest(path=Path(study.devices.get().data_dir))
    assert asked(study) == stored.model_copy(update={"device": device})
