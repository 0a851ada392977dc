"""Presets carry what was published, exactly, and are refused by name when unknown."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmarks.servers.binary import Flavour
from tuning.configs.presets import load_preset, preset_names
from tuning.errors import UnknownPreset

# Tables 6, 7 and 8 of the whitepaper, knob by knob.
PUBLISHED = Path(__file__).parent / "data" / "whitepaper_configs.csv"
COLUMNS = {
    "whitepaper-1": "Config #1",
    "whitepaper-2": "Config #2",
    "whitepaper-3": "Config #3",
    "whitepaper-a": "Config #A",
}


def published(column: str) -> dict[str, str]:
    rows = csv.DictReader(PUBLISHED.read_text().splitlines())
    return {
        row["parameter"].removesuffix(" (Percona)"): row[column].strip("'")
        for row in rows
        # An empty cell of a Percona knob is a MySQL configuration, which has no such knob.
        if row[column] or "(Percona)" not in row["parameter"]
    }


@pytest.mark.parametrize(("name", "column"), COLUMNS.items())
def test_whitepaper_presets_are_the_published_tables(name: str, column: str) -> None:
    expected = published(column)
    if name == "whitepaper-a":
        # Two tables differ here; Table 8 is the configuration of the final results.
        assert expected["innodb_log_file_size"] == "10G (Table 6) / 1G (Table 8)"
        expected["innodb_log_file_size"] = "1G"
    preset = load_preset(name)
    assert dict(preset.knobs) == expected
    assert preset.data_bytes == 50 * 1024**3
    assert preset.scale_with_data == {"innodb_buffer_pool_size"}
    assert preset.written_for is not None
    assert preset.written_for.version == (5, 7, 11)
    assert "Accelerating OLTP performance with NVMe SSDs" in preset.source


def test_config_a_is_the_one_for_percona_server() -> None:
    flavours = {name: load_preset(name).written_for for name in COLUMNS}
    assert [n for n, t in flavours.items() if t and t.flavour is Flavour.PERCONA] == [
        "whitepaper-a"
    ]


def test_the_server_default_sets_nothing() -> None:
    preset = load_preset("server-default")
    assert (dict(preset.knobs), preset.written_for, preset.data_bytes) == ({}, None, None)


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_loads_and_says_where_it_is_from(name: str) -> None:
    preset = load_preset(name)
    assert preset.name == name
    assert preset.title
    assert preset.source
    assert preset.remarks.keys() <= preset.knobs.keys()
    assert preset.scale_with_data <= preset.knobs.keys()


@pytest.mark.parametrize(
    "name", ["whitepaper-9", "", "../study_templates/quick", "server-default.yaml"]
)
def test_an_unknown_name_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(UnknownPreset, match=r"there are: server-default, whitepaper-1") as refused:
        load_preset(name)
    assert refused.value.code == "unknown_preset"
