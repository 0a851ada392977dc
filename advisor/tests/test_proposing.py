"""What a study hands to its proposals, and how a template's budget holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from advisor.tests import factories
from advisor.tests.probes import identity
from benchmarks.drivers.workloads import tpcc
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.inventory.device_lookup import FoundDevice
from benchmarks.models import JobState, Run, RunState
from benchmarks.servers.binary import Flavour
from benchmarks.storage.kinds import DeviceKind
from tuning.configs.line import Action, Note
from tuning.configs.situation import DeviceFacts
from tuning.creation.device_facts import device_facts, redo_bytes_per_hour
from tuning.tests.export_cases import facts, flat, rendered

HOST = "db-host-1"  # that of the factories
NVME = FoundDevice(identity(), None, None, None)
HDD = FoundDevice(
    identity(), None, EmulationProfile("hdd", "hdd", 200, 150, memory_bytes=700_000_000), None
)


@pytest.mark.django_db
def test_a_device_is_known_by_its_newest_good_probe() -> None:
    device = factories.found_device(identity())
    assert device_facts(HOST, [NVME], free_bytes=7) == DeviceFacts(DeviceKind.NVME, free_bytes=7)
    factories.probed(device, random_write_iops=1.0)
    good = factories.probed(
        device, random_write_iops=40_000.0, random_read_iops=90_000.0, commit_p50_us=55.0
    )
    factories.probed(device, state=JobState.FAILED, random_write_iops=3.0)
    found = device_facts(HOST, [NVME])
    assert (found.write_iops, found.read_iops, found.commit_us) == (
        good.random_write_iops,
        good.random_read_iops,
        good.commit_p50_us,
    )
    assert device_facts("another", [NVME]).write_iops is None


@pytest.mark.django_db
def test_an_emulated_device_is_what_its_limits_make_of_it() -> None:
    device = factories.found_device(identity())
    factories.probed(device, random_write_iops=40_000.0)
    found = device_facts(HOST, [HDD])
    assert (found.kind, found.write_iops, found.read_iops) == (DeviceKind.HDD, 150, 200)
    assert found.is_disk
    assert not found.is_ssd


@pytest.mark.django_db
def test_a_limit_on_memory_changes_nothing_of_what_a_device_can_do() -> None:
    factories.probed(factories.found_device(identity()), random_write_iops=40_000.0)
    limits = EmulationProfile("native", memory_bytes=700_000_000)
    assert device_facts(HOST, [replace(NVME, emulation=limits)]).write_iops == 40_000.0


@pytest.mark.django_db
def test_of_several_devices_holds_what_they_share() -> None:
    device = factories.found_device(identity())
    assert device_facts(HOST, [NVME, HDD]) == DeviceFacts()
    factories.probed(device, random_write_iops=40_000.0, random_read_iops=100.0)
    both = device_facts(HOST, [NVME, HDD])
    assert (both.kind, both.write_iops, both.read_iops) == (None, 150, 100.0)
    virtual = replace(NVME, data=identity(kind=DeviceKind.OTHER, rotational=True))
    assert not device_facts(HOST, [virtual]).is_disk


@pytest.mark.django_db
def test_the_write_rate_is_the_most_that_was_measured_there() -> None:
    study = factories.measured_study(blocks=1)
    device, workload = study.devices.get(), study.workloads.get()
    here = replace(NVME, data=identity(path=Path(device.data_dir)))

    def rate(found: FoundDevice = here, **values: Any) -> float | None:
        facts: dict[str, Any] = {
            "flavour": Flavour.MYSQL,
            "workload": workload.kind,
        } | values
        return redo_bytes_per_hour(HOST, [found], **facts)

    assert rate() is None
    runs = list(Run.objects.order_by("pk"))
    for run, redo in zip(runs, (2.0, 5.0, 9.0), strict=False):
        Run.objects.filter(pk=run.pk).update(redo_mb_s=redo)
    Run.objects.filter(pk=runs[2].pk).update(state=RunState.DISTURBED)
    assert rate() == 5 * 3600 * 1_000_000
    assert rate(flavour=Flavour.MARIADB) is None
    assert rate(workload=tpcc(workload.warehouses + 1)) is None
    assert rate(replace(here, emulation=HDD.emulation)) is None


def test_the_exported_file_says_why_each_line_was_proposed() -> None:
    reason = Note("innodb_io_capacity", Action.PROPOSED, "an eighth of the writes (Figure 11)")
    held = Note("performance_schema", Action.HELD, "OFF costs observability")
    text = flat(rendered(facts(notes=[reason, held])))
    assert "an eighth of the writes (Figure 11)." in text
    assert "not in this file: performance_schema (held): OFF costs observability" in text
