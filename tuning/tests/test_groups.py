"""A study over several hosts: what is the same on all of them, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.inventory.host import FoundDriver
from benchmarks.inventory.stored import inventory_of
from benchmarks.models import Host
from benchmarks.tests.made_up_host import MYSQL, made_up_host, with_inventory
from tuning.actions.action import Actor, Fields, perform
from tuning.actions.table import find_action
from tuning.creation.groups import create_group
from tuning.errors import BadRequest, InvalidConfig, TuningError
from tuning.models import Study, StudyGroup
from tuning.requests.configs import ConfigText
from tuning.requests.device import DeviceRequest
from tuning.requests.study import GroupRequest
from tuning.studies.scheduler import PREPARE
from tuning.tests.fakes import MINE

pytestmark = pytest.mark.django_db(transaction=True)
OLD = replace(MYSQL, version=(8, 4, 3), version_text="8.4.3", path=Path("/opt/8.4/bin/mysqld"))
MOVED = replace(MYSQL, path=Path("/opt/9.7/bin/mysqld"))


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Host "a" with MySQL 8.4 and 9.7 and four CPUs, host "b" with 9.7 elsewhere and two."""
    monkeypatch.setattr("tuning.creation.device_facts.estimated_directory_bytes", lambda _: 1)
    for name, servers, cpus in (("a", (OLD, MYSQL), 4), ("b", (MOVED,), 2)):
        a_host(name, servers=servers, logical_cpus=cpus, directories=[tmp_path / name, tmp_path])


def a_host(name: str, **facts: Any) -> Host:
    return with_inventory(Host.objects.create(name=name), made_up_host(name=name, **facts))


def asked(*hosts: str, **values: Any) -> GroupRequest:
    facts: dict[str, Any] = {"template": "compare", "configs": [MINE], "blocks": 2}
    return GroupRequest(hosts=hosts, **(facts | values))


def test_each_host_gets_a_study_with_the_same_version_and_load(
    hosts: None, sent: list[Any]
) -> None:
    cancel = find_action("group", "cancel")
    group = create_group(asked("a", "b", name="Which?", template="connections"))
    on_a, on_b = group.studies.order_by("host__name")
    assert (str(on_a.server), str(on_b.server)) == ("MySQL 9.7.4", "MySQL 9.7.4")
    assert (on_a.server.path, on_b.server.path) == (str(MYSQL.path), str(MOVED.path))
    assert set(on_a.workloads.all()) == set(on_b.workloads.all())
    assert {device.host.name for device in on_a.devices.all()} == {"a"}
    assert sent == [(PREPARE, one.pk, one.host.queue) for one in (on_a, on_b)]
    assert group.name == on_a.name == on_b.name == "Which?"
    perform(cancel, group, Actor("ann"), Fields())
    with pytest.raises(TuningError, match="all its studies have ended"):
        perform(cancel, group, Actor("ann"), Fields())


def test_devices_go_to_the_host_that_they_belong_to(
    hosts: None, sent: list[Any], tmp_path: Path
) -> None:
    everywhere = DeviceRequest(path=tmp_path)
    only_there = DeviceRequest(path=tmp_path / "b", host="b")
    group = create_group(asked("a", "b", devices=[everywhere, only_there]))
    found = {
        study.host.name: sorted(study.devices.values_list("data_dir", flat=True))
        for study in group.studies.all()
    }
    assert found == {"a": [str(tmp_path)], "b": sorted([str(tmp_path), str(tmp_path / "b")])}


@pytest.mark.parametrize(
    ("names", "values", "field", "said"),
    [
        (["a", "c"], {}, "hosts", "there is no host 'c'"),
        (["a", "b"], {"server": OLD.path}, "server", "a: MySQL 8.4.3, MySQL 9.7.4; b: MySQL 9.7"),
        (["a", "b"], {"driver": "tpcc-mysql"}, "driver", "tpcc-mysql"),
        (
            ["a", "b"],
            {"devices": [DeviceRequest(path=Path("/x"), host="c")]},
            "devices[0]",
            "belongs to host c",
        ),
        (
            ["a", "b"],
            {"devices": [DeviceRequest(host="a"), DeviceRequest(path=Path("/x"), host="b")]},
            "devices[1].path",
            "host b: /x is not a directory",
        ),
    ],
)
def test_what_is_wrong_on_one_host_stores_nothing(
    hosts: None,
    sent: list[Any],
    names: list[str],
    values: dict[str, Any],
    field: str,
    said: str,
) -> None:
    with pytest.raises((TuningError, BenchmarkError)) as caught:
        create_group(asked(*names, **values))
    error: Any = caught.value
    assert said in str(error)
    assert error.field == field
    assert not StudyGroup.objects.exists()
    assert not Study.objects.exists()
    assert sent == []


def test_a_config_that_one_host_refuses_is_refused_with_its_name(
    hosts: None, sent: list[Any]
) -> None:
    huge = ConfigText.of("huge", b"[mysqld]\ninnodb_redo_log_capacity = 40G\n")
    there = Host.objects.get(name="b")
    full = tuple(
        one.model_copy(update={"identity": replace(one.identity, free_bytes=20 * 10**9)})
        for one in inventory_of(there).directories
    )
    with_inventory(there, inventory_of(there).model_copy(update={"directories": full}))
    with pytest.raises(InvalidConfig) as caught:
        create_group(asked("a", "b", configs=[huge]))
    assert all(one.reason.startswith("on host b: ") for one in caught.value.problems)


def test_hosts_without_a_common_driver_are_refused(hosts: None) -> None:
    other = made_up_host(name="b", servers=(MOVED,), driver="tpcc-mysql")
    with_inventory(Host.objects.get(name="b"), other)
    with pytest.raises(BadRequest, match="no workload driver in common"):
        create_group(asked("a", "b"))
    both = (FoundDriver(name="tpcc-mysql", version="1"), FoundDriver(name="sysbench", version="1"))
    with_inventory(Host.objects.get(name="b"), other.model_copy(update={"drivers": both}))
    with pytest.raises(TuningError, match="host b: "):
        create_group(asked("a", "b"))
