"""A scale model as it is asked for: its devices, candidates, spaces, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.management import listing
from benchmarks.tests.made_up_host import change_host
from tuning.creation.create import create_study, request_again
from tuning.creation.plan import plan_of
from tuning.creation.search import search_of
from tuning.errors import BadRequest
from tuning.models import Study
from tuning.requests.configs import ConfigText
from tuning.requests.device import DeviceRequest
from tuning.requests.search import SearchRequest
from tuning.requests.study import StudyRequest
from tuning.scale_model.model import ScaleModel
from tuning.scale_model.sizes import GB, MB
from tuning.search_space.space_request import BadSpace

pytestmark = pytest.mark.django_db(transaction=True)

POOL, CHUNK, METHOD = (
    "innodb_buffer_pool_size",
    "innodb_buffer_pool_chunk_size",
    "innodb_flush_method",
)
MIB = 1024**2


@pytest.fixture
def host(host_of_fakes: None, sent: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A host of 24 GB on which memory can be limited."""
    monkeypatch.setattr(listing, "inspect_here", lambda *_, **__: None)


def asked(**values: Any) -> StudyRequest:
    return StudyRequest(**{"data_size": 200 * GB, "memory": 48 * GB, **values})


@pytest.mark.usefixtures("host")
def test_the_device_has_the_memory_of_the_model_and_its_label() -> None:
    study = Study.objects.get(pk=create_study(asked(connections=[8])).pk)
    model = ScaleModel.from_json(study.scale_model)
    assert model is not None
    assert (model.scale, model.model_memory_bytes) == (200, 240 * MB)
    [device] = study.devices.all()
    assert device.emulation_label == "scale model 1:200 (798 MB memory)"
    assert device.profile is not None
    assert (device.profile.memory_bytes, device.profile.throttles) == (model.limit_bytes, False)
    assert str(device).startswith("scale model 1:200 with 798 MB of memory at ")
    assert study.memory_bytes == 24 * GB


@pytest.mark.usefixtures("host")
def test_candidates_are_sized_within_the_model() -> None:
    study = create_study(asked(memory=80 * GB))
    pools = {
        one.name: int(one.config.knobs[POOL])
        for one in study.candidates.all()
        if POOL in one.config.knobs
    }
    assert {"advisor", "mysqltuner", "whitepaper-a"} <= pools.keys()
    assert all(pool <= 400 * MB * 0.9 for pool in pools.values()), pools
    # Its steps are not the 128 MiB of a large server: 24 % of the data.
    assert pools["whitepaper-a"] == pytest.approx(244 * MB, rel=0.02)
    for one in study.candidates.filter(refusal=""):
        assert one.config.knobs[CHUNK] == f"{2 * MIB}"


@pytest.mark.usefixtures("host")
def test_files_are_those_of_the_real_server() -> None:
    mine = ConfigText.of(
        "mine", b"[mysqld]\ninnodb_buffer_pool_size = 32G\ninnodb_redo_log_capacity = 1G\n"
    )
    study = create_study(asked(template="compare", configs=[mine]))
    knobs = study.candidates.get(name="mine").config.knobs
    assert int(knobs[POOL]) == pytest.approx(32 * 1024 * MIB / 200, rel=0.01)
    assert knobs["innodb_redo_log_capacity"] == f"{1024 * MIB}"
    notes = study.candidates.get(name="mine").notes
    assert any("on the real server become" in note["detail"] for note in notes)


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("template", ["compare", "search"])
def test_a_model_that_is_asked_for_again_is_the_same_with_the_same_files(template: str) -> None:
    """Its files are not sized down twice."""
    mine = ConfigText.of(
        "mine", b"[mysqld]\ninnodb_buffer_pool_size = 32G\ntable_open_cache = 3000\n"
    )
    study = create_study(asked(template=template, configs=[mine], devices=[DeviceRequest()]))
    again = create_study(request_again(study))
    assert again.scale_model == study.scale_model
    assert list(again.devices.all()) == list(study.devices.all())
    assert [one.config for one in again.candidates.all()] == [
        one.config for one in study.candidates.all()
    ]


@pytest.mark.usefixtures("host")
def test_a_file_with_more_than_the_real_memory_is_refused() -> None:
    mine = ConfigText.of("mine", b"[mysqld]\ninnodb_buffer_pool_size = 60G\n")
    with pytest.raises(Exception, match=r"more than 90 % of the 48\.0 GB"):
        create_study(asked(template="compare", configs=[mine]))


