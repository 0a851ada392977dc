"""Which runs are compared across devices, and what stands for each of them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import Q

from advisor.tests import factories
from advisor.tests.device_rows import EMULATED, HDD, NVME, SATA, measured_on
from benchmarks.models import Device, Host, Run, RunState, Workload
from tuning.comparison.devices import DeviceComparison, compare
from tuning.comparison.run_sets import chosen_run_set, labels, run_sets
from tuning.models import (
    Candidate,
    DurabilityClass,
    Recommendation,
    Slot,
    SlotPurpose,
    Study,
    StudyState,
)

pytestmark = pytest.mark.django_db


def the_comparison(choice: str = "best") -> DeviceComparison:
    [run_set] = run_sets()
    return compare(run_set, choice)


def runs_of(device: Device, **values: Any) -> Any:
    return Run.objects.filter(device=device, **values)


def cell(comparison: DeviceComparison, device: Device, connections: int = 8) -> Any:
    found = factories.sure(comparison.cell(device, connections))
    return found


def recommend(device: Device, name: str, connections: int = 8, **values: Any) -> None:
    study = Study.objects.get(devices=device)
    Recommendation.objects.create(
        study=study,
        device=device,
        workload=study.workloads.get(connections=connections),
        candidate=study.candidates.get(name=name),
        ratio_to_baseline=1.1,
        verdict="It is faster.",
        **values,
    )


def test_devices_stand_from_slow_to_fast_with_the_ratios_of_table_1() -> None:
    nvme, hdd, sata = (measured_on(place) for place in (NVME, HDD, SATA))
    comparison = the_comparison()
    assert comparison.devices == [hdd, sata, nvme]
    assert comparison.pairs == [(hdd, sata), (sata, nvme), (hdd, nvme)]
    assert comparison.connections == [4, 8, 16]
    assert comparison.usual_connections == 8
    for number in comparison.connections:
        first, second, both = comparison.ratios(number)
        assert first is not None
        assert second is not None
        assert both is not None
        assert first.value == pytest.approx(0.9 / 0.021, rel=0.1)
        assert both.value == pytest.approx(first.value * second.value)
        assert both.low < both.value < both.high


def test_a_cell_has_the_median_and_the_range_of_its_runs() -> None:
    device = measured_on(SATA, blocks=3)
    runs = runs_of(device, workload__connections=8, slot__candidate__name="whitepaper-a")
    for run, tpmp in zip(runs, (9000.0, 9600.0, 8100.0), strict=True):
        Run.objects.filter(pk=run.pk).update(
            throughput=tpmp, cpu_user_pct=60.0, cpu_sys_pct=15.5, data_read_iops=10.0
        )
    runs.filter(throughput=9600.0).update(log_read_iops=5.0)
    found = cell(the_comparison(), device)
    assert found.config == "whitepaper-a"
    assert (found.throughput.median, found.throughput.low, found.throughput.high) == (
        9000,
        8100,
        9600,
    )
    assert found.throughput.runs == 3
    assert found.busy_pct.median == 75.5
    assert (found.read_iops.low, found.read_iops.high) == (10, 15), "with a log device's own"
    assert found.middle_run == runs.get(throughput=9000.0).pk


@pytest.mark.parametrize(
    "values",
    [
        {"state": RunState.DISTURBED},
        {"state": RunState.CUT_SHORT},
        {"state": RunState.CRASHED},
        {"throughput": None},
        {"driver_version": "tpcc-mysql of another day", "comparability_key": "e5" * 32},
    ],
)
def test_runs_that_do_not_count_are_nowhere(values: dict[str, Any]) -> None:
    device = measured_on(SATA, connections=[8])
    best = runs_of(device, slot__candidate__name="whitepaper-a")
    assert cell(the_comparison(), device).config == "whitepaper-a"
    best.update(**values)
    run_set = max(run_sets(), key=lambda run_set: len(run_set.runs))
    assert cell(compare(run_set), device).config == "server-default"


@pytest.mark.parametrize("purpose", [SlotPurpose.SEARCH, SlotPurpose.CONFIRMATION])
def test_only_runs_of_blocks_are_compared(purpose: SlotPurpose) -> None:
    device = measured_on(SATA, connections=[8])
    slots = Slot.objects.filter(run__device=device)
    slots.filter(candidate__name="whitepaper-a").update(purpose=purpose)
    [run_set] = run_sets()
    assert len(run_set.runs) == slots.exclude(purpose=purpose).count()
    assert cell(compare(run_set), device).config == "server-default"
    slots.update(purpose=purpose)
    assert run_sets() == []


def test_of_too_many_studies_the_newest_count(monkeypatch: pytest.MonkeyPatch) -> None:
    _, newest = measured_on(SATA, connections=[8]), measured_on(NVME, connections=[8])
    monkeypatch.setattr("tuning.comparison.measured.MAX_STUDIES", 1)
    assert the_comparison().devices == [newest]


def test_what_a_study_recommends_goes_before_what_was_merely_fastest() -> None:
    device = measured_on(SATA)
    found = cell(the_comparison(), device)
    assert (found.config, found.is_recommended) == ("whitepaper-a", False)
    recommend(device, "server-default")
    comparison = the_comparison()
    found = cell(comparison, device)
    assert (found.config, found.is_recommended) == ("server-default", True)
    assert cell(comparison, device, 16).config == "whitepaper-a", "only where it was found"
    Study.objects.update(state=StudyState.RUNNING)
    found = cell(the_comparison(), device)
    assert (found.config, found.is_recommended) == ("whitepaper-a", False), "not ended yet"


def test_a_study_recommends_among_the_runs_that_compare_with_its_own() -> None:
    device = measured_on(SATA)
    recommend(device, "server-default")
    later = factories.measured_study(
        device=device,
        workloads=list(Study.objects.get().workloads.all()),
        names=("server-default", "whitepaper-a"),
        blocks=2,
        recommended=False,
    )
    Run.objects.filter(slot__study=later).update(
        comparability_key="c3" * 32, fingerprint=factories.FINGERPRINT | {"kernel": "6.12.1"}
    )
    after, before = (cell(compare(run_set), device) for run_set in run_sets())
    assert (before.config, before.is_recommended) == ("server-default", True)
    assert (after.config, after.is_recommended) == ("whitepaper-a", False)


def test_of_what_no_study_recommends_a_single_lucky_run_is_not_the_best() -> None:
    device = measured_on(SATA, [8])
    fastest = runs_of(device, slot__candidate__name="whitepaper-a")
    fastest.filter(slot__block=1).update(state=RunState.QUEUED)
    assert cell(the_comparison(), device).config == "server-default"
    runs_of(device).filter(Q(slot__block=1) | Q(slot__replicate=1)).update(state=RunState.QUEUED)
    assert cell(the_comparison(), device).config == "whitepaper-a", "all have one"


def test_only_durability_d0_can_be_best() -> None:
    device = measured_on(SATA)
    Candidate.objects.filter(name="whitepaper-a").update(durability=DurabilityClass.D1)
    recommend(device, "whitepaper-a", durability=DurabilityClass.D1)
    assert cell(the_comparison(), device).config == "server-default"
    Candidate.objects.update(durability=DurabilityClass.D1)
    assert the_comparison().cells == {}


def test_one_config_stands_for_all_devices_when_it_is_named() -> None:
    sata = measured_on(SATA)
    nvme = measured_on(NVME, names=["server-default", "whitepaper-1", "whitepaper-a"])
    comparison = the_comparison()
    # The factories give every place in a study other knobs: the best of these are two configs.
    assert cell(comparison, sata).config != cell(comparison, nvme).config
    choices = [(one.name, one.devices) for one in comparison.choices]
    assert choices == [("server-default", 2), ("whitepaper-1", 2), ("whitepaper-a", 1)]
    by_name = {one.name: one for one in comparison.choices}
    comparison = the_comparison(by_name["server-default"].token)
    assert comparison.choice == by_name["server-default"]
    assert {cell(comparison, device).config for device in (sata, nvme)} == {"server-default"}
    assert the_comparison(by_name["whitepaper-a"].token).devices == [nvme]
    assert the_comparison("no such config").choice is None


def test_a_config_of_several_names_has_the_one_with_the_most_runs() -> None:
    device = measured_on(SATA, connections=[8], names=["server-default"], blocks=3)
    copies = runs_of(device, slot__block=3)
    study = Study.objects.get(devices=device)
    copy = Candidate.objects.create(
        study=study, name="copy", position=1, config=study.candidates.get().config
    )
    Slot.objects.filter(run__in=copies).update(candidate=copy)
    assert cell(the_comparison(), device).config == "server-default"
    assert [one.name for one in the_comparison().choices] == ["server-default"]


def test_of_a_device_that_was_set_up_anew_only_one_set_up_counts() -> None:
    device = measured_on(SATA, blocks=3)
    again = runs_of(device, workload__connections=16)
    fingerprint = factories.FINGERPRINT | {"data_scheduler": "none"}
    again.update(comparability_key="b2" * 32, fingerprint=fingerprint)
    comparison = the_comparison()
    assert comparison.connections == [4, 8]
    assert comparison.left_out == again.count() > 0


def test_each_device_counts_with_its_own_set_up() -> None:
    sata, nvme = measured_on(SATA, [8], blocks=3), measured_on(NVME, [8], blocks=3)
    other = {
        "comparability_key": "b2" * 32,
        "fingerprint": factories.FINGERPRINT | {"data_scheduler": "none"},
    }
    runs_of(sata, slot__block=1).update(**other)
    runs_of(nvme).exclude(slot__block=1).update(**other)
    comparison = the_comparison()
    assert [cell(comparison, device).throughput.runs for device in (sata, nvme)] == [2, 2]
    assert comparison.left_out == 6


@pytest.mark.parametrize(
    "change",
    [
        {"fingerprint": factories.FINGERPRINT | {"kernel": "6.12.1"}},
        {"variables": {"log_bin": "ON"}},
        {"variables": {"innodb_page_size": "4096"}},
        {"driver_version": "another"},
    ],
)
def test_runs_of_another_host_or_binary_log_are_another_run_set(change: dict[str, Any]) -> None:
    sata, nvme = measured_on(SATA), measured_on(NVME)
    [run_set] = run_sets()
    assert run_set.device_ids == {sata.pk, nvme.pk}
    runs_of(nvme).update(comparability_key="c3" * 32, **change)
    newest, oldest = run_sets()
    assert newest.device_ids == {nvme.pk}
    assert oldest.device_ids == {sata.pk}
    shown = labels([newest, oldest])
    assert shown[newest.key] != shown[oldest.key]


def test_devices_of_several_hosts_stand_side_by_side_with_their_hosts() -> None:
    """With the same server version and load; what else their hosts differ in is told."""
    sata = measured_on(SATA)
    other = factories.make_host("db-host-2")
    nvme, twin = measured_on(NVME, host=other), measured_on(("nvme", "/srv/b", 1.9), host=other)
    larger = factories.FINGERPRINT | {"logical_cpus": "16", "cpu_governor": "powersave"}
    there = Run.objects.filter(host=other)
    there.update(fingerprint=larger, comparability_key="d4" * 32)
    names = [text.partition(":")[0] for text in labels(run_sets()).values()]
    assert names == ["db-host-2", "db-host-1 and db-host-2", "db-host-1"]
    both = factories.sure(chosen_run_set(run_sets(), "", {sata.host_id, other.pk}))
    assert len(both.runs) == Run.objects.count()
    assert both.differing == {
        "cpu_governor": {"db-host-1": "unknown", "db-host-2": "powersave"},
        "logical_cpus": {"db-host-1": "2", "db-host-2": "16"},
    }
    comparison = compare(both)
    assert comparison.devices == [sata, twin, nvme]
    assert comparison.names == {
        sata.pk: "db-host-1: SATA SSD",
        nvme.pk: "db-host-2: NVMe at /srv/nvme",
        twin.pk: "db-host-2: NVMe at /srv/b",
    }
    assert comparison.ratios(8)[-1] is not None
    # With another version of the driver it is another question.
    there.update(driver_version="another")
    assert all(len(one.hosts) == 1 for one in run_sets())


def driven_by(name: str, device: Device) -> Host:
    """Have the device's runs driven by a new host of that name."""
    driver = Host.objects.create(name=name)
    for workload in Workload.objects.filter(load_host=None):
        there = {"device": device, "workload": workload.pk}
        workload.pk, workload.load_host = None, driver
        workload.save(force_insert=True)
        Run.objects.filter(**there).update(workload=workload)
        Slot.objects.filter(**there).update(workload=workload)
    facts = factories.FINGERPRINT | {"load_host": f"host {driver.pk}"}
    runs_of(device).update(fingerprint=facts, comparability_key=f"{driver.pk:064x}")
    return driver


