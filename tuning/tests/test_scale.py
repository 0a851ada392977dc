"""The buffer pool keeps its share of the data, in sizes that the server does not round."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.servers.binary import Flavour
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.expected import Expected
from tuning.configs.effective.host import HostFacts
from tuning.configs.effective.variables import INSTANCES, POOL
from tuning.configs.presets.loader import load_preset, preset_names
from tuning.configs.presets.scale import Scaled, scale, unrounded_pool
from tuning.configs.translation.origin import ANY_VERSION, RELEASES
from tuning.configs.translation.translate import translate_knobs

MYSQL = ServerTraits(Flavour.MYSQL, (9, 7, 4))
MYSQL_57 = ServerTraits(Flavour.MYSQL, (5, 7, 42))
MARIADB = ServerTraits(Flavour.MARIADB, (10, 11, 19))
MIB = 1024**2
GIB = 1024**3


def scaled(
    preset: str,
    data_bytes: int,
    target: ServerTraits = MYSQL,
    *,
    memory: int = 8 * GIB,
    cpus: int = 8,
) -> Scaled:
    published = load_preset(preset).for_server(target)
    resources = HostResources(memory, cpus, data_bytes)
    return scale(
        translate_knobs(published.knobs, published.written_for or ANY_VERSION, target).knobs,
        published,
        target,
        resources,
    )


def round_pool(wanted: int, target: ServerTraits, instances: int) -> int:
    return unrounded_pool(wanted, Expected({INSTANCES: f"{instances}"}, target))


def pool(preset: str, data_bytes: int, target: ServerTraits = MYSQL) -> int:
    return int(scaled(preset, data_bytes, target).knobs["innodb_buffer_pool_size"])


def test_the_published_data_size_gives_the_published_pool() -> None:
    assert pool("whitepaper-1", 50 * GIB) == 3 * GIB
    assert pool("whitepaper-3", 50 * GIB) == 12 * GIB
    assert pool("whitepaper-3", 50 * GIB, MARIADB) == 12 * GIB


def test_ten_warehouses_get_the_papers_shares() -> None:
    data = 1000 * MIB
    assert pool("whitepaper-1", data) == pool("whitepaper-2", data) == 60 * MIB
    assert pool("whitepaper-3", data, MARIADB) == 240 * MIB
    # MySQL would make 256 MiB of 240 by itself: its pool grows in chunks of 128 MiB.
    assert pool("whitepaper-3", data) == pool("whitepaper-a", data) == 256 * MIB


def test_below_1_gib_one_instance_and_one_cleaner_as_the_server_has_it() -> None:
    small = scaled("whitepaper-3", 1000 * MIB)
    assert small.knobs["innodb_buffer_pool_instances"] == "1"
    assert small.knobs["innodb_page_cleaners"] == "1"
    assert {note.name for note in small.notes} == {
        "innodb_buffer_pool_size",
        "innodb_buffer_pool_instances",
        "innodb_page_cleaners",
    }
    large = scaled("whitepaper-3", 50 * GIB)
    assert large.knobs["innodb_buffer_pool_instances"] == "32"
    assert large.knobs["innodb_page_cleaners"] == "32"


def test_the_redo_log_is_not_scaled() -> None:
    for data in (100 * MIB, 1000 * GIB):
        assert scaled("whitepaper-2", data).knobs["innodb_redo_log_capacity"] == str(3 * GIB)
        assert scaled("whitepaper-2", data, MARIADB).knobs["innodb_log_file_size"] == str(3 * GIB)


def test_the_note_says_both_sizes() -> None:
    [note] = [n for n in scaled("whitepaper-1", 1000 * MIB).notes if n.name.endswith("pool_size")]
    assert note.detail == "3G for 50 GiB of data (6 %) becomes 60M for 1000 MiB (6 %)"


def test_the_server_default_is_left_alone() -> None:
    assert scaled("server-default", 10 * GIB) == Scaled({}, ())


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
        knobs = scaled(preset, 57 * GIB + 1, target, memory=memory).knobs
        if POOL in knobs:
            expected = Expected(knobs, target, HostFacts(logical_cpus=8))
            assert (preset, knobs[POOL]) == (preset, f"{expected.pool()}")


@pytest.mark.parametrize(
    ("wanted", "instances", "size"),
    [
        (240, 32, 256),
        (960, 10, 896),  # 10 parts would need 1030
        (990, 10, 1030),
        (1000, 8, 1024),
        (1030, 32, 1024),
        (5000, 32, 4096),
        (7000, 32, 8192),
    ],
)
def test_sizes_around_the_limit_of_one_instance(wanted: int, instances: int, size: int) -> None:
    assert round_pool(wanted * MIB, MYSQL, instances) == size * MIB


@given(st.integers(0, 2**44))
def test_mariadb_takes_whole_mebibytes(wanted: int) -> None:
    size = round_pool(wanted, MARIADB, 1)
    assert size % MIB == 0
    assert size == 16 * MIB or abs(size - wanted) <= MIB // 2


@pytest.mark.parametrize(
    ("wanted", "size"), [(60, 60), (127, 127), (129, 128), (200, 256), (1000, 1024), (3000, 2944)]
)
def test_mariadb_10_6_grows_in_chunks(wanted: int, size: int) -> None:
    old = ServerTraits(Flavour.MARIADB, (10, 6, 23))
    assert round_pool(wanted * MIB, old, 1) == size * MIB
    assert round_pool(wanted * MIB, MARIADB, 1) == wanted * MIB


@pytest.mark.parametrize("data_bytes", [1, MIB, 100 * MIB])
def test_tiny_data_still_gets_a_pool_that_works(data_bytes: int) -> None:
    assert pool("whitepaper-1", data_bytes) >= 16 * MIB


@pytest.mark.parametrize(
    ("memory_mib", "pool_mib"),
    [
        (512, 128),
        (1023, 128),
        (1024, 512),
        (3000, 1500),
        (4096, 2048),
        (8192, 6144),
        (65536, 49152),
    ],
)
def test_a_dedicated_mariadb_is_sized_by_mysqls_rule(memory_mib: int, pool_mib: int) -> None:
    found = scaled("dedicated-server", GIB, MARIADB, memory=memory_mib * MIB)
    assert found.knobs["innodb_buffer_pool_size"] == f"{pool_mib * MIB}"
    notes = {note.name: note.detail for note in found.notes}
    assert "this server does not have" in notes["innodb_dedicated_server"]
    assert f"{pool_mib}M for {memory_mib} MiB of memory" in notes["innodb_buffer_pool_size"]


@pytest.mark.parametrize(("cpus", "redo_mib"), [(1, 512), (2, 1024), (8, 4096), (64, 16384)])
def test_its_redo_log_grows_with_the_cpus(cpus: int, redo_mib: int) -> None:
    mariadb = scaled("dedicated-server", GIB, MARIADB, cpus=cpus).knobs
    assert mariadb["innodb_log_file_size"] == f"{redo_mib * MIB}"
    old = scaled("dedicated-server", GIB, MYSQL_57, cpus=cpus).knobs
    assert old["innodb_log_files_in_group"] == "2"
    assert old["innodb_log_file_size"] == f"{redo_mib * MIB // 2}"
    assert "innodb_redo_log_capacity" not in mariadb.keys() | old.keys()


def test_a_dedicated_mysql_sizes_itself() -> None:
    assert scaled("dedicated-server", GIB).knobs == {"innodb_dedicated_server": "ON"}
    old = scaled("dedicated-server", GIB, ServerTraits(Flavour.MYSQL, (8, 0, 46)))
    assert old.knobs == {"innodb_dedicated_server": "ON", "innodb_flush_method": "O_DIRECT"}
    assert [note.name for note in old.notes] == ["innodb_flush_method"]


def test_advice_on_io_capacity_is_the_same_on_every_host() -> None:
    for cpus, memory in ((1, GIB), (64, 512 * GIB)):
        knobs = scaled("io-capacity-2000", GIB, cpus=cpus, memory=memory).knobs
        assert knobs == {"innodb_io_capacity": "2000", "innodb_io_capacity_max": "4000"}
