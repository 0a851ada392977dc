"""Presets are exactly what was published, and keep their meaning on every server."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.datafiles import read_data_file
from benchmarks.errors import InvalidDataFile
from tuning.catalogue.knob import Durability
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ANY_VERSION, RELEASES, ServerTraits, parse_traits
from tuning.configs.check import check_knobs
from tuning.configs.expected import Expected, HostFacts
from tuning.configs.judge import translate_knobs
from tuning.configs.line import Action, Note
from tuning.configs.presets import Preset, load_preset, preset_names, scale, unrounded_pool
from tuning.configs.price import durability_of
from tuning.configs.variables import CAPACITY, DEDICATED, FLUSH_METHOD, INSTANCES, POOL
from tuning.errors import TuningError

MYSQL = parse_traits("mysql 9.7.4")
MYSQL_57 = parse_traits("mysql 5.7.42")
MARIADB = parse_traits("mariadb 10.11.19")
SERVERS = (*RELEASES, parse_traits("mysql 9.0.1"), parse_traits("mariadb 10.6.7"))
MIB = 1024**2
GIB = 1024**3
# Tables 6, 7 and 8 of the whitepaper, knob by knob.
PUBLISHED = Path(__file__).parent / "data" / "whitepaper_configs.csv"
CHECKSUMS = "innodb_checksum_algorithm"


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
    assert {knob: amount.text for knob, amount in preset.sized.items()} == {POOL: share}
    assert f"{preset.written_for}" == server
    assert "Accelerating OLTP performance with NVMe SSDs" in preset.source


def test_every_preset_loads_under_its_name_and_sizes_its_own_knobs() -> None:
    for name in preset_names():
        preset = load_preset(name)
        assert preset.name == name
        assert preset.sized.keys() <= preset.knobs.keys()
        assert all(amount.of for amount in preset.sized.values())


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


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("sized: {back_log: 10 % of disk}", "is not like `6 % of data`"),
        ("knobs: {back_log: '1', back_log: '0'}", "back_log is given twice"),
        ("written_for: oracle 5.7", "written_for: not a server: 'oracle 5.7'"),
    ],
)
def test_a_broken_preset_is_refused_with_its_place(
    line: str, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    knobs = "" if line.startswith("knobs") else "knobs: {}\n"
    path.write_text(f'title: "A preset"\nsource: "somebody said so"\n{knobs}{line}\n')
    with pytest.raises(InvalidDataFile, match=rf"^mine\.yaml: .*{complaint}"):
        read_data_file(path, Preset, is_named=True)


@pytest.mark.parametrize(
    "name", ["whitepaper-9", "", "../study_templates/quick", "server-default.yaml"]
)
def test_an_unknown_name_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(TuningError, match=r"known are: dedicated-server, io-cap") as refused:
        load_preset(name)
    assert refused.value.code == "unknown_preset"


def translated(
    name: str, target: ServerTraits, durability: Durability = Durability.D0
) -> tuple[dict[str, str], dict[str, Note]]:
    preset = load_preset(name)
    origin = preset.written_for or ANY_VERSION
    knobs, notes = translate_knobs(preset.knobs, origin, target, durability=durability)
    assert len({note.name for note in notes}) == len(notes)
    return knobs, {note.name: note for note in notes}


@pytest.mark.parametrize("target", SERVERS, ids=str)
def test_every_knob_is_kept_or_has_a_note_and_passes_the_gate(target: ServerTraits) -> None:
    for preset in preset_names():
        knobs, notes = translated(preset, target)
        assert load_preset(preset).knobs.keys() <= knobs.keys() | notes.keys(), preset
        checked = check_knobs(knobs, target, source=preset).accepted()
        assert checked.knobs == knobs, preset
        assert durability_of(checked.knobs) is Durability.D0, preset
        assert not [value for value in knobs.values() if "<" in value or "/" in value]


@pytest.mark.parametrize("target", SERVERS, ids=str)
def test_an_empty_flush_method_is_written_out_as_what_it_meant(target: ServerTraits) -> None:
    knobs, notes = translated("whitepaper-1", target)
    assert knobs[FLUSH_METHOD] == "fsync"
    assert notes[FLUSH_METHOD].action is Action.ADJUSTED
    assert translated("whitepaper-2", target)[0][FLUSH_METHOD] == "O_DIRECT"


def test_checksums_are_as_published_only_where_the_class_and_the_server_allow_it() -> None:
    mysql = parse_traits("mysql 8.4.13")
    for target, durability, why in (
        (mysql, Durability.D0, "may lose"),
        (MARIADB, Durability.D0, "must be one of crc32"),
        (MARIADB, Durability.D2, "must be one of crc32"),
    ):
        knobs, notes = translated("whitepaper-1", target, durability)
        assert CHECKSUMS not in knobs
        assert notes[CHECKSUMS].action is Action.HELD
        assert why in notes[CHECKSUMS].detail
    assert translated("whitepaper-1", mysql, Durability.D2)[0][CHECKSUMS] == "none"


def test_a_dedicated_server_keeps_its_fsync_on_the_way_to_80() -> None:
    dedicated = {DEDICATED: "ON"}
    target = parse_traits("mysql 8.0.46")
    safe, notes = translate_knobs(dedicated, MYSQL, target)
    assert safe == {**dedicated, FLUSH_METHOD: "O_DIRECT"}
    assert [(note.name, note.action) for note in notes] == [(FLUSH_METHOD, Action.ADJUSTED)]
    assert translate_knobs(dedicated, MYSQL, target, durability=Durability.D2)[0] == dedicated
    assert translate_knobs(dedicated, target, MYSQL)[0] == dedicated


def scaled(
    name: str,
    data_bytes: int,
    target: ServerTraits = MYSQL,
    *,
    memory: int = 8 * GIB,
    cpus: int = 8,
) -> tuple[dict[str, str], tuple[Note, ...]]:
    preset = load_preset(name)
    knobs, _ = translate_knobs(preset.knobs, preset.written_for or ANY_VERSION, target)
    return scale(knobs, preset, target, HostResources(memory, cpus, data_bytes))


def round_pool(wanted: int, target: ServerTraits, instances: int) -> int:
    return unrounded_pool(wanted, Expected({INSTANCES: f"{instances}"}, target))


@pytest.mark.parametrize(
    ("preset", "data_mib", "target", "pool_mib"),
    [
        ("whitepaper-1", 50 * 1024, MYSQL, 3 * 1024),
        ("whitepaper-3", 50 * 1024, MARIADB, 12 * 1024),
        ("whitepaper-2", 1000, MYSQL, 60),
        ("whitepaper-3", 1000, MARIADB, 240),
        # MySQL would make 256 MiB of 240 by itself: its pool grows in chunks of 128 MiB.
        ("whitepaper-3", 1000, MYSQL, 256),
        ("whitepaper-1", 1, MYSQL, 16),
    ],
)
def test_the_pool_keeps_its_share_of_the_data(
    preset: str, data_mib: int, target: ServerTraits, pool_mib: int
) -> None:
    assert scaled(preset, data_mib * MIB, target)[0][POOL] == f"{pool_mib * MIB}"


def test_nothing_else_is_scaled() -> None:
    for data in (100 * MIB, 1000 * GIB):
        assert scaled("whitepaper-2", data)[0][CAPACITY] == str(3 * GIB)
        advice, _ = scaled("io-capacity-2000", data, cpus=64)
        assert advice == {"innodb_io_capacity": "2000", "innodb_io_capacity_max": "4000"}
    assert scaled("server-default", 10 * GIB) == ({}, ())


def test_the_note_says_the_rule_and_both_sizes() -> None:
    [note] = [note for note in scaled("whitepaper-1", 1000 * MIB)[1] if note.name == POOL]
    assert note.detail == "6 % of data: 60M for 1000 MiB of data (6 %)"


@given(st.integers(0, 2**44), st.integers(1, 64))
def test_mysql_has_nothing_left_to_round(wanted: int, instances: int) -> None:
    size = round_pool(wanted, MYSQL, instances)
    parts = instances if size >= GIB else 1
    chunk = min(128 * MIB, size // parts)
    assert size % (chunk * parts) == 0
    assert size >= 16 * MIB
    if 16 * MIB <= wanted < 896 * MIB:
        assert abs(size - wanted) <= 64 * MIB
    if wanted >= GIB:
        assert abs(size - wanted) <= max(64 * MIB, instances * 64 * MIB)


@pytest.mark.parametrize("target", RELEASES, ids=str)
@pytest.mark.parametrize("memory", [5 * GIB, 515 * GIB])
def test_no_server_rounds_the_pool_of_a_preset(target: ServerTraits, memory: int) -> None:
    for preset in preset_names():
        knobs, _ = scaled(preset, 57 * GIB + 1, target, memory=memory)
        if POOL in knobs:
            expected = Expected(knobs, target, HostFacts(logical_cpus=8))
            assert (preset, knobs[POOL]) == (preset, f"{expected.pool()}")


@pytest.mark.parametrize(
    ("server", "wanted", "instances", "size"),
    [
        ("mysql 9.7.4", 960, 10, 896),  # 10 parts would need 1030
        ("mysql 9.7.4", 990, 10, 1030),
        ("mysql 9.7.4", 1030, 32, 1024),
        ("mysql 9.7.4", 5000, 32, 4096),
        # MariaDB 10.6 grows in chunks, 10.11 in whole MiB.
        ("mariadb 10.6.23", 127, 1, 127),
        ("mariadb 10.6.23", 129, 1, 128),
        ("mariadb 10.11.19", 129, 1, 129),
        ("mariadb 10.11.19", 3, 1, 16),
    ],
)
def test_sizes_that_servers_take_as_they_are(
    server: str, wanted: int, instances: int, size: int
) -> None:
    assert round_pool(wanted * MIB, parse_traits(server), instances) == size * MIB


@pytest.mark.parametrize(
    ("memory_mib", "pool_mib"),
    [(1023, 128), (1024, 512), (4096, 2048), (8192, 6144), (65536, 49152)],
)
def test_a_dedicated_mariadb_is_sized_by_mysqls_rule(memory_mib: int, pool_mib: int) -> None:
    knobs, found = scaled("dedicated-server", GIB, MARIADB, memory=memory_mib * MIB)
    assert knobs[POOL] == f"{pool_mib * MIB}"
    notes = {note.name: note.detail for note in found}
    assert "this server does not have" in notes[DEDICATED]
    assert f"{pool_mib}M for {memory_mib} MiB of memory" in notes[POOL]


@pytest.mark.parametrize(("cpus", "redo_gib"), [(1, 1), (2, 1), (8, 4), (64, 16)])
def test_its_redo_log_grows_with_the_cpus(cpus: int, redo_gib: int) -> None:
    for target in (MARIADB, MYSQL_57):
        knobs, _ = scaled("dedicated-server", GIB, target, cpus=cpus)
        assert Expected(knobs, target).redo() == redo_gib * GIB
        assert not {CAPACITY, DEDICATED} & knobs.keys()


def test_a_dedicated_mysql_sizes_itself() -> None:
    assert scaled("dedicated-server", GIB) == ({DEDICATED: "ON"}, ())
