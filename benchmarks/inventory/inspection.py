"""Looks at the machine that this runs on, and stores what could be started and measured here."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from django.conf import settings
from django.db import transaction

from benchmarks.drivers.select import DRIVERS, find_driver
from benchmarks.emulation.device import why_unavailable
from benchmarks.emulation.profile import MIN_MEMORY_BYTES, EmulationProfile
from benchmarks.errors import DeviceFull, DeviceUnusable, NoDriver, NoServerUser, NotAServer
from benchmarks.host.cgroups import host_memory, memory_budget
from benchmarks.inventory.host import (
    FoundDirectory,
    FoundDriver,
    HostInventory,
    MissingDriver,
    Refused,
)
from benchmarks.inventory.stored import (
    DEVICE,
    SERVER,
    always_known,
    change_inventory,
    known_inventory,
    list_paths,
    listed_paths,
    store_inventory,
)
from benchmarks.models import Host
from benchmarks.processes.users import open_files
from benchmarks.servers.binary import ServerBinary, identify, known_options
from benchmarks.storage.identify import check_device, identify_device, supports_direct_io
from benchmarks.storage.layout import DeviceLayout
from benchmarks.storage.reserve import reserve_bytes, room_of
from benchmarks.telemetry.host import cpu_frequency_hz, logical_cpus

FoundT = TypeVar("FoundT")

# Packages put mysqld where an ordinary user's PATH does not look.
_SERVER_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin")
_INSTALLED = (Path("mysql") / "mysqld", Path("mariadb") / "mariadbd")
_MEMORY_LIMIT = EmulationProfile("memory-limit", memory_bytes=16 * MIN_MEMORY_BYTES)
_THROTTLE = EmulationProfile(
    "throttle", read_iops=1000, write_iops=1000, read_mb_s=100, write_mb_s=100
)


def inspect_here(
    host: Host, *, servers: Collection[Path] = (), devices: Collection[Path] = ()
) -> HostInventory:
    """Look at this machine, which is `host`, and store its inventory.

    `servers` and `devices` are paths that somebody with a shell here names. Usable paths are
    listed from then on; unusable ones leave no trace. Looks again when another process listed a
    path meanwhile.
    """
    while True:
        listed = {subject: listed_paths(host, subject) for subject in (SERVER, DEVICE)}
        found = inspect_host(
            host.name,
            servers=[*settings.LISTED_SERVERS, *listed[SERVER], *servers],
            devices=[*settings.LISTED_DEVICES, *listed[DEVICE], *devices],
        )
        with transaction.atomic():
            Host.objects.select_for_update().get(pk=host.pk)
            if any(listed_paths(host, subject) != paths for subject, paths in listed.items()):
                continue
            list_paths(host, SERVER, {one.path for one in found.servers}.intersection(servers))
            list_paths(host, DEVICE, {one.path for one in found.directories}.intersection(devices))
            slips = {*servers, *devices} - always_known(host)
            refused = {
                name: tuple(one for one in getattr(found, name) if one.path not in slips)
                for name in ("refused_servers", "refused_directories")
            }
            store_inventory(host, found.model_copy(update=refused))
        return found


def inspect_host(
    name: str, *, servers: Collection[Path] = (), devices: Collection[Path] = ()
) -> HostInventory:
    """Return the inventory of this machine, called `name`.

    The default device is made if it is missing. `servers` and `devices` name more than a search
    finds. The inventory also says what cannot be used, and why. Raises nothing.
    """
    default = settings.DEFAULT_DEVICE
    programs, refused_servers = _sort(
        [*server_candidates(settings.INSTALLED_SERVERS_DIR), *servers], identify
    )
    with suppress(OSError):  # it is refused then, with the reason
        default.mkdir(parents=True, exist_ok=True)
        default.chmod(0o755)  # whatever the umask: the server's user has to pass through
    directories, refused_directories = _sort([default, *devices], inspect_directory)
    drivers, missing = _drivers()
    kept = _once_each(programs, servers)
    return HostInventory(
        name=name,
        inspected_at=datetime.now(UTC),
        code_version=settings.CODE_VERSION,
        servers=kept,
        server_options={one.digest: options_text(one) for one in kept},
        refused_servers=refused_servers,
        drivers=tuple(drivers),
        missing_drivers=tuple(missing),
        default_directory=default,
        directories=tuple(directories),
        refused_directories=refused_directories,
        memory_bytes=host_memory(),
        memory_budget_bytes=memory_budget(),
        logical_cpus=len(os.sched_getaffinity(0)),
        host_cpus=logical_cpus(),
        cpu_hz=cpu_frequency_hz(),
        open_files=open_files(),
        memory_limit_problem=why_unavailable(_MEMORY_LIMIT, []),
        load_address=settings.LOAD_ADDRESS,
        load_needs_tls=settings.LOAD_TLS,
    )


def server_candidates(installed_dir: Path) -> list[Path]:
    """Return paths that are probably server programs, the default of studies first."""
    search_path = os.pathsep.join([os.environ.get("PATH", ""), *_SERVER_FOLDERS])
    there = [shutil.which(name, path=search_path) for name in ("mysqld", "mariadbd")]
    installed = [installed_dir / path for path in _INSTALLED]
    return [
        *(Path(path) for path in there if path is not None),
        *(path for path in installed if path.exists()),
    ]


def options_text(binary: ServerBinary) -> str:
    """Return the names of a server's options, for its inventory; "" if it does not list them."""
    try:
        return " ".join(sorted(known_options(binary)))
    except NotAServer:
        return ""


