"""Profiles of emulated devices: what they may say, and how they shrink to fit a real device."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.datafiles import read_data_file
from benchmarks.emulation.profile import UNITS, EmulationProfile, Profiles, shipped_profiles
from benchmarks.errors import EmulationUnavailable, InvalidDataFile

HDD = EmulationProfile("hdd", read_iops=200, write_iops=200, memory_bytes=420_000_000)
LIMITS = "200 IOPS read, 200 IOPS write, 420 MB memory"
MEMORY = EmulationProfile("memory", memory_bytes=420_000_000)


@pytest.mark.parametrize(
    ("profile", "label", "limits"),
    [
        (HDD, f"emulated HDD ({LIMITS})", LIMITS),
        (
            EmulationProfile("slow", read_mb_s=150, write_mb_s=90),
            *("emulated slow (150 MB/s read, 90 MB/s write)", "150 MB/s read, 90 MB/s write"),
        ),
        (
            replace(HDD, scale=200),
            *(f"scale model 1:200 on emulated HDD ({LIMITS})", f"scale model 1:200, {LIMITS}"),
        ),
        (
            replace(MEMORY, scale=200),
            *("scale model 1:200 (420 MB memory)", "scale model 1:200, 420 MB memory"),
        ),
    ],
)
def test_the_label_names_every_limit(profile: EmulationProfile, label: str, limits: str) -> None:
    assert (profile.label(), profile.limits) == (label, limits)


def test_runs_under_other_limits_have_other_facts() -> None:
    others: list[dict[str, Any]] = [
        {"read_iops": 201},
        {"write_mb_s": 5},
        {"memory_bytes": 420_000_001},
        {"memory_bytes": None},
        {"name": "disk"},
    ]
    assert all(replace(HDD, **other).facts() != HDD.facts() for other in others)
    # How the limits were found is stored, but makes no other device.
    assert replace(HDD, note="probed on Monday").facts() == HDD.facts()
    assert EmulationProfile(**json.loads(json.dumps(HDD.as_dict()))) == HDD


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({}, "limits nothing"),
        ({"read_iops": 0}, "greater than or equal to 1"),
        ({"read_mb_s": 1.5}, "valid integer"),
        ({"read_iops": True}, "valid integer"),
        ({"memory_bytes": 420}, "greater than or equal to 67108864"),
        ({"read_iops": 1, "scale": 2}, "needs a memory limit"),
        ({"name": "../x", "read_iops": 1}, "should match pattern"),
        ({"read_iops": 1, "iops": 2}, "iops"),
    ],
)
def test_what_no_device_can_be_is_refused(values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        EmulationProfile(**{"name": "disk", **values})


def limits_on(name: str, real: dict[str, float | None] | None = None) -> list[int | None]:
    profile = shipped_profiles()[name].on(real)
    return [getattr(profile, limit) for limit in UNITS]


# A twentieth of the reference's reads, half its writes, a tenth of its bytes.
SLOWER = {"read_iops": 50_000, "write_iops": 60_000, "read_mb_s": 600, "write_mb_s": 200}


@pytest.mark.parametrize(
    ("name", "real", "limits"),
    [
        ("hdd", None, [200, 200, None, None]),
        ("sata-ssd", None, [100_000, 90_000, 550, 520]),
        ("sas-ssd", None, [190_000, 30_000, 1350, 750]),
        ("sata-ssd", SLOWER, [5_000, 45_000, 55, 52]),
        ("sas-ssd", SLOWER, [9_500, 15_000, 140, 75]),
        # A faster device scales nothing up, and what was not measured stays as rated.
        ("sata-ssd", {"read_iops": 2_000_000}, [100_000, 90_000, 550, 520]),
        ("sata-ssd", {"read_iops": 10_000}, [1_000, 90_000, 550, 520]),
        ("hdd", {"read_iops": 300, "write_iops": 300}, [200, 200, None, None]),
    ],
)
def test_published_figures_shrink_with_a_slower_device(
    name: str, real: dict[str, float | None] | None, limits: list[int | None]
) -> None:
    assert limits_on(name, real) == limits


def test_a_note_says_where_the_limits_come_from() -> None:
    assert list(shipped_profiles()) == ["hdd", "sata-ssd", "sas-ssd"]
    sata = shipped_profiles()["sata-ssd"]
    assert "850 Pro" in sata.on().note
    assert "was not probed" in sata.on().note
    assert "IOPS read scaled by 0.05" in sata.on(SLOWER).note
    assert (sata.on().kind, sata.on().memory_bytes) == ("sata-ssd", None)
    assert sata.on(memory_bytes=10**9).memory_bytes == 10**9


def test_a_hard_disk_is_not_emulated_on_something_slower() -> None:
    with pytest.raises(EmulationUnavailable, match=r"needs 200 IOPS write .* does only 150"):
        limits_on("hdd", {"read_iops": 190_000, "write_iops": 150})


PROFILE = "profiles: {hdd: {title: t, scaled: no"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"{PROFILE}, kind: hdd, source: s}}}}", "profiles/hdd: limits no requests"),
        (f"{PROFILE}, kind: hdd, read_iops: 2}}}}", "profiles/hdd/source: is missing"),
        (f"{PROFILE}, kind: floppy, source: s, read_iops: 2}}}}", "profiles/hdd/kind: Input"),
        ("profiles: {}", "profiles: .* at least 1"),
        ("profiles: {a_b: {}}", "profiles/a_b/name: String"),
    ],
)
def test_a_broken_file_is_refused_with_the_place(
    text: str, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"reference: {{name: nvme, read_iops: 1}}\n{text}\n")
    with pytest.raises(InvalidDataFile, match=rf"^mine\.yaml: .*{complaint}"):
        read_data_file(path, Profiles)
