"""Profiles of emulated devices: what they may say, and how they shrink to fit a real device."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.datafiles import read_data_file
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.emulation.shipped import Profiles, RealFigures, shipped_profiles
from benchmarks.errors import BenchmarkError, EmulationUnavailable, InvalidDataFile

HDD = EmulationProfile("hdd", read_iops=200, write_iops=200, memory_bytes=420_000_000)


def test_label_and_words_say_emulated_and_every_limit() -> None:
    limits = "200 IOPS read, 200 IOPS write, 420 MB memory"
    assert HDD.label() == f"emulated hdd ({limits})"
    assert HDD.text(on="vda") == f"emulated HDD ({limits}) on vda"
    assert (HDD.what, HDD.limits) == ("emulated HDD", limits)
    slow = EmulationProfile("slow", read_mb_s=150, write_mb_s=90)
    assert slow.label() == slow.text() == "emulated slow (150 MB/s read, 90 MB/s write)"


def test_a_scale_model_says_of_what_size() -> None:
    model = replace(HDD, scale=200)
    limits = "200 IOPS read, 200 IOPS write, 420 MB memory"
    assert model.label() == f"scale model 1:200 on emulated hdd ({limits})"
    assert model.text() == f"scale model 1:200 on emulated HDD ({limits})"
    assert model.limits == f"scale model 1:200, {limits}"
    only_memory = EmulationProfile("memory", memory_bytes=420_000_000, scale=200)
    assert only_memory.label() == only_memory.text() == "scale model 1:200 (420 MB memory)"


def test_runs_under_other_limits_have_other_facts() -> None:
    others = [
        replace(HDD, read_iops=201),
        replace(HDD, write_mb_s=5),
        replace(HDD, memory_bytes=420_000_001),
        replace(HDD, memory_bytes=None),
        replace(HDD, name="disk"),
    ]
    assert all(other.facts() != HDD.facts() for other in others)
    # How the limits were found is stored, but makes no other device.
    assert replace(HDD, note="probed on Monday").facts() == HDD.facts()


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({}, "limits nothing"),
        ({"read_iops": 0}, "greater than or equal to 1"),
        ({"write_iops": -1}, "greater than or equal to 1"),
        ({"read_mb_s": 1.5}, "valid integer"),
        ({"read_iops": True}, "valid integer"),
        ({"read_iops": "200"}, "valid integer"),
        ({"memory_bytes": 420}, "too few"),
        ({"name": "My disk", "read_iops": 1}, "should match pattern"),
        ({"name": "../x", "read_iops": 1}, "should match pattern"),
    ],
)
def test_what_no_device_can_be_is_refused(values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        EmulationProfile(**{"name": "disk", **values})


def test_a_profile_survives_storing() -> None:
    stored = json.loads(json.dumps(HDD.as_dict()))
    assert EmulationProfile(**stored) == HDD


@pytest.mark.parametrize("stored", [{"read_iops": 1}, {"name": "a", "read_iops": 1, "iops": 2}])
def test_what_is_no_profile_is_not_read(stored: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"name|iops"):
        EmulationProfile(**stored)


def test_the_shipped_profiles_are_the_published_devices() -> None:
    shipped = shipped_profiles()
    assert list(shipped) == ["hdd", "sata-ssd", "sas-ssd"]
    hdd, sata, sas = (shipped[name].on() for name in shipped)
    assert (hdd.read_iops, hdd.write_iops, hdd.read_mb_s) == (200, 200, None)
    assert (sata.read_iops, sata.write_iops, sata.read_mb_s, sata.write_mb_s) == (
        100_000, 90_000, 550, 520,
    )  # fmt: skip
    assert (sas.read_iops, sas.write_iops, sas.read_mb_s, sas.write_mb_s) == (
        190_000, 30_000, 1350, 750,
    )  # fmt: skip
    assert [profile.kind for profile in (hdd, sata, sas)] == list(shipped)
    assert "was not probed" in sata.note
    assert "850 Pro" in sata.note


def test_a_slower_machine_keeps_the_distance_between_the_kinds() -> None:
    # A twentieth of the reference's reads, half its writes, a tenth of its bytes.
    real = RealFigures(read_iops=50_000, write_iops=60_000, read_mb_s=600, write_mb_s=200)
    sata, sas = (shipped_profiles()[name].on(real) for name in ("sata-ssd", "sas-ssd"))
    assert (sata.read_iops, sata.write_iops, sata.read_mb_s, sata.write_mb_s) == (
        5_000, 45_000, 55, 52,
    )  # fmt: skip
    assert (sas.read_iops, sas.write_iops, sas.read_mb_s, sas.write_mb_s) == (
        9_500, 15_000, 140, 75,
    )  # fmt: skip
    assert "IOPS read scaled by 0.05" in sata.note


def test_a_device_faster_than_the_reference_scales_nothing_up() -> None:
    real = RealFigures(2_000_000, 200_000, 9_000, 9_000)
    assert shipped_profiles()["sata-ssd"].on(real).read_iops == 100_000


def test_limits_that_were_not_measured_stay_as_rated() -> None:
    sata = shipped_profiles()["sata-ssd"].on(RealFigures(read_iops=10_000))
    assert (sata.read_iops, sata.write_iops) == (1_000, 90_000)


def test_a_hard_disk_is_not_emulated_on_something_slower() -> None:
    with pytest.raises(
        EmulationUnavailable, match=r"needs 200 IOPS write .* does only 150"
    ) as info:
        shipped_profiles()["hdd"].on(RealFigures(read_iops=190_000, write_iops=150))
    assert isinstance(info.value, BenchmarkError)
    assert shipped_profiles()["hdd"].on(RealFigures(300, 300)).read_iops == 200


def test_memory_is_the_callers_choice() -> None:
    assert shipped_profiles()["hdd"].on().memory_bytes is None
    assert shipped_profiles()["hdd"].on(memory_bytes=10**9).memory_bytes == 10**9


REFERENCE = (
    "reference: {name: nvme, read_iops: 1, write_iops: 1, read_mb_s: 1, write_mb_s: 1, source: s}"
)


@pytest.mark.parametrize(
    ("profile", "complaint"),
    [
        ("{title: t, kind: hdd, scaled: false, source: s}", "limits no requests"),
        ("{title: t, kind: hdd, scaled: false, read_iops: 200}", "source: is missing"),
        (
            "{title: t, kind: hdd, scaled: false, source: s, read_iops: 0}",
            "read_iops: Input should be greater than or equal to 1, not 0",
        ),
        ("{title: t, kind: floppy, scaled: false, source: s, read_iops: 2}", "kind: Input"),
        ("{title: t, kind: hdd, scaled: no, source: s, read_iops: 2, note: n}", "note: Input"),
    ],
)
def test_a_broken_profile_is_refused_with_its_place(
    profile: str, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"{REFERENCE}\nprofiles:\n  hdd: {profile}\n")
    with pytest.raises(InvalidDataFile, match=rf"^mine\.yaml: profiles/hdd[:/].*{complaint}"):
        read_data_file(path, Profiles)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"{REFERENCE}\nprofiles: {{}}", "profiles: .* at least 1"),
        (f"{REFERENCE}\nprofiles: {{a_b: {{}}}}", "profiles/a_b/name: String"),
    ],
)
def test_a_broken_file_of_profiles_is_refused(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(InvalidDataFile, match=complaint):
        read_data_file(path, Profiles)
