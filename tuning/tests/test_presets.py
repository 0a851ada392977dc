"""Presets carry what was published, exactly, and are refused by name when unknown."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmarks.datafiles import read_data_file
from benchmarks.errors import InvalidDataFile
from tuning.configs.presets.loader import Preset, load_preset, preset_names
from tuning.errors import TuningError

# Tables 6, 7 and 8 of the whitepaper, knob by knob.
PUBLISHED = Path(__file__).parent / "data" / "whitepaper_configs.csv"


@pytest.mark.parametrize(
    ("name", "column", "server", "share"),
    [
        ("whitepaper-1", "Config #1", "MySQL 5.7.11", "6 % of data"),
        ("whitepaper-2", "Config #2", "MySQL 5.7.11", "6 % of data"),
        ("whitepaper-3", "Config #3", "MySQL 5.7.11", "24 % of data"),
        ("whitepaper-6", "Config #6", "Percona Server 5.7.10", "24 % of data"),
        ("whitepaper-a", "Config #A", "Percona Server 5.7.11", "24 % of data"),
    ],
)
def test_whitepaper_presets_are_the_published_tables(
    name: str, column: str, server: str, share: str
) -> None:
    expected = {
        row["parameter"].removesuffix(" (Percona)"): row[column].strip("'")
        for row in csv.DictReader(PUBLISHED.read_text().splitlines())
        # An empty cell of a Percona knob is a MySQL configuration, which has no such knob.
        if row[column] or "(Percona)" not in row["parameter"]
    }
    if name in ("whitepaper-6", "whitepaper-a"):
        # Two tables differ here; Table 8 is the configuration of the final results.
        assert expected["innodb_log_file_size"] == "10G (Table 6) / 1G (Table 8)"
        expected["innodb_log_file_size"] = "1G"
    preset = load_preset(name)
    assert dict(preset.knobs) == expected
    assert {knob: amount.text for knob, amount in preset.sized.items()} == {
        "innodb_buffer_pool_size": share
    }
    assert f"{preset.written_for}" == server
    assert "Accelerating OLTP performance with NVMe SSDs" in preset.source


def test_every_preset_loads_under_its_name() -> None:
    assert all(load_preset(name).name == name for name in preset_names())
    default = load_preset("server-default")
    assert (dict(default.knobs), default.written_for) == ({}, None)


@pytest.mark.parametrize(
    ("figure", "source"), [(200, "Percona"), (2000, "MySQLTuner"), (10000, "8.4")]
)
def test_the_advice_on_io_capacity_is_consistent_and_names_its_source(
    figure: int, source: str
) -> None:
    preset = load_preset(f"io-capacity-{figure}")
    assert preset.knobs.keys() == {"innodb_io_capacity", "innodb_io_capacity_max"}
    assert preset.knobs["innodb_io_capacity"] == f"{figure}"
    assert int(preset.knobs["innodb_io_capacity_max"]) >= 2 * figure
    assert source in preset.source


GOOD = """
title: "A preset"
source: "somebody said so"
knobs: {sync_binlog: "1", innodb_buffer_pool_size: "1G"}
sized: {innodb_buffer_pool_size: "10 % of data"}
"""


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("sized: {innodb", "sized: {back_log: 1 per core, innodb", "back_log is not one of the"),
        ("10 % of data", "10 % of disk", "is not like `6 % of data`"),
        ("10 % of data", "1G", "innodb_buffer_pool_size must be like `6 % of data`"),
        ('sync_binlog: "1"', 'sync_binlog: "1", sync_binlog: "0"', "sync_binlog is given twi"),
        ("title", "name: x\ntitle", "mine already has its name"),
        ("title", "written_for: oracle 5.7\ntitle", "written_for: not a server: 'oracle 5.7'"),
        ("title", "written_for: mysql 4.1\ntitle", "written_for: not a known version"),
    ],
)
def test_a_preset_is_refused_with_the_place_where_it_is_broken(
    old: str, new: str, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD)
    assert read_data_file(path, Preset, is_named=True).sized
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(InvalidDataFile, match=rf"^mine\.yaml: .*{complaint}"):
        read_data_file(path, Preset, is_named=True)


@pytest.mark.parametrize(
    "name", ["whitepaper-9", "", "../study_templates/quick", "server-default.yaml"]
)
def test_an_unknown_name_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(TuningError, match=r"known are: dedicated-server, io-cap") as refused:
        load_preset(name)
    assert refused.value.code == "unknown_preset"
