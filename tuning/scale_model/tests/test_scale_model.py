"""The proportions of a scale model, and values on their way between it and the real server."""

from __future__ import annotations

import pytest

from benchmarks.servers.binary import Flavour
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.resources import Scales
from tuning.catalogue.target import ServerTraits
from tuning.configs.expected import GIB, MIB, Expected, HostFacts
from tuning.configs.variables import CAPACITY, CHUNK, FLUSH_METHOD, POOL
from tuning.scale_model.model import ScaleModel, in_model, is_scaled, on_real_server
from tuning.scale_model.sizes import GB, MB, read_size, size_text

MYSQL = ServerTraits(Flavour.MYSQL, (9, 7, 4))
MYSQL_80 = ServerTraits(Flavour.MYSQL, (8, 0, 41))
MARIADB = ServerTraits(Flavour.MARIADB, (11, 8, 6))
MODEL = ScaleModel(200 * GB, 48 * GB, warehouses=10, own_bytes=550 * MB)
HOST = HostFacts(logical_cpus=8, pool_chunk_bytes=MODEL.chunk_bytes(MYSQL))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("200G", 200 * GIB),
        ("200GB", 200 * GB),
        ("200 GB", 200 * GB),
        ("48GiB", 48 * GIB),
        ("1.5t", 1536 * GIB),
        ("900MB", 900 * MB),
    ],
)
def test_sizes_are_read_as_in_a_my_cnf_unless_decimal_ones_are_named(text: str, size: int) -> None:
    assert read_size(text) == size


@pytest.mark.parametrize("text", ["", "200", "G", "-1G", "0G", "1e3G", "2000000P", "48 G G", "٣G"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        read_size(text)


def test_sizes_are_written_with_three_figures() -> None:
    sizes = (48 * GB, 1_020_000_000, 790_123_456, 200 * 10**12, 999_960_000, 2_500 * 10**12, 12)
    assert [size_text(size) for size in sizes] == [
        *("48 GB", "1.02 GB", "790 MB", "200 TB", "1 GB", "2,500 TB", "12 bytes"),
    ]


def test_memory_stands_to_the_data_as_on_the_real_server() -> None:
    assert (MODEL.scale, MODEL.title) == (200, "scale model 1:200")
    titles = [ScaleModel(data, GB, 10, 0).title for data in (12_345_678 * GB, 1500 * MB)]
    assert titles == ["scale model 1:12345678", "scale model 1:1.5"]
    assert MODEL.model_memory_bytes == 240 * MB
    assert MODEL.limit_bytes == 790 * MB
    assert (
        "48 GB of memory for 200 GB of data (24 %), measured as 240 MB for 1 GB" in MODEL.sentence
    )


@pytest.mark.parametrize(("data", "memory"), [(200, 48), (200, 8), (1000, 16), (50, 40)])
def test_the_fewest_warehouses_are_the_first_that_leave_a_server_enough(
    data: int, memory: int
) -> None:
    least = ScaleModel(data * GB, memory * GB, 1, 550 * MB).min_warehouses

    def room(warehouses: int) -> float:
        return ScaleModel(data * GB, memory * GB, warehouses, 550 * MB).model_memory_bytes * 0.9

    assert room(least) >= 128 * MIB - 1
    assert least == 1 or room(least - 1) < 128 * MIB


def test_the_most_warehouses_fit_into_the_host_and_are_no_more_than_the_data() -> None:
    most = MODEL.max_warehouses(8 * GB)
    assert ScaleModel(200 * GB, 48 * GB, most, 550 * MB).limit_bytes <= 8 * GB
    assert ScaleModel(200 * GB, 48 * GB, most + 1, 550 * MB).limit_bytes > 8 * GB
    assert ScaleModel(GB // 2, GB, 1, 550 * MB).max_warehouses(10**15) == 5
    assert MODEL.max_warehouses(100 * MB) == 0


@pytest.mark.parametrize("target", [MYSQL, MYSQL_80, MARIADB])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_a_pool_has_the_same_share_of_the_memory_here_and_there(
    target: ServerTraits, share: float
) -> None:
    real = {POOL: f"{int(48 * GB * share)}"}
    model, notes = in_model(real, MODEL, target, HOST)
    assert int(model[POOL]) == pytest.approx(240 * MB * share, rel=0.02)
    assert [note.name for note in notes] == [POOL]
    assert "on the real server become" in notes[0].detail
    back = int(on_real_server(POOL, model[POOL], MODEL, target, {}))
    assert back == pytest.approx(48 * GB * share, rel=0.04)
    eight = Expected({POOL: f"{back}", "innodb_buffer_pool_instances": "8"}, target)
    assert eight.pool() == back, "the server would round it"


def test_values_that_do_not_scale_stay() -> None:
    others = {CAPACITY: f"{4 * GIB}", "innodb_io_capacity": "2000", FLUSH_METHOD: "O_DIRECT"}
    model, notes = in_model(others, MODEL, MYSQL, HOST)
    assert (model, notes) == (others, ())
    for name, value in others.items():
        assert on_real_server(name, value, MODEL, MYSQL, {}) == value


def test_zero_means_something_else_than_a_size() -> None:
    cells = "innodb_buffer_pool_size_auto_min"
    assert on_real_server(cells, "0", MODEL, MARIADB, {}) == "0"
    assert in_model({cells: "0"}, MODEL, MARIADB, HOST)[0] == {cells: "0"}


def test_sizes_below_what_the_server_accepts_are_raised_to_it() -> None:
    tiny = in_model({POOL: f"{64 * MIB}", CHUNK: f"{128 * MIB}"}, MODEL, MYSQL, HOST)[0]
    assert int(tiny[POOL]) >= 5 * MIB
    assert tiny[CHUNK] == f"{MIB}"


def test_the_pool_of_a_small_model_grows_in_small_steps() -> None:
    chunk = MODEL.chunk_bytes(MYSQL)
    assert chunk == MIB
    assert MODEL.fitted(MYSQL) == {CHUNK: f"{MIB}"}
    assert MODEL.fitted(MARIADB) == {}
    assert MODEL.fitted(ServerTraits(Flavour.MARIADB, (10, 6, 23))) == {CHUNK: f"{MIB}"}
    large = ScaleModel(200 * GB, 190 * GB, 1000, 550 * MB)
    assert large.chunk_bytes(MYSQL) is None
    expected = Expected({POOL: f"{161 * MIB}"}, MYSQL, HOST)
    assert expected.pool() == 161 * MIB


def test_without_control_groups_every_config_bypasses_the_page_cache() -> None:
    model = ScaleModel(200 * GB, 48 * GB, 10, 550 * MB, limits_memory=False)
    assert model.fitted(MARIADB) == {FLUSH_METHOD: "O_DIRECT"}
    assert model.only_here(MARIADB) == {}
    assert "only the buffer pool is scaled" in model.sentence
    assert "held to" not in model.sentence


def test_every_knob_says_how_it_scales_and_the_sizes_of_memory_do() -> None:
    knobs = load_catalogue().knobs.values()
    assert all(knob.scales is not None for knob in knobs if knob.set_by is None)
    assert is_scaled(POOL)
    scales = {knob.name: knob.scales for knob in knobs}
    assert scales[CAPACITY] is scales["innodb_log_file_size"] is Scales.WRITE_RATE
    assert scales["innodb_io_capacity"] is Scales.NONE
    assert scales["innodb_purge_threads"] is Scales.CORES


def test_a_model_survives_its_row() -> None:
    assert ScaleModel.from_json(MODEL.as_json()) == MODEL
    assert ScaleModel.from_json(None) is None
