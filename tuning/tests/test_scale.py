"""The buffer pool keeps its share of the data, in sizes that the server does not round."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ANY_VERSION, RELEASES, ServerTraits, parse_traits
from tuning.configs.effective.expected import Expected, HostFacts
from tuning.configs.effective.variables import CAPACITY, DEDICATED, FLUSH_METHOD, INSTANCES, POOL
from tuning.configs.notes import Note
from tuning.configs.presets.loader import load_preset, preset_names
from tuning.configs.presets.scale import scale, unrounded_pool
from tuning.configs.translation.translate import translate_knobs

MYSQL = parse_traits("mysql 9.7.4")
MYSQL_57 = parse_traits("mysql 5.7.42")
MARIADB = parse_traits("mariadb 10.11.19")
MIB = 1024**2
GIB = 1024**3


def scaled(
    name: str,
    data_bytes: int,
    target: ServerTraits = MYSQL,
    *,
    memory: int = 8 * GIB,
    cpus: int = 8,
) -> tuple[dict[str, str], tuple[Note, ...]]:
    preset = load_preset(name)
    knobs = translate_knobs(preset.knobs, preset.written_for or ANY_VERSION, target).knobs
    return scale(knobs, preset, target, HostResources(memory, cpus, data_bytes))


def round_pool(wanted: int, target: ServerTraits, instances: int) -> int:
    return unrounded_pool(wanted, Expected({INSTANCES: f"{instances}"}, target))


@pytest.mark.parametrize(
    ("preset", "data_mib", "target", "pool_mib"),
    [
        ("whitepaper-1", 50 * 1024, MYSQL, 3 * 1024),
        ("whitepaper-3", 50 * 1024, MYSQL, 12 * 1024),
        ("whitepaper-3", 50 * 1024, MARIADB, 12 * 1024),
        ("whitepaper-2", 1000, MYSQL, 60),
        ("whitepaper-3", 1000, MARIADB, 240),
        # MySQL would make 256 MiB of 240 by itself: its pool grows in chunks of 128 MiB.
        ("whitepaper-3", 1000, MYSQL, 256),
        ("whitepaper-1", 1, MYSQL, 16),
        ("whitepaper-1", 100, MYSQL, 16),
    ],
)
def test_the_pool_keeps_its_share_of_the_data(
    preset: str, data_mib: int, target: ServerTraits, pool_mib: int
) -> None:
    assert scaled(preset, data_mib * MIB, target)[0][POOL] == f"{pool_mib * MIB}"


def test_below_1_gib_one_instance_and_one_cleaner_as_the_server_has_it() -> None:
    names = ("innodb_buffer_pool_instances", "innodb_page_cleaners")
    small, notes = scaled("whitepaper-3", 1000 * MIB)
    assert [small[name] for name in names] == ["1", "1"]
    assert {note.name for note in notes} == {POOL, *names}
    large, _ = scaled("whitepaper-3", 50 * GIB)
    assert [large[name] for name in names] == ["32", "32"]


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
        ("mysql 9.7.4", 240, 32, 256),
        ("mysql 9.7.4", 960, 10, 896),  # 10 parts would need 1030
        ("mysql 9.7.4", 990, 10, 1030),
        ("mysql 9.7.4", 1000, 8, 1024),
        ("mysql 9.7.4", 1030, 32, 1024),
        ("mysql 9.7.4", 5000, 32, 4096),
        ("mysql 9.7.4", 7000, 32, 8192),
        # MariaDB 10.6 grows in chunks, 10.11 in whole MiB.
        ("mariadb 10.6.23", 127, 1, 127),
        ("mariadb 10.6.23", 129, 1, 128),
        ("mariadb 10.6.23", 3000, 1, 2944),
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
    old, _ = scaled("dedicated-server", GIB, parse_traits("mysql 8.0.46"))
    assert old == {DEDICATED: "ON", FLUSH_METHOD: "O_DIRECT"}
