"""The report of a study: what it has, what is cut, and what no paper shows."""

from __future__ import annotations

import html
import re
import shlex
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import load_command_class
from django.test import Client
from django.urls import reverse

from advisor.pages.report.paper import WIDTH, narrowed
from advisor.tests import factories
from advisor.tests.search_study import searching_study
from benchmarks.models import Run
from tuning.catalogue.costs import CostKind
from tuning.export.comments import comment, item, labelled
from tuning.models import Study, StudyState
from tuning.scale_model.model import ScaleModel
from tuning.statistics.aim import Aim
from tuning.statistics.data import Metric
from tuning.statistics.gate import GatePlan, Limit

pytestmark = pytest.mark.django_db


def words(client: Client, study: Study) -> str:
    answer = client.get(reverse("study-report", args=[study.pk]))
    assert answer.status_code == 200
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def asked(text: str) -> dict[str, Any]:
    """What the command in a report asks for."""
    found = re.search(r"manage\.py ((?:advise|gate) .*?) Server program", text)
    assert found is not None
    name, *arguments = shlex.split(found[1])
    parser = load_command_class("advisor", name).create_parser("manage.py", name)
    return vars(parser.parse_args(arguments))


def test_a_report_has_question_verdict_ranking_conditions_command_and_file(
    admin_client: Client,
) -> None:
    study = factories.raced_study()
    text = words(admin_client, study)
    for part in ("Question", "Verdict", "Ranking", "Charts", "Conditions", "How to repeat it"):
        assert part in text
    assert "Verdict Use whitepaper-3: +37.9 % tpmP" in text
    assert "95 % interval +33.8 to +44.3 %" in text
    assert "AMD EPYC 7B13" in text
    assert "memory 25.2 GB" in text
    assert "innodb_io_capacity = 3000" in text, "the file of whitepaper-3"
    markup = admin_client.get(reverse("study-report", args=[study.pk])).content.decode()
    [part] = re.findall(r'<span class="part">([^<]*\ninnodb_io_capacity = 3000)\n', markup)
    assert part.startswith("# "), "with its comment"
    assert "\n\n" not in part
    assert "No run was disturbed" in text
    assert asked(text)["blocks"] == 5
    assert f"/studies/{study.pk}/" in text


def test_the_command_of_a_search_has_its_budget_and_what_it_aims_at(admin_client: Client) -> None:
    aim = Aim(Metric.P95, {Metric.TPMP: 5000.0})
    text = words(admin_client, searching_study(2, aim=aim))
    options = asked(text)
    assert options["search"]
    assert options["blocks"] is None
    assert options["budget"] == 45
    assert options["objective"] == "p95"
    assert options["keep"] == ["tpmP>=5000"]
    assert "Which config (template search) is best" in text
    assert "2 configs measured in short runs so far. Best so far: search-" in text
    assert "Ranking" not in text, "before the first block of the race"
    assert "Charts" not in text


def test_the_command_of_a_search_has_what_was_chosen_of_it(admin_client: Client) -> None:
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
    options = asked(words(admin_client, study))
    assert options["knobs"] == "innodb_io_capacity,innodb_lru_scan_depth"
    assert options["free"] == "table_open_cache"
    assert options["pin"] == ["init_connect=SET NAMES 'utf8mb4'"]
    assert options["bound"] == ["innodb_io_capacity=200..4000"]
    assert not options["warm_start"]
    assert options["take_apart"] is False
    assert options["recovery"] is None, "usual of a search"
    assert options["allow"] == {CostKind.STEADINESS}


def test_the_command_has_load_hosts_crash_tests_time_and_the_first_blocks(
    admin_client: Client,
) -> None:
    drivers = [factories.make_host(name) for name in ("load-1", "load-2")]
    workload = factories.make_workload(load_hosts=drivers)
    study = factories.measured_study(workloads=[workload], blocks=2)
    Study.objects.update(
        blocks=5, added_blocks=3, takes_apart=True, crash_tests=True, budget_minutes=30
    )
    Study.objects.update(keeps_duplicates=True)
    options = asked(words(admin_client, study))
    assert options["blocks"] == 2
    assert options["budget"] == 30
    assert options["load_host"] == ["load-1", "load-2"]
    assert options["take_apart"]
    assert options["recovery"]
    assert options["keep_duplicates"]
    assert options["memory_limit"] is None


