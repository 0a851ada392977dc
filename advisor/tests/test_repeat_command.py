"""The command that asks a study's question again."""

from __future__ import annotations

import html
import shlex
from dataclasses import asdict
from typing import Any

import pytest
from django.core.management import load_command_class
from django.test import Client
from django.urls import reverse

from advisor.pages.study.command import command_of
from advisor.tests import factories
from advisor.tests.search_study import searching_study
from tuning.catalogue.costs import CostKind
from tuning.models import Study
from tuning.results.study_result import StudyResult
from tuning.scale_model.model import ScaleModel
from tuning.statistics.aim import Aim
from tuning.statistics.data import Metric
from tuning.statistics.gate import GatePlan, Limit

pytestmark = pytest.mark.django_db


def asked(study: Study) -> dict[str, Any]:
    """What the command that repeats the study asks for."""
    text = " ".join(command_of(StudyResult(study)))
    name, *arguments = shlex.split(text.removeprefix("manage.py "))
    parser = load_command_class("advisor", name).create_parser("manage.py", name)
    return vars(parser.parse_args(arguments))


def test_the_page_has_the_command(admin_client: Client) -> None:
    study = factories.raced_study()
    page = html.unescape(admin_client.get(reverse("study-detail", args=[study.pk])).text)
    assert " ".join(command_of(StudyResult(study))) in page


def test_the_command_of_a_search_has_its_budget_and_what_it_aims_at() -> None:
    aim = Aim(Metric.P95, {Metric.TPMP: 5000.0})
    options = asked(searching_study(2, aim=aim))
    assert options["search"]
    assert options["blocks"] is None
    assert options["budget"] == 45
    assert options["objective"] == "p95"
    assert options["keep"] == ["tpmP>=5000"]


def test_the_command_of_a_search_has_what_was_chosen_of_it() -> None:
    study = searching_study(0)
    chosen = {
        "knobs": ["innodb_io_capacity", "innodb_lru_scan_depth"],
        "free": ["table_open_cache"],
        "pinned": {"init_connect": "SET NAMES 'utf8mb4'"},
        "bounds": {"innodb_io_capacity": ["200", "4000"]},
        "warm_start": False,
    }
    study.search = (study.search or {}) | {"asked": chosen}
    study.takes_apart, study.crash_tests, study.allowed_costs = False, True, ["steadiness"]
    study.save()
    options = asked(study)
    assert options["knobs"] == "innodb_io_capacity,innodb_lru_scan_depth"
    assert options["free"] == "table_open_cache"
    assert options["pin"] == ["init_connect=SET NAMES 'utf8mb4'"]
    assert options["bound"] == ["innodb_io_capacity=200..4000"]
    assert not options["warm_start"]
    assert options["take_apart"] is False
    assert options["recovery"] is None, "usual of a search"
    assert options["allow"] == {CostKind.STEADINESS}


def test_the_command_has_load_hosts_crash_tests_time_and_the_first_blocks() -> None:
    drivers = [factories.make_host(name) for name in ("load-1", "load-2")]
    workload = factories.make_workload(load_hosts=drivers)
    study = factories.measured_study(workloads=[workload], blocks=2)
    Study.objects.update(
        blocks=5, added_blocks=3, takes_apart=True, crash_tests=True, budget_minutes=30
    )
    Study.objects.update(keeps_duplicates=True)
    study.refresh_from_db()
    options = asked(study)
    assert options["blocks"] == 2
    assert options["budget"] == 30
    assert options["load_host"] == ["load-1", "load-2"]
    assert options["take_apart"]
    assert options["recovery"]
    assert options["keep_duplicates"]
    assert options["memory_limit"] is None


def test_the_command_has_the_memory_or_the_server_that_it_stands_for() -> None:
    limit = {"name": "native", "memory_bytes": 400 * 10**6}
    device = factories.make_device(emulation=limit, emulation_label="400 MB")
    study = factories.make_study(device=device, blocks=1)
    assert asked(study)["memory_limit"] == 400
    model = asdict(ScaleModel(200 * 10**9, 48 * 10**9, 10, 10**8))
    options = asked(factories.make_study(device=device, blocks=1, scale_model=model))
    assert (options["data_size"], options["memory"]) == (200 * 10**9, 48 * 10**9)
    assert options["memory_limit"] is None


def test_the_command_of_a_gate_asks_for_a_gate() -> None:
    plan = GatePlan((Limit(Metric.TPMP, 0.03), Limit(Metric.P95, 0.05)), 0.9, max_pairs=12)
    names = factories.NAMES[:2]
    facts: dict[str, Any] = {"gate": plan.as_json(), "template": "gate", "binary_log": "on"}
    study = factories.make_study(name="every night", names=names, blocks=1, **facts)
    options = asked(study)
    candidate = study.candidates.select_related("config").get(is_baseline=False)
    assert options["name"] == "every night"
    assert candidate.config.hash.startswith(options["config"])
    assert options["baseline"] == "default"
    assert str(options["server"]) == str(options["baseline_server"]) == study.server.path
    assert options["limit"] == list(plan.limits)
    assert (options["confidence"], options["pairs"]) == (90.0, 12)
    assert options["binlog"] == "on"


def test_the_command_emulates_what_was_emulated() -> None:
    native = factories.make_device()
    emulated = factories.emulated_device(data_dir=native.data_dir)
    study = factories.make_study(device=native, others=[emulated], blocks=1)
    options = asked(study)
    assert len(options["device"]) == 1
    assert options["emulate"] == ["native", "hdd"]
