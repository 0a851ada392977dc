"""Presets carry what was published, exactly, and are refused by name when unknown."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmarks.datafiles import read_data_file
from benchmarks.errors import InvalidDataFile
from benchmarks.servers.binary import Flavour
from tuning.catalogue.resources import HostResources, Resource
from tuning.catalogue.target import ServerTraits
from tuning.configs.presets.loader import Preset, load_preset, preset_names
from tuning.errors import UnknownPreset

# Tables 6, 7 and 8 of the whitepaper, knob by knob.
PUBLISHED = Path(__file__).parent / "data" / "whitepaper_configs.csv"
COLUMNS = {
    "whitepaper-1": "Config #1",
    "whitepaper-2": "Config #2",
    "whitepaper-3": "Config #3",
    "whitepaper-6": "Config #6",
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
    if name in ("whitepaper-6", "whitepaper-a"):
        # Two tables differ here; Table 8 is the configuration of the final results.
        assert expected["innodb_log_file_size"] == "10G (Table 6) / 1G (Table 8)"
        expected["innodb_log_file_size"] = "1G"
    preset = load_preset(name)
    assert dict(preset.knobs) == expected
    assert preset.data_bytes == 50 * 1024**3
    scaled = {knob: rule.of for knob, rule in preset.scaling.items() if rule.of}
    assert scaled == {"innodb_buffer_pool_size": Resource.DATA}
    assert preset.written_for is not None
    assert preset.written_for.version == (5, 7, 10 if name == "whitepaper-6" else 11)
    assert "Accelerating OLTP performance with NVMe SSDs" in preset.source


def test_configs_6_and_a_are_those_for_percona_server() -> None:
    flavours = {name: load_preset(name).written_for for name in COLUMNS}
    assert [n for n, t in flavours.items() if t and t.flavour is Flavour.PERCONA] == [
        "whitepaper-6",
        "whitepaper-a",
    ]
    six, a = load_preset("whitepaper-6").knobs, load_preset("whitepaper-a").knobs
    assert {name for name in six if six[name] != a[name]} == {"innodb_use_native_aio"}


def test_the_server_default_sets_nothing() -> None:
    preset = load_preset("server-default")
    assert (dict(preset.knobs), preset.written_for, preset.data_bytes) == ({}, None, None)


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_loads_and_says_where_it_is_from(name: str) -> None:
    preset = load_preset(name)
    assert preset.name == name
    assert preset.title
    assert preset.source
    assert list(preset.scaling) == list(preset.knobs)


@pytest.mark.parametrize("figure", [200, 2000, 10000])
def test_the_advice_on_io_capacity_is_consistent_and_names_its_source(figure: int) -> None:
    preset = load_preset(f"io-capacity-{figure}")
    assert preset.knobs["innodb_io_capacity"] == f"{figure}"
    assert int(preset.knobs["innodb_io_capacity_max"]) >= 2 * figure
    assert preset.knobs.keys() == {"innodb_io_capacity", "innodb_io_capacity_max"}
    assert {200: "Percona", 2000: "MySQLTuner", 10000: "8.4"}[figure] in preset.source


@pytest.mark.parametrize(
    ("server", "knobs"),
    [
        ((Flavour.MYSQL, (8, 0, 46)), {"innodb_dedicated_server", "innodb_flush_method"}),
        ((Flavour.PERCONA, (8, 0, 36)), {"innodb_dedicated_server", "innodb_flush_method"}),
        ((Flavour.MYSQL, (8, 4, 10)), {"innodb_dedicated_server"}),
        ((Flavour.MYSQL, (9, 7, 4)), {"innodb_dedicated_server"}),
        ((Flavour.MYSQL, (5, 7, 42)), {"innodb_buffer_pool_size", "innodb_redo_log_capacity"}),
        ((Flavour.MARIADB, (11, 8, 6)), {"innodb_buffer_pool_size", "innodb_redo_log_capacity"}),
    ],
)
def test_dedicated_server_is_the_servers_own_switch_where_there_is_one(
    server: tuple[Flavour, tuple[int, int, int]], knobs: set[str]
) -> None:
    preset = load_preset("dedicated-server").for_server(ServerTraits(*server))
    assert preset.knobs.keys() == knobs == preset.scaling.keys()
    assert bool(preset.adaptations) == (knobs != {"innodb_dedicated_server"})


GOOD = """
title: "A preset"
source: "somebody said so"
data_bytes: 10G
knobs: {sync_binlog: "1", innodb_buffer_pool_size: "1G"}
scaling:
  - {with: data, knobs: [innodb_buffer_pool_size]}
  - {with: nothing, knobs: [sync_binlog], why: "a switch, more or less"}
