"""What a host finds on itself, what it refuses, and what it keeps of both."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from benchmarks.errors import (
    BenchmarkError,
    DeviceUnusable,
    NoDriver,
    NoServerFound,
    NoServerUser,
    NotAServer,
    NotListed,
)
from benchmarks.inventory import inspection
from benchmarks.inventory.host import HostInventory, MissingDriver
from benchmarks.inventory.inspection import (
    inspect_here,
    inspect_host,
    refresh_space,
    server_candidates,
)
from benchmarks.inventory.stored import DEVICE, inventory_of, list_paths
from benchmarks.models import Host, ListedPath
from benchmarks.servers.binary import ServerBinary
from benchmarks.tests.made_up_host import (
    made_up_host,
    this_host,
    with_directory,
    with_inventory,
)


@pytest.fixture(autouse=True)
def bare(server_tmp: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """Servers and devices of this machine, whatever they are, are not what these tests check."""
    monkeypatch.setattr(inspection, "_SERVER_FOLDERS", ())
    monkeypatch.setenv("PATH", f"{server_tmp}:/usr/bin:/bin")
    settings.INSTALLED_SERVERS_DIR = server_tmp / "none"
    settings.DEFAULT_DEVICE = server_tmp / "made" / "device"
    settings.LISTED_SERVERS = settings.LISTED_DEVICES = []


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o755)
    return path


def test_servers_on_path_come_first_and_mysql_before_mariadb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "installed"
    there = [program(installed / "mysql/mysqld"), program(installed / "mariadb/mariadbd")]
    mariadbd = program(tmp_path / "first/mariadbd")
    mysqld = program(tmp_path / "second/mysqld")
    program(tmp_path / "second/mariadbd")
    monkeypatch.setenv("PATH", f"{tmp_path}/first")
    # Packages put servers where an ordinary user's PATH does not look.
    monkeypatch.setattr(inspection, "_SERVER_FOLDERS", (f"{tmp_path}/second",))
    assert server_candidates(installed) == [mysqld, mariadbd, *there]
    there[0].unlink()
    assert server_candidates(installed) == [mysqld, mariadbd, there[1]]


def test_a_host_finds_what_can_be_started_and_measured_on_it(
    server_tmp: Path, mariadb_binary: ServerBinary, settings: Settings
) -> None:
    twin, gone = server_tmp / "twin", server_tmp / "gone"
    for name in ("mysqld", "mariadbd"):
        (server_tmp / name).symlink_to(mariadb_binary.path)
    (server_tmp / "data").mkdir()
    twin.symlink_to(server_tmp / "data")
    found = inspect_host(
        "db-1",
        servers=[mariadb_binary.path, Path("/bin/true"), gone],
        devices=[twin, gone, Path("/proc")],
    )
    # What was named keeps its name; of those that were found by themselves the first counts.
    assert [one.path for one in found.servers] == [server_tmp / "mysqld", mariadb_binary.path]
    assert found.server().digest == mariadb_binary.digest
    assert [one.path for one in found.refused_servers] == [Path("/bin/true"), gone]
    assert [one.path for one in found.refused_directories] == [gone, Path("/proc")]
    assert found.directory().path == settings.DEFAULT_DEVICE
    assert found.directory(twin) == found.directory(server_tmp / "data")
    assert found.directory(twin).file_system == found.directory().file_system
    assert found.directory().identity.free_bytes > 0
    assert found.driver("sysbench").version
    assert found.logical_cpus == len(os.sched_getaffinity(0)) <= found.host_cpus
    assert 0 < found.memory_budget_bytes <= found.memory_bytes
    assert HostInventory.from_json({**found.as_json(), "from_the_future": 1}) == found


@pytest.mark.parametrize(
    ("kind", "named", "error", "said"),
    [
        ("server", "/opt/other", NotListed, r"manage.py server add /opt/other"),
        ("server", "/bin/true", NotAServer, "/bin/true is not a mysqld"),
        ("server", None, NoServerFound, r"on host db-1 \(/bin/true is not a mysqld"),
        ("directory", "/srv/other", NotListed, r"manage.py device add /srv/other"),
        ("directory", "/gone", DeviceUnusable, "/gone: No such file"),
        ("driver", "hammerdb", NoDriver, "there are: auto, "),
    ],
)
def test_what_a_host_does_not_have_is_refused_with_the_reason(
    kind: str, named: str | None, error: type[BenchmarkError], said: str
) -> None:
    found = inspect_host("db-1", servers=[Path("/bin/true")], devices=[Path("/gone")])
    with pytest.raises(error, match=said):
        getattr(found, kind)(Path(named) if named and kind != "driver" else named)


def test_a_host_without_a_driver_says_how_to_get_one() -> None:
    missing = MissingDriver(name="sysbench", reason="Get sysbench.")
    found = made_up_host(drivers=(), missing_drivers=(missing,))
    with pytest.raises(NoDriver, match=r"Host db-host-1: Get sysbench\."):
        found.driver()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another user for the server")
def test_a_host_without_the_user_that_servers_run_as_says_so(
    monkeypatch: pytest.MonkeyPatch, mariadb_binary: ServerBinary, settings: Settings
) -> None:
    monkeypatch.setenv("ADVISOR_SERVER_USER", "nobody-of-that-name")
    found = inspect_host("db-1", servers=[mariadb_binary.path])
    for named in (None, mariadb_binary.path):
        with pytest.raises(NoServerUser, match="no system user 'nobody-of-that-name'"):
            found.server(named)
    assert found.directory().path == settings.DEFAULT_DEVICE


@pytest.mark.slow
@pytest.mark.django_db
def test_what_somebody_names_on_the_host_is_listed_if_it_can_be_used(
    server_tmp: Path, settings: Settings, mariadb_binary: ServerBinary
) -> None:
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
    assert [one.path for one in found.directories] == [settings.DEFAULT_DEVICE, server_tmp]


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


@pytest.mark.django_db
def test_a_path_that_is_listed_during_a_look_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = this_host(directories=[tmp_path])
    added = tmp_path / "added"
    looks = []

    def look(name: str, **named: Any) -> HostInventory:
        looks.append(named["devices"])
        list_paths(host, DEVICE, [added])
        return made_up_host(name=name, directories=[tmp_path, *looks[-1]])

    monkeypatch.setattr(inspection, "inspect_host", look)
    inspect_here(host)
    assert looks == [[], [added]]
    host.refresh_from_db()
    assert inventory_of(host).directory(added).path == added