def test_the_command_has_the_memory_or_the_server_that_it_stands_for(
    admin_client: Client,
) -> None:
    limit = {"name": "native", "memory_bytes": 400 * 10**6}
    device = factories.make_device(emulation=limit, emulation_label="400 MB")
    study = factories.make_study(device=device, blocks=1)
    assert asked(words(admin_client, study))["memory_limit"] == 400
    model = asdict(ScaleModel(200 * 10**9, 48 * 10**9, 10, 10**8))
    options = asked(
        words(admin_client, factories.make_study(device=device, blocks=1, scale_model=model))
    )
    assert (options["data_size"], options["memory"]) == (200 * 10**9, 48 * 10**9)
    assert options["memory_limit"] is None


def test_the_command_of_a_gate_asks_for_a_gate(admin_client: Client) -> None:
    plan = GatePlan((Limit(Metric.TPMP, 0.03), Limit(Metric.P95, 0.05)), 0.9, max_pairs=12)
    names = factories.NAMES[:2]
    facts: dict[str, Any] = {"gate": plan.as_json(), "template": "gate", "binary_log": "on"}
    study = factories.make_study(name="every night", names=names, blocks=1, **facts)
    text = words(admin_client, study)
    options = asked(text)
    candidate = study.candidates.select_related("config").get(is_baseline=False)
    assert options["name"] == "every night"
    assert candidate.config.hash.startswith(options["config"])
    assert options["baseline"] == "default"
    assert str(options["server"]) == str(options["baseline_server"]) == study.server.path
    assert options["limit"] == list(plan.limits)
    assert (options["confidence"], options["pairs"]) == (90.0, 12)
    assert options["binlog"] == "on"
    assert "Configs of your own" not in text


def test_the_command_emulates_what_was_emulated(admin_client: Client) -> None:
    native = factories.make_device()
    emulated = factories.emulated_device(data_dir=native.data_dir)
    study = factories.make_study(device=native, others=[emulated], blocks=1)
    options = asked(words(admin_client, study))
    assert len(options["device"]) == 1
    assert options["emulate"] == ["native", "hdd"]


@pytest.mark.long
def test_a_report_is_cut_to_what_fits_and_says_so(admin_client: Client) -> None:
    names = ["server-default", *(f"config-{number:02}-" + "x" * 80 for number in range(24))]
    devices = [factories.make_device(data_dir=f"/srv/{number}") for number in range(10)]
    study = factories.measured_study(
        names=names, device=devices[0], others=devices[1:], blocks=1, name="y" * 200
    )
    text = words(admin_client, study)
    assert "22 more on the study's page" in text
    assert "Which of 25 configs " in text
    assert re.search(r"config-\d\d-x+…x+ ", text)
    assert "Charts: SATA SSD at /srv/0 " in text, "of which ranking they are"
    assert "4 more rankings on the study's page" in text
    assert text.count("baseline") > 6, "the baseline is in each ranking, whatever its rank"


def test_a_report_before_the_first_result_says_so(admin_client: Client) -> None:
    text = words(admin_client, factories.make_study(state=StudyState.RUNNING, blocks=1))
    assert "No run has a result yet." in text
    assert "could be compared" not in text