"""


STEPS = "with: cores, steps: [{below: '4', take: 1G}, {times: 512M}], "
VARIANT = """
variants:
  - lacks: innodb_dedicated_server
    because: {sync_binlog: "no such thing there"}
    knobs: {sync_binlog: "0"}
    scaling: [{with: nothing, knobs: [sync_binlog], why: "a switch, more or less"}]
"""


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("knobs: [sync_binlog]", "knobs: [sync_binlog, back_log]", "do not match for back_log"),
        (
            "  - {with: data, knobs: [innodb_buffer_pool_size]}\n",
            "",
            "do not match for innodb_buffer_p",
        ),
        ("[innodb_buffer_pool_size]", "[innodb_buffer_pool_size, sync_binlog]", "sync_binlog twi"),
        ("knobs: [sync_binlog]", "knobs: [sync_binlog, sync_binlog]", "sync_binlog twice"),
        ("knobs: [sync_binlog]", "knobs: []", "a rule of scaling has `knobs`"),
        ("  - {with: data", "  - word\n  - {with: data", "a rule of scaling has `knobs`"),
        (', why: "a switch, more or less"', "", "sync_binlog: with nothing: `why` must be"),
        ("with: data", "with: memory", "with memory: `steps` must be given"),
        ("with: data", "with: cores", "with cores: `steps` must be given"),
        ("with: data", "with: data, steps: [{times: 2}]", "grows with the data has no steps"),
        ("with: nothing", "with: nothing, steps: [{times: 2}]", "with nothing: `steps` must not"),
        ("with: data", "with: data, most: 1 GB", "most: not a size: '1 GB'"),
        ("data_bytes: 10G", "data_bytes: 10X", "data_bytes: not a size: '10X'"),
        ("with: data, ", "with: cores, steps: [{below: '4', take: 1G}], ", "the last step"),
        ("with: data, ", "with: cores, steps: [{times: 2}, {take: 1G}], ", "the last step"),
        ("with: data, ", STEPS.replace("'4'", "four"), "steps/0/below: not a size"),
        ("with: data, ", STEPS.replace("take: 1G", "take: 1G, times: 2"), "exactly one of `take`"),
        ("with: data, ", STEPS.replace("times: 512M", ""), "steps/1: exactly one of `take`"),
        ('sync_binlog: "1"', 'sync_binlog: "1", sync_binlog: "0"', "sync_binlog is given twi"),
        ("title", "name: x\ntitle", "mine already has its name"),
        ("title", "remarks: {back_log: a lot of it}\ntitle", "remarks on back_log, which is"),
        ("title", "written_for: oracle 5.7\ntitle", "written_for: not a server: 'oracle 5.7'"),
        ("title", "written_for: mysql 4.1\ntitle", "written_for: not a known version"),
        ("lacks: innodb_dedicated_server", "lacks: dedicated", "lacks: dedicated is not"),
        ("lacks: innodb_dedicated_server\n    ", "", "variants/0: exactly one of `lacks` and"),
        ("lacks", "series: '8.0'\n    lacks", "variants/0: exactly one of `lacks` and"),
        (
            'knobs: {sync_binlog: "0"}',
            'knobs: {back_log: "0"}',
            "variants/0/scaling: .* do not match",
        ),
    ],
)
def test_a_preset_is_refused_with_the_place_where_it_is_broken(
    old: str, new: str, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    whole = GOOD + VARIANT
    path.write_text(whole)
    good = read_data_file(path, Preset, is_named=True)
    assert good.scaling["sync_binlog"].why == "a switch, more or less"
    assert old in whole
    path.write_text(whole.replace(old, new))
    with pytest.raises(InvalidDataFile, match=rf"^mine\.yaml: .*{complaint}"):
        read_data_file(path, Preset, is_named=True)


def test_sizes_and_steps_are_read_as_bytes(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD.replace("with: data, ", STEPS))
    preset = read_data_file(path, Preset, is_named=True)
    rule = preset.scaling["innodb_buffer_pool_size"]
    assert (preset.name, preset.data_bytes, rule.of) == ("mine", 10 << 30, Resource.CORES)
    assert [(s.below, s.take, s.times) for s in rule.steps] == [
        (4, 1 << 30, None),
        (None, None, float(512 << 20)),
    ]
    host = HostResources(memory_bytes=8 << 30, logical_cpus=8, data_bytes=1 << 30)
    assert rule.figure(1 << 30, preset.data_bytes, host) == 4 << 30


@pytest.mark.parametrize(
    "name", ["whitepaper-9", "", "../study_templates/quick", "server-default.yaml"]
)
def test_an_unknown_name_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(UnknownPreset, match=r"known are: dedicated-server, io-cap") as refused:
        load_preset(name)
    assert refused.value.code == "unknown_preset"