@pytest.mark.usefixtures("host")
def test_a_search_stays_within_the_model_and_takes_bounds_for_the_real_server() -> None:
    usual = search_of(plan_of(asked(template="search"))).space
    [pool] = [one for one in usual.dimensions if one.name == POOL]
    assert pool.high <= 240 * MB * 0.9
    assert pool.high > 180 * MIB
    assert usual.pinned[CHUNK] == f"{MIB}"
    wish = SearchRequest(bounds={POOL: ("16G", "32G")}, pinned={CHUNK: "128M"})
    bounded = search_of(plan_of(asked(template="search", search=wish))).space
    [pool] = [one for one in bounded.dimensions if one.name == POOL]
    assert (pool.low / MIB, pool.high / MIB) == pytest.approx((82, 164), abs=2)


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize(
    ("values", "field", "reason"),
    [
        ({"memory": None}, "memory", "without the memory"),
        ({"data_size": None}, "data_size", "without the size of the data"),
        ({"warehouses": 4}, "warehouses", "use at least 7 warehouses"),
        ({"warehouses": 1000}, "warehouses", "24 GB.* at most 9"),
        ({"data_size": GB // 2, "memory": GB}, "warehouses", "no more data than stated.* 5 are"),
        ({"data_size": 50 * MB}, "data_size", "too small for a scale model"),
        (
            {"data_size": 10**18, "memory": GB},
            "memory",
            "1,000,000 TB cannot .* at least 1,491,308,080 warehouses, .* at most 10,000",
        ),
        (
            {"devices": [DeviceRequest(memory_mb=900)]},
            "devices[0].memory_mb",
            "900 MB contradicts the scale model 1:200 .* 7.. MB",
        ),
        (
            {"devices": [DeviceRequest(), DeviceRequest(emulate="hdd", memory_mb=900)]},
            "devices[1].memory_mb",
            "contradicts",
        ),
    ],
)
def test_what_cannot_be_modelled_is_refused_beside_its_field(
    values: dict[str, Any], field: str, reason: str
) -> None:
    with pytest.raises(BadRequest, match=reason) as refused:
        create_study(asked(**values))
    assert refused.value.field == field
    assert not Study.objects.exists()


@pytest.mark.usefixtures("host")
def test_the_number_of_warehouses_that_is_named_would_do() -> None:
    for memory in (48, 12):
        with pytest.raises(BadRequest, match=r"use at least (\d+)") as refused:
            create_study(asked(memory=memory * GB, warehouses=1))
        least = int(str(refused.value).split("at least ")[1].split()[0])
        create_study(asked(memory=memory * GB, warehouses=least))


@pytest.mark.usefixtures("host")
def test_an_emulated_device_keeps_its_limits_and_gets_the_memory_of_the_model() -> None:
    study = create_study(asked(devices=[DeviceRequest(emulate="hdd")]))
    [device] = study.devices.all()
    assert device.emulation_label.startswith("scale model 1:200 on emulated HDD (200 IOPS read")
    assert str(device).startswith("scale model 1:200 on emulated HDD with ")
    again = create_study(asked(devices=[DeviceRequest(id=device.pk)]))
    assert list(again.devices.all()) == [device]
    with pytest.raises(BadRequest, match="state the data size") as refused:
        create_study(StudyRequest(devices=[DeviceRequest(id=device.pk)]))
    assert refused.value.field == "devices[0]"


@pytest.mark.usefixtures("host")
def test_without_control_groups_the_pool_alone_is_scaled() -> None:
    change_host(memory_limit_problem="no cgroups here")
    study = create_study(asked())
    model = ScaleModel.from_json(study.scale_model)
    assert model is not None
    assert not model.limits_memory
    assert "every config bypasses the page cache" in model.sentence
    [device] = study.devices.all()
    assert device.emulation is None
    for one in study.candidates.filter(refusal=""):
        # O_DIRECT is this server's default; what sets another method is changed.
        assert one.config.knobs.get(METHOD, "O_DIRECT").startswith("O_DIRECT")
    mine = ConfigText.of("mine", b"[mysqld]\ninnodb_flush_method = fsync\n")
    buffered = create_study(asked(template="compare", configs=[mine])).candidates.get(name="mine")
    assert buffered.config.knobs[METHOD] == "O_DIRECT"
    assert METHOD not in search_of(plan_of(asked(template="search"))).space.names


@pytest.mark.usefixtures("host")
def test_a_pin_beyond_the_memory_is_refused_with_whose_sizes_are_meant() -> None:
    with pytest.raises(
        BadSpace, match=r"536\.9 MB.*all sizes as in the scale model 1:200; 100G on the real"
    ) as no:
        search_of(plan_of(asked(search=SearchRequest(pinned={POOL: "100G"}))))
    assert (no.value.code, no.value.field) == ("bad_pin", f"search.pinned.{POOL}")
