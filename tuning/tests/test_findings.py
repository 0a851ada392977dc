"""A study made from a template says what became of the template's claims."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from benchmarks.inventory.device_lookup import FoundDevice
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.models import Device
from benchmarks.servers.binary import Flavour
from benchmarks.storage.kinds import DeviceKind
from benchmarks.tests.made_up_host import add_directories, change_host
from tuning.creation import plan
from tuning.creation.create import create_study
from tuning.errors import BadRequest
from tuning.models import DurabilityClass, Study, StudyState
from tuning.requests.device import DeviceRequest
from tuning.requests.study import StudyRequest
from tuning.results.boards import boards_of
from tuning.results.build import findings_of
from tuning.results.study_rows import StudyRows
from tuning.study_templates.evaluation import Finding, FindingKind
from tuning.study_templates.loader import load_template
from tuning.tests.fakes import BINARY, measurement, run_to_the_end
from tuning.tests.test_study_race import noisy

pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("host_of_fakes", "sent"),
]
MARIADB = replace(BINARY, flavour=Flavour.MARIADB, version=(10, 11, 19), version_text="10.11.19")


def found_in(study: Study) -> list[Finding]:
    rows = StudyRows(study)
    return findings_of(rows, boards_of(rows))


def test_a_finished_study_has_a_finding_for_each_claim() -> None:
    study = create_study(StudyRequest(template="io-capacity", seed=3, confirms=False))
    Device.objects.update(kind="nvme")
    effects = {"200": 1.0, "2000": 1.3, "10000": 1.4, "15000": 1.5, "30000": 1.2}
    run_to_the_end(study, noisy(effects))
    raised, beyond, few_reasons = found_in(study)
    assert raised.kind is FindingKind.CONFIRMED
    assert "Confirmed here: io-15000 completes " in raised.sentence
    assert raised.device_kind == "nvme"
    assert beyond.kind is FindingKind.CONFIRMED
    assert few_reasons.kind is FindingKind.CONTRADICTED
    assert found_in(study) == [raised, beyond, few_reasons]


def test_each_device_of_a_study_has_its_own_findings(tmp_path: Path) -> None:
    requests = []
    for kind in (DeviceKind.NVME, DeviceKind.HDD):
        add_directories(tmp_path / kind)
        requests.append(DeviceRequest(path=tmp_path / kind, kind=kind))
    study = create_study(
        StudyRequest(template="flush-method", devices=requests, seed=3, confirms=False)
    )

    def measure(plan: Plan, **_: Any) -> Measurement:
        noise = math.exp(random.Random(plan.load.seed).gauss(0, 0.01))
        effect = 1.5 if plan.options.get("innodb_flush_method") == "O_DIRECT" else 1.0
        return measurement(6000 * effect * noise)  # pays on both, whatever the paper says

    assert run_to_the_end(study, measure).state == StudyState.FINISHED
    on_nvme, on_hdd = found_in(study)
    assert (on_nvme.device_kind, on_nvme.kind) == ("nvme", FindingKind.CONFIRMED)
    assert (on_hdd.device_kind, on_hdd.kind) == ("hdd", FindingKind.CONTRADICTED)
    by_kind = dict(study.devices.values_list("kind", "pk"))
    assert (on_nvme.device_id, on_hdd.device_id) == (by_kind["nvme"], by_kind["hdd"])


def test_logs_beside_the_data_are_measured_as_another_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, logs = tmp_path / "data", tmp_path / "logs"
    add_directories(data, logs)
    with pytest.raises(BadRequest, match="'log-device' needs a directory for redo logs") as no:
        create_study(StudyRequest(template="log-device", devices=[DeviceRequest(path=data)]))
    assert no.value.field == "devices[0].log_dir"
    one_disk = [DeviceRequest(path=data, log_dir=logs)]
    with pytest.raises(BadRequest, match=r"on a separate device: .*data and .*logs are on "):
        create_study(StudyRequest(template="log-device", devices=one_disk))
    monkeypatch.setattr(FoundDevice, "shares_disk", False)
    study = create_study(
        StudyRequest(
            template="log-device",
            devices=[DeviceRequest(path=data, log_dir=logs)],
            seed=3,
            confirms=False,
        )
    )

    def measure(plan: Plan, **_: Any) -> Measurement:
        noise = math.exp(random.Random(plan.load.seed).gauss(0, 0.01))
        return measurement(6000 * (1.0 if plan.logs_with_data else 1.3) * noise)

    assert run_to_the_end(study, measure).state == StudyState.FINISHED
    assert not study.candidates.exclude(merged_into=None).exists()
    paper, defaults = found_in(study)
    assert (paper.kind, defaults.kind) == (FindingKind.CONFIRMED, FindingKind.CONFIRMED)
    assert paper.said.startswith("whitepaper-a-apart completes ")
    assert paper.estimate is not None
    assert paper.estimate.ratio == pytest.approx(1.3, rel=0.03)


def test_a_device_that_waits_its_turn_is_not_said_to_be_missing(tmp_path: Path) -> None:
    requests = []
    for kind in (DeviceKind.OTHER, DeviceKind.HDD):
        add_directories(tmp_path / kind)
        requests.append(DeviceRequest(path=tmp_path / kind, kind=kind))
    study = create_study(StudyRequest(template="flush-neighbors", devices=requests))
    on_hdd, on_ssd = found_in(study)
    assert "no comparable figures of neighbors-1" in on_hdd.sentence
    assert "no device of kind SATA SSD or SAS SSD or NVMe" in on_ssd.sentence


def test_an_emulated_disk_says_nothing_of_seeks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_directories(tmp_path)
    hdd = DeviceRequest(path=tmp_path, emulate="hdd")
    study = create_study(
        StudyRequest(template="flush-neighbors", devices=[hdd], seed=3, confirms=False)
    )

    def measure(plan: Plan, **_: Any) -> Measurement:
        assert plan.emulation is not None
        faster = plan.options.get("innodb_flush_neighbors") == "1"
        noise = math.exp(random.Random(plan.load.seed).gauss(0, 0.01))
        return measurement((200.0 if faster else 100.0) * noise)

    assert run_to_the_end(study, measure).state == StudyState.FINISHED
    on_hdd, _ = found_in(study)
    assert on_hdd.kind == FindingKind.NOT_DECIDED
    assert "no seek times" in on_hdd.sentence


def test_while_nothing_is_measured_nothing_is_decided() -> None:
    study = create_study(StudyRequest(template="flush-method"))
    Device.objects.update(kind="hdd")
    assert {finding.kind for finding in found_in(study)} == {FindingKind.NOT_DECIDED}


def test_studies_without_claims_and_of_lost_templates_have_no_findings() -> None:
    study = create_study(StudyRequest())
    assert found_in(study) == []
    Study.objects.update(template="gone")
    study.refresh_from_db()
    assert found_in(study) == []


def test_what_cannot_be_had_is_a_refused_candidate_and_is_not_measured() -> None:
    add_directories(settings.DEFAULT_DEVICE, direct_io=False)
    study = create_study(StudyRequest(template="flush-method", blocks=2))
    study = run_to_the_end(study, noisy({}))
    assert study.state == StudyState.FINISHED, study.reason
    refused = study.candidates.get(name="o-direct")
    assert "does not support O_DIRECT" in refused.refusal
    assert not refused.slots.exists()
    assert {slot.candidate.name for slot in study.slots.all()} == {"buffered", "o-dsync"}


def test_a_template_with_nothing_to_compare_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    template = load_template("thread-concurrency")
    bare = replace(template, presets=("server-default",), baseline="server-default", claims=())
    monkeypatch.setattr(plan, "load_template", lambda _: bare)
    change_host(servers=(MARIADB,))
    with pytest.raises(
        BadRequest, match="nothing to compare here: unlimited: not possible on MariaDB"
    ):
        create_study(StudyRequest(template="thread-concurrency"))
    assert not Study.objects.exists()


def test_a_templates_durability_is_the_studys() -> None:
    study = create_study(StudyRequest(template="durability-price"))
    assert study.durability == DurabilityClass.D2
    classes = dict(study.candidates.values_list("name", "durability"))
    assert classes["durable"] == DurabilityClass.D0
    assert classes["nothing-safe"] == DurabilityClass.D2


def test_connections_of_a_template_grow_with_this_host() -> None:
    change_host(logical_cpus=4)
    study = create_study(StudyRequest(template="connections"))
    assert sorted(study.workloads.values_list("connections", flat=True)) == [4, 8, 16, 32, 64]