def test_what_a_load_host_drives_is_a_run_set_of_its_own_with_its_name() -> None:
    sata, nvme = measured_on(SATA), measured_on(NVME)
    driver = driven_by("driver-1", nvme)
    driven, beside = run_sets()
    assert [*driven.device_ids, *beside.device_ids] == [nvme.pk, sata.pk]
    assert (driven.load_host, beside.load_host) == ("driver-1", "")
    shown = labels([beside, driven])
    assert "tpcc-mysql on driver-1," in shown[driven.key]
    assert f"host {driver.pk}" not in shown[driven.key]


def test_a_device_with_limits_or_another_disk_is_in_the_same_run_set() -> None:
    sata, slow = measured_on(SATA), measured_on(HDD, emulation=EMULATED)
    runs_of(slow).update(
        comparability_key="c3" * 32,
        fingerprint=factories.FINGERPRINT
        | {
            "data_model": "Seagate",
            "log_kind": "nvme",
            "emulation": "emulated hdd",
            "emulation_memory_bytes": "420000000",
        },
    )
    comparison = the_comparison()
    assert comparison.devices == [slow, sata]
    assert comparison.left_out == 0
    assert comparison.names[slow.pk].startswith("emulated HDD")


def test_times_and_sizes_distinguish_run_sets_and_the_default_has_two_devices() -> None:
    both = {measured_on(SATA).pk, measured_on(NVME).pk}
    alone = factories.make_device(kind="hdd", data_dir="/srv/alone")
    workload = factories.make_workload(connections=8, measure_s=600)
    factories.measured_study(device=alone, workloads=[workload], recommended=False, blocks=1)
    newest, older = run_sets()
    assert newest.device_ids == {alone.pk}
    assert "600 s measured" in labels([newest, older])[newest.key]
    assert older.device_ids == both
    assert chosen_run_set([newest, older], "") is older
    assert chosen_run_set([newest, older], newest.key) is newest
    assert chosen_run_set([newest], "unknown") is newest
    assert chosen_run_set([], "") is None


def test_a_config_that_failed_once_is_not_the_best() -> None:
    device = measured_on(SATA)
    runs_of(
        device, workload__connections=8, slot__candidate__name="whitepaper-a", slot__block=1
    ).update(state=RunState.CRASHED)
    comparison = the_comparison()
    assert cell(comparison, device, 8).config == "server-default"
    assert cell(comparison, device, 16).config == "whitepaper-a"


def test_without_a_common_number_of_connections_the_kind_decides() -> None:
    nvme = measured_on(NVME, connections=[4])
    hdd = measured_on(HDD, connections=[8])
    comparison = the_comparison()
    assert comparison.devices == [hdd, nvme]
    assert comparison.ratios(4) == [None]
    assert comparison.usual_connections == 4