def inspect_directory(path: Path) -> FoundDirectory:
    """Return an absolute path and what stores it; DeviceUnusable if it cannot be written to.

    One that is full stays one of the host's: what it has free is looked at again and again.
    """
    with suppress(DeviceFull):
        check_device(path)
    identity = identify_device(path)
    return FoundDirectory(
        path=path,
        identity=identity,
        file_system=path.stat().st_dev,
        direct_io=supports_direct_io(path),
        reserve_bytes=reserve_bytes(identity.total_bytes),
        datasets=_datasets(path),
        throttle_problem=why_unavailable(_THROTTLE, [identity.path]),
    )


def refresh_space(host: Host) -> None:
    """Store what fills and empties by itself: free space and datasets of the known directories.

    Writes only for other datasets or a percent of the space. A directory that is away, or where
    another file system is mounted now, keeps its figures until it is inspected.
    """
    known = known_inventory(host)
    changed: dict[Path, FoundDirectory] = {}
    for there in known.directories if known else ():
        try:
            free = room_of(there.path).free
            if there.path.stat().st_dev != there.file_system:
                continue
        except OSError:
            continue
        before, datasets = there.identity, _datasets(there.path)
        moved = abs(free - before.free_bytes) * 100 > before.total_bytes
        if moved or datasets != there.datasets:
            now = {"identity": replace(before, free_bytes=free), "datasets": datasets}
            changed[there.path] = there.model_copy(update=now)
    if changed:
        change_inventory(host, lambda found: _with(found, changed))


def _with(found: HostInventory, changed: dict[Path, FoundDirectory]) -> HostInventory:
    directories = tuple(changed.get(there.path, there) for there in found.directories)
    return found.model_copy(update={"directories": directories})


def _sort(
    paths: Iterable[Path], look: Callable[[Path], FoundT]
) -> tuple[list[FoundT], tuple[Refused, ...]]:
    """Look at each path once; return what can be used, and what cannot with its reason."""
    found, refused = [], []
    for path in dict.fromkeys(paths):
        try:
            found.append(look(path))
        except (DeviceUnusable, NoServerUser, NotAServer) as error:
            refused.append(Refused(path=path, code=error.code, reason=str(error)))
    return found, tuple(refused)


def _once_each(
    programs: Collection[ServerBinary], named: Collection[Path]
) -> tuple[ServerBinary, ...]:
    """The first of two likely names of one program counts; a named program keeps its name."""
    first: dict[tuple[str, Path], ServerBinary] = {}
    for binary in programs:
        first.setdefault((binary.digest, binary.path.resolve()), binary)
    return tuple(one for one in programs if one.path in named or one in first.values())


def _drivers() -> tuple[list[FoundDriver], list[MissingDriver]]:
    """Return the drivers in the order of preference, and the missing ones."""
    found, missing = [], []
    for name in DRIVERS:
        try:
            driver = find_driver(name)
        except (NoDriver, NoServerUser) as error:
            missing.append(MissingDriver(name=name, reason=str(error)))
        else:
            found.append(FoundDriver(name=name, version=driver.version, encrypts=driver.encrypts))
    return found, missing


def _datasets(path: Path) -> tuple[str, ...]:
    try:
        folders = [one.name for one in DeviceLayout(path).datasets_dir.iterdir() if one.is_dir()]
    except OSError:
        return ()
    return tuple(sorted(folders))
