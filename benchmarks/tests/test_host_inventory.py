from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from benchmarks.errors import (
    DeviceUnusable,
    NoDriver,
    NoServerFound,
    NoServerUser,
    NotAServer,
    NotListed,
)
from benchmarks.inventory import here
from benchmarks.inventory.here import DEVICE, inspect_here, refresh_space
from benchmarks.inventory.host import HostInventory
from benchmarks.inventory.inspection import inspect_directory, inspect_host
from benchmarks.inventory.stored import change_inventory, inventory_of, list_paths
from benchmarks.models import Host, ListedPath
from benchmarks.servers.binary import ServerBinary
from benchmarks.tests.made_up_host import (
    made_up_host,
    this_host,
    with_directory,
    with_inventory,
)


@pytest.fixture(autouse=True)
def nothing_on_path(server_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers of this machine, whatever they are, are not what these tests are about."""
    monkeypatch.setattr("benchmarks.inventory.inspection._SERVER_FOLDERS", ())
    monkeypatch.setenv("PATH", f"{server_tmp}:/usr/bin:/bin")


def test_a_host_finds_what_can_be_started_and_measured_on_it(
    server_tmp: Path, mariadb_binary: ServerBinary
) -> None:
    device, twin = server_tmp / "made" / "device", server_tmp / "twin"
    for name in ("mysqld", "mariadbd"):
        (server_tmp / name).symlink_to(mariadb_binary.path)
    (server_tmp / "data").mkdir()
    twin.symlink_to(server_tmp / "data")
    found = inspect_host(
        "db-1",
        installed_servers=server_tmp / "none",
        default_device=device,
        servers=[mariadb_binary.path, Path("/bin/true"), server_tmp / "gone"],
        devices=[twin, server_tmp / "gone", Path("/proc")],
        code_version="1.2",
    )
    # What was named keeps its name; of those that were found by themselves the first counts.
    assert [one.path for one in found.servers] == [server_tmp / "mysqld", mariadb_binary.path]
    assert found.server().digest == mariadb_binary.digest
    assert [str(one.path) for one in found.refused_servers] == [
        "/bin/true",
        str(server_tmp / "gone"),
    ]
    assert found.directory().path == device
    assert found.directory(twin) == found.directory(server_tmp / "data")
    assert found.directory(twin).file_system == found.directory().file_system
    assert found.directory().identity.free_bytes > 0
    assert {str(one.path) for one in found.refused_directories} == {
        str(server_tmp / "gone"),
        "/proc",
    }
    assert found.driver("sysbench").version
    assert found.logical_cpus == len(os.sched_getaffinity(0)) <= found.host_cpus
    assert 0 < found.memory_budget_bytes <= found.memory_bytes
    assert HostInventory.from_json(found.as_json()) == found
    assert HostInventory.from_json({**found.as_json(), "from_the_future": 1}) == found


def test_what_a_host_does_not_have_is_refused_with_the_command_that_helps(tmp_path: Path) -> None:
    host = made_up_host(directories=[tmp_path])
    with pytest.raises(NotListed, match=r"manage.py server add /opt/other"):
        host.server(Path("/opt/other"))
    with pytest.raises(NotListed, match=r"manage.py device add /srv/other"):
        host.directory(Path("/srv/other"))
    with pytest.raises(NoDriver, match="there are: auto, sysbench"):
        host.driver("hammerdb")


def test_what_a_host_refused_keeps_its_reason(tmp_path: Path) -> None:
    host = inspect_host(
        "db-1",
        installed_servers=tmp_path,
        default_device=tmp_path,
        servers=[Path("/bin/true")],
        devices=[tmp_path / "gone"],
    )
    with pytest.raises(NotAServer, match="/bin/true is not a mysqld"):
        host.server(Path("/bin/true"))
    with pytest.raises(NoServerFound, match=r"on host db-1 \(/bin/true is not a mysqld"):
        host.server()
    with pytest.raises(DeviceUnusable, match="gone: does not exist"):
        host.directory(tmp_path / "gone")


@pytest.mark.slow
@pytest.mark.django_db
def test_what_somebody_names_on_the_host_is_listed_if_it_can_be_used(
    server_tmp: Path, settings: Settings, mariadb_binary: ServerBinary
) -> None:
    settings.DEFAULT_DEVICE = server_tmp / "device"
    settings.LISTED_DEVICES = [server_tmp]
    host = Host.objects.create(name="here")
    inspect_here(
        host, servers=[mariadb_binary.path, Path("/bin/true")], devices=[server_tmp / "gone"]
    )
    (row,) = ListedPath.objects.all()
    assert (row.subject, row.path) == ("server", str(mariadb_binary.path))
    host.refresh_from_db()
    assert host.inspected_at is not None
    # From now on without being named.
    found = inspect_here(host)
    assert HostInventory.from_json(host.inventory) == found
    assert mariadb_binary.path in {one.path for one in found.servers}
    assert [one.path for one in found.directories] == [server_tmp / "device", server_tmp]


@pytest.mark.django_db
def test_free_space_and_datasets_are_kept_up_to_date(tmp_path: Path) -> None:
    place, gone = tmp_path / "srv", tmp_path / "gone"
    host = this_host(directories=[place, gone])
    before = inventory_of(host)
    (place / "oltp-advisor" / "datasets" / "mysql-w1").mkdir(parents=True)
    gone.rmdir()
    refresh_space(host)
    host.refresh_from_db()
    now = inventory_of(host)
    assert now.directory(place).datasets == ("mysql-w1",)
    assert now.directory(gone) == before.directory(gone)
    there = now.directory(place)
    fuller = replace(there.identity, free_bytes=there.identity.free_bytes // 2)
    with_inventory(host, with_directory(now, there.model_copy(update={"identity": fuller})))
    refresh_space(host)
    free = inventory_of(host).directory(place).identity.free_bytes
    assert free == pytest.approx(there.identity.free_bytes, rel=0.05)
    Host.objects.update(inventory={})
    host.refresh_from_db()
    refresh_space(host)
    assert Host.objects.get().inventory == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another user for the server")
def test_a_host_without_the_user_that_servers_run_as_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mariadb_binary: ServerBinary
) -> None:
    monkeypatch.setenv("ADVISOR_SERVER_USER", "nobody-of-that-name")
    found = inspect_host(
        "db-1",
        installed_servers=tmp_path,
        default_device=tmp_path,
        servers=[mariadb_binary.path],
    )
    for named in (None, mariadb_binary.path):
        with pytest.raises(NoServerUser, match="no system user 'nobody-of-that-name'"):
            found.server(named)
    assert found.directory().path == tmp_path


@pytest.mark.django_db
def test_of_two_looks_that_overlap_the_older_does_not_write_over_the_newer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one look is under way a directory that it cannot know is inspected and stored."""
    host = this_host(directories=[tmp_path])
    added = tmp_path / "added"
    added.mkdir()
    looks = []

    def look(name: str, **named: Any) -> HostInventory:
        looks.append(named["devices"])
        if len(looks) == 1:
            list_paths(host, DEVICE, [added])
            row = Host.objects.get(pk=host.pk)
            change_inventory(row, lambda known: with_directory(known, inspect_directory(added)))
        elif len(looks) == 2:  # what fills and empties by itself is no reason to look again
            (tmp_path / "oltp-advisor" / "datasets" / "mysql-w1").mkdir(parents=True)
            refresh_space(Host.objects.get(pk=host.pk))
        return made_up_host(name=name, directories=[tmp_path, *looks[-1]])

    monkeypatch.setattr(here, "inspect_host", look)
    inspect_here(host)
    assert len(looks) == 2
    assert added in looks[1]
    host.refresh_from_db()
    assert inventory_of(host).directory(added).path == added
