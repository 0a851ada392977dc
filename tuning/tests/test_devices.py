"""From a directory a user names to the row of its device; real directories, real kernel."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.emulation.profile import EmulationProfile, shipped_profiles
from benchmarks.errors import (
    DeviceUnusable,
    EmulationUnavailable,
    LoadFailed,
    NotInspected,
    NotListed,
)
from benchmarks.inventory import in_place
from benchmarks.inventory.device_lookup import (
    DeviceSpec,
    FoundDevice,
    correct_kind,
    device_row,
    find_device,
)
from benchmarks.inventory.host import HostInventory
from benchmarks.inventory.in_place import check_measurable, check_still_there
from benchmarks.inventory.inspection import inspect_directory
from benchmarks.jobs import runs
from benchmarks.measurement import measure
from benchmarks.models import Config, Device, Host, JobState, Probe, Run, Server, Workload
from benchmarks.servers.binary import Flavour
from benchmarks.storage import identify as storage
from benchmarks.storage.identify import identify_device
from benchmarks.storage.kinds import DeviceKind
from benchmarks.tests.fake_driver import FakeDriver
from benchmarks.tests.made_up_host import (
    directory_of,
    made_up_host,
    with_directory,
    with_inventory,
)
from tuning.creation.devices import (
    find_devices,
    register_device,
    room_for_pool,
    set_kind,
    spec_of,
    usual_memory,
)
from tuning.creation.hosts import host_for
from tuning.errors import BadRequest
from tuning.requests.device import DeviceRequest
from tuning.scale_model.sizes import MB
from tuning.tests.fakes import BINARY

pytestmark = pytest.mark.django_db

Find = Callable[..., FoundDevice]
DATA = 10**9


@pytest.fixture
def find(tmp_path: Path) -> Find:
    """Finds a device in an inventory of just now, of a host on which limits can be set."""

    def find(**values: Any) -> FoundDevice:
        request = DeviceSpec(**({"path": tmp_path} | values))
        return find_device(request, inventory_for(request, tmp_path / "usual"))

    return find


def inventory_for(request: DeviceSpec, default: Path) -> HostInventory:
    places = [default, *filter(None, (request.path, request.log_dir))]
    there = [place for place in places if place == default or place.is_dir()]
    return made_up_host(name="here", directories=there)


@pytest.fixture
def host(settings: Any) -> Host:
    settings.HOST_NAME = "here"
    return Host.objects.create(name="here")


def probed(device: Device, **values: Any) -> Probe:
    found = {"random_read_iops": 50_000, "random_write_iops": 20_000}
    rates = {"read_mb_s": 3000, "write_mb_s": 1000, **found, **values}
    return Probe.objects.create(device=device, seconds=50, state=JobState.OK, **rates)


def test_the_row_holds_what_was_found(find: Find, host: Host, tmp_path: Path) -> None:
    device = device_row(host, find())
    assert device.found is not None
    assert replace(device.found, free_bytes=0) == replace(identify_device(tmp_path), free_bytes=0)
    assert device.discovered_kind == device.kind == identify_device(tmp_path).kind
    assert (device.emulation, device.emulation_label, device.log_dir) == (None, "", "")
    assert device_row(host, find()) == device


def test_a_correction_lasts_until_it_is_taken_back(find: Find, host: Host) -> None:
    found = DeviceKind(device_row(host, find()).kind)
    assert device_row(host, find(kind=found)).kind_correction == ""
    other = DeviceKind.HDD if found != DeviceKind.HDD else DeviceKind.NVME
    device = device_row(host, find(kind=other))
    assert (device.kind, device.discovered_kind) == (other, found)
    assert device_row(host, find()).kind == other
    correct_kind(device, None)
    assert device_row(host, find()).kind == found
    correct_kind(device, other)
    assert Device.objects.get().kind == other


def test_another_disk_in_the_same_place_is_another_device(find: Find, host: Host) -> None:
    old = device_row(host, find())
    there = find()
    new = device_row(host, replace(there, data=replace(there.data, model="Another Disk 9000")))
    old.refresh_from_db()
    assert new.pk != old.pk
    assert old.retired_at is not None
    assert old.model != "Another Disk 9000"
    with pytest.raises(DeviceUnusable, match="another device is in its place"):
        spec_of(old)


def test_another_name_of_the_block_device_is_the_same_device(find: Find, host: Host) -> None:
    old = device_row(host, find())
    there = find()
    again = device_row(host, replace(there, data=replace(there.data, block_device="sdq")))
    assert (again.pk, again.block_device) == (old.pk, "sdq")


def test_an_emulated_device_is_always_called_so(find: Find, host: Host) -> None:
    real = device_row(host, find())
    hdd = device_row(host, find(emulate="hdd", memory_bytes=700 * MB))
    native = device_row(host, find(emulate="native", memory_bytes=700 * MB))
    assert len({real.pk, hdd.pk, native.pk}) == 3
    assert hdd.kind == "hdd"
    assert str(hdd).startswith("emulated HDD with 700 MB of memory at ")
    assert hdd.emulation_label == ("emulated HDD (200 IOPS read, 200 IOPS write, 700 MB memory)")
    assert (native.kind, native.discovered_kind) == (real.kind, real.discovered_kind)
    assert str(native).startswith("emulated native with 700 MB")
    assert device_row(host, find(emulate="hdd", memory_bytes=800 * MB)).pk != hdd.pk
    with pytest.raises(DeviceUnusable, match="kind of an emulated device cannot"):
        set_kind(hdd, DeviceKind.NVME)


def test_a_device_can_be_named_again(find: Find, host: Host, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for values in (
        {},
        {"kind": DeviceKind.NVME},
        {"emulate": "hdd", "memory_bytes": 700 * MB},
        {"memory_bytes": 900 * MB},
        {"log_dir": logs},
    ):
        device = device_row(host, find(**values))
        request = spec_of(device)
        assert device_row(host, find(**vars(request))) == device


def test_a_registered_device_is_measured_on_its_own_host(find: Find, host: Host) -> None:
    device = device_row(far := Host.objects.create(name="far"), find())
    assert host_for(devices=[spec_of(device)]) == far
    assert host_for() == host
    with pytest.raises(BadRequest, match=r"belongs to host far, and .* measured on here") as no:
        host_for("here", [DeviceSpec(), spec_of(device)])
    assert no.value.field == "devices[1]"


def test_sata_ssd_is_scaled_to_what_a_probe_found(find: Find, host: Host) -> None:
    device = device_row(host, find())
    probe = probed(device)
    scaled = find(emulate="sata-ssd").emulation
    assert scaled is not None
    assert scaled.read_iops == shipped_profiles()["sata-ssd"].read_iops // 20  # type: ignore[operator]
    probe.random_write_iops = 90
    probe.save()
    with pytest.raises(EmulationUnavailable, match="does only 90"):
        find(emulate="hdd")


@pytest.mark.parametrize(
    ("values", "said", "field"),
    [
        ({"path": Path("/nowhere/at/all")}, "device add /nowhere/at/all", "path"),
        ({"log_dir": Path("/nowhere/at/all")}, "device add /nowhere/at/all", "log_dir"),
        ({"log_dir": Path("DATA")}, "the data directory", "log_dir"),
        ({"log_dir": Path("DATA/link")}, "the data directory", "log_dir"),
        ({"emulate": "floppy"}, "no emulated device 'floppy'; there are native, hdd", "emulate"),
        (
            {"emulate": "hdd", "memory_bytes": 700},
            "memory_bytes: .* greater than or equal to 67108864",
            "emulate",
        ),
        ({"memory_bytes": -1}, "greater than or equal to 67108864", "memory_mb"),
    ],
)
def test_what_cannot_be_is_refused(
    find: Find, tmp_path: Path, values: dict[str, Any], said: str, field: str
) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    there = {
        name: Path(str(value).replace("DATA", str(tmp_path))) if isinstance(value, Path) else value
        for name, value in values.items()
    }
    with pytest.raises((NotListed, EmulationUnavailable, DeviceUnusable), match=said) as no:
        find(**there)
    assert no.value.field == field


def test_tmpfs_cannot_be_throttled() -> None:
    place = Path("/dev/shm")
    there = with_directory(made_up_host(), inspect_directory(place))
    with pytest.raises(EmulationUnavailable, match="tmpfs") as no:
        find_device(DeviceSpec(path=place, emulate="hdd"), there)
    assert no.value.field == "emulate"


def test_another_disk_behind_the_directory_is_noticed_before_a_run(
    find: Find, host: Host, tmp_path: Path
) -> None:
    device = device_row(host, find())
    check_still_there(device)
    device.identity["model"] = "Another Disk 9000"
    with pytest.raises(DeviceUnusable, match="another device is in its place"):
        check_still_there(device)


@pytest.mark.parametrize("with_log_dir", [False, True])
def test_a_run_looks_at_each_of_its_devices_once(
    find: Find, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_log_dir: bool
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    device = device_row(host, find(log_dir=logs if with_log_dir else None))
    run = Run(
        pk=7,
        device=device,
        server=Server(path="/opt/mysqld", digest=BINARY.digest),
        workload=Workload(warehouses=1, connections=1, warmup_s=0, measure_s=1),
        config=Config(),
        seed=1,
    )
    monkeypatch.setattr(in_place, "identify", lambda _: BINARY)
    monkeypatch.setattr(runs, "find_driver", lambda _: FakeDriver())
    looked: Counter[str] = Counter()
    for name in ("read_mounts", "check_usable"):
        real = getattr(storage, name)

        def counted(*args: Any, real: Any = real, name: str = name) -> Any:
            looked[name] += 1
            return real(*args)

        monkeypatch.setattr(storage, name, counted)

    def stop_here(*_: Any, **__: Any) -> None:
        raise LoadFailed("far enough")

    monkeypatch.setattr(measure, "find_dataset", stop_here)

    def execute() -> None:
        measure.measure(
            runs.plan_for(run, "run-1"), report=lambda _: None, should_stop=lambda: False
        )

    with pytest.raises(LoadFailed):
        execute()
    devices = 2 if with_log_dir else 1
    assert looked == {"read_mounts": devices, "check_usable": devices}
    device.identity["model"] = "Another Disk 9000"
    with pytest.raises(DeviceUnusable, match="another device is in its place"):
        execute()


def test_what_every_run_needs_is_tried_first(
    find: Find, host: Host, server_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = device_row(host, find(path=server_tmp, emulate="hdd"))
    monkeypatch.setattr(in_place, "why_unavailable", lambda *_: "")
    check_measurable(device)
    monkeypatch.setattr(in_place, "why_unavailable", lambda *_: "no cgroups")
    with pytest.raises(EmulationUnavailable, match=r"emulated HDD.*no cgroups"):
        check_measurable(device)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers as another user")
def test_a_log_directory_that_the_server_cannot_enter(
    find: Find, host: Host, server_tmp: Path
) -> None:
    logs = server_tmp / "closed"
    logs.mkdir(mode=0o700)
    device = device_row(host, find(path=server_tmp, log_dir=logs))
    with pytest.raises(DeviceUnusable, match=f"cannot enter {logs}"):
        check_measurable(device)


def test_a_correction_holds_for_the_same_disk_under_limits(find: Find, host: Host) -> None:
    device_row(host, find(kind=DeviceKind.NVME))
    limited = device_row(host, find(memory_bytes=900 * MB))
    assert (limited.kind, limited.kind_correction) == ("nvme", "nvme")
    assert device_row(host, find(emulate="hdd")).kind_correction == ""


def test_a_kept_device_keeps_its_limits_after_another_probe(
    find: Find, host: Host, tmp_path: Path
) -> None:
    real = device_row(host, find())
    kept = device_row(host, find(emulate="sata-ssd"))
    probed(real)
    assert device_row(host, find(**vars(spec_of(kept)))) == kept
    assert device_row(host, find(emulate="sata-ssd")) != kept


def test_a_probe_of_another_disk_scales_nothing(find: Find, host: Host) -> None:
    real = device_row(host, find())
    probed(real, random_read_iops=90, random_write_iops=90)
    Device.objects.update(identity=real.identity | {"model": "Another Disk 9000"})
    assert find(emulate="hdd").emulation is not None


def test_the_limits_of_a_kept_device_are_no_field_of_their_own(
    tmp_path: Path,
) -> None:
    there = directory_of(tmp_path, throttle_problem="no cgroup")
    inventory = with_directory(made_up_host(), there)
    limits = EmulationProfile(name="hdd", kind="hdd", read_iops=200, write_iops=200)
    kept = DeviceSpec(path=tmp_path, emulate="hdd", limits=limits)
    with pytest.raises(EmulationUnavailable, match="no cgroup") as no:
        find_devices([kept], inventory, DATA, Flavour.MYSQL)
    assert no.value.field == "devices[0]"


def test_devices_of_a_study(tmp_path: Path) -> None:
    inventory = made_up_host(directories=[tmp_path / "usual", tmp_path])
    hdd, native = (DeviceSpec(path=tmp_path, emulate=name) for name in ("hdd", "native"))
    found = find_devices([hdd, native], inventory, DATA, Flavour.MYSQL)
    assert [one.memory_bytes for one in found] == [usual_memory(DATA, Flavour.MYSQL), None]
    [usual] = find_devices([], inventory, DATA, Flavour.MYSQL)
    assert usual.data.path == tmp_path / "usual"
    with pytest.raises(BadRequest, match="same device twice"):
        find_devices([native, DeviceSpec(path=tmp_path)], inventory, DATA, Flavour.MYSQL)


def test_the_usual_limit_leaves_room_for_half_of_the_data() -> None:
    assert usual_memory(10 * DATA, Flavour.MYSQL) > usual_memory(DATA, Flavour.MYSQL)
    assert usual_memory(DATA, Flavour.MARIADB) < usual_memory(DATA, Flavour.MYSQL)
    assert room_for_pool(None, Flavour.MYSQL) is None
    assert room_for_pool(1000 * MB, Flavour.MYSQL) == 450 * MB
    assert room_for_pool(420 * MB, Flavour.MYSQL) == 105 * MB


def test_a_device_is_kept_before_it_is_measured(host: Host, tmp_path: Path) -> None:
    with pytest.raises(NotInspected, match="start its worker") as no:
        register_device(DeviceRequest(path=tmp_path))
    assert no.value.field == "host"
    with_inventory(host, made_up_host(directories=[tmp_path]))
    device = register_device(DeviceRequest(path=tmp_path))
    assert device.host.name == "here"
    assert register_device(DeviceRequest(path=tmp_path)) == device