def test_reports_without_a_result_say_why_and_unsafe_files_are_not_printed(
    admin_client: Client,
) -> None:
    failed = factories.make_study(
        state=StudyState.FAILED,
        blocks=1,
        reason="no server started",
        started_at=factories.BEGIN,
        finished_at=factories.BEGIN + timedelta(minutes=1),
    )
    for slot in failed.slots.select_related("run__slot"):
        factories.fail(slot.run)
    text = words(admin_client, failed)
    assert " Failed. Measured 2026-11-21 09:30 to 2026-11-21 09:31 UTC on host" in text
    assert "Verdict No server started. Nothing to compare with server-default: every other" in text
    assert "(the server exited with status 1 before it answered)" in text
    assert "0, 1 without a result" in text
    assert "Conditions" not in text, "there are none"
    assert "Not finished: what is known so far" in words(
        admin_client, factories.make_study(blocks=0)
    )
    unsafe = words(admin_client, factories.unsafe_study(blocks=1))
    assert "may lose data in a crash" in unsafe
    assert "innodb_doublewrite = OFF" not in unsafe


def test_a_cancelled_study_says_by_whom_and_one_of_the_baseline_alone_asks_no_more(
    admin_client: Client,
) -> None:
    facts: dict[str, Any] = {"reason": "cancelled by dba", "finished_at": factories.BEGIN}
    study = factories.make_study(state=StudyState.CANCELLED, blocks=1, **facts)
    assert " Cancelled by dba. Not begun on host db-host-1" in words(admin_client, study)
    alone = words(admin_client, factories.measured_study(names=["server-default"], blocks=2))
    assert "How fast is the baseline (template quick) on SATA SSD" in alone
    assert "12 s measured? Seed" in alone


def test_conditions_have_what_all_devices_share_once_and_the_rest_of_each(
    admin_client: Client,
) -> None:
    devices = [
        factories.make_device(kind=kind, data_dir=f"/srv/{kind}") for kind in ("hdd", "nvme")
    ]
    study = factories.measured_study(device=devices[0], others=devices[1:], blocks=1)
    other = factories.FINGERPRINT | {"data_kind": "nvme", "data_model": "Micron 7450"}
    Run.objects.filter(slot__study=study, device=devices[1]).update(fingerprint=other)
    text = words(admin_client, study)
    conditions = text[text.index("Conditions") : text.index("How to repeat it")]
    assert conditions.count("AMD EPYC 7B13") == conditions.count("ext4") == 1
    assert "data device: kind" not in conditions
    assert "HDD at /srv/hdd SATA SSD, Samsung SSD 870 EVO 1TB" in conditions
    assert "NVMe at /srv/nvme NVMe, Micron 7450" in conditions


def test_an_ended_search_without_a_race_has_no_ranking(admin_client: Client) -> None:
    study = searching_study(2)
    Study.objects.update(state=StudyState.FINISHED, finished_at=factories.BEGIN)
    study.refresh_from_db()
    text = words(admin_client, study)
    assert "Ranking" not in text
    assert "Search space: 4 variables (innodb_buffer_pool_size, innodb_io_capacity" in text
    assert "2 configs measured. None of them raced." in text


def test_comments_of_the_file_are_wrapped_as_comments() -> None:
    about = "Whether I/O on data files uses the operating system's page cache (fsync) or not."

    file = [
        *labelled("Device", "a device with a name as long as names of devices are, on a host"),
        *labelled("Server", "MySQL 9.7.4"),
        "#",
        *comment("Not tested:"),
        *item("devices, server versions, hosts and workloads other than those above"),
        *item("more data than this"),
        "",
        *comment(about),
        "innodb_flush_method = O_DIRECT",
    ]
    lines = narrowed("\n".join(file))
    assert lines == [
        "# Device:     a device with a name as long as names of",
        "#             devices are, on a host",
        "# Server:     MySQL 9.7.4",
        "#",
        "# Not tested:",
        "#   - devices, server versions, hosts and workloads other",
        "#     than those above",
        "#   - more data than this",
        "",
        "# Whether I/O on data files uses the operating system's page",
        "# cache (fsync) or not.",
        "innodb_flush_method = O_DIRECT",
    ]
    assert max(map(len, lines)) <= WIDTH
    assert narrowed("\n".join(lines)) == lines
