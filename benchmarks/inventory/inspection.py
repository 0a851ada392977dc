"""Looks at the machine that this runs on: what could be started and measured here."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.drivers.select import DRIVERS, find_driver
from benchmarks.emulation.device import why_unavailable
from benchmarks.emulation.profile import MIN_MEMORY_BYTES, EmulationProfile
from benchmarks.errors import DeviceFull, DeviceUnusable, NoDriver, NoServerUser, NotAServer
from benchmarks.host.memory import host_memory, memory_budget
from benchmarks.inventory.host import (
    AUTO,
    FoundDirectory,
    FoundDriver,
    HostInventory,
    MissingDriver,
    Refused,
)
from benchmarks.processes.users import open_files
from benchmarks.servers.binary import ServerBinary, identify, known_options
from benchmarks.storage.identify import check_device, identify_device, supports_direct_io
from benchmarks.storage.layout import DeviceLayout
from benchmarks.storage.reserve import reserve_bytes, room_of
from benchmarks.telemetry import cpu

# Packages put mysqld where an ordinary user's PATH does not look.
_SERVER_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin")
_INSTALLED = (Path("mysql") / "mysqld", Path("mariadb") / "mariadbd")
_MEMORY_LIMIT = EmulationProfile("memory-limit", memory_bytes=16 * MIN_MEMORY_BYTES)
_THROTTLE = EmulationProfile(
    "throttle", read_iops=1000, write_iops=1000, read_mb_s=100, write_mb_s=100
)


def inspect_host(
    name: str,
    *,
    installed_servers: Path,
    default_device: Path,
    servers: Collection[Path] = (),
    devices: Collection[Path] = (),
    code_version: str = "",
    load_address: str = "",
    load_needs_tls: bool = False,
) -> HostInventory:
    """The inventory of this machine, called `name`.

    `default_device` is made if it is missing. `servers` and `devices` are what may be used beside
    what is found. What cannot be used, and why, is part of the inventory; nothing is raised.
    """
    programs, refused_servers = _servers(server_candidates(installed_servers), servers)
    there, refused_directories = _directories(default_device, devices)
    drivers, missing = _drivers()
    return HostInventory(
        name=name,
        inspected_at=datetime.now(UTC),
        code_version=code_version,
        servers=tuple(programs),
        server_options={one.digest: options_text(one) for one in programs},
        refused_servers=tuple(refused_servers),
        drivers=tuple(drivers),
        missing_drivers=tuple(missing),
        default_directory=default_device,
        directories=tuple(there),
        refused_directories=tuple(refused_directories),
        memory_bytes=host_memory(),
        memory_budget_bytes=memory_budget(),
        logical_cpus=len(os.sched_getaffinity(0)),
        host_cpus=cpu.logical_cpus(),
        cpu_hz=cpu.cpu_frequency_hz(),
        open_files=open_files(),
        memory_limit_problem=why_unavailable(_MEMORY_LIMIT, []),
        load_address=load_address,
        load_needs_tls=load_needs_tls,
    )


def server_candidates(installed_dir: Path, search_path: str | None = None) -> list[Path]:
    """Paths that are probably server programs, the one that studies use by default first.

    `search_path` defaults to PATH and the usual server folders.
    """
    if search_path is None:
        search_path = os.pathsep.join([os.environ.get("PATH", ""), *_SERVER_FOLDERS])
    found = [
        Path(there)
        for name in ("mysqld", "mariadbd")
        if (there := shutil.which(name, path=search_path)) is not None
    ]
    installed = [installed_dir / path for path in _INSTALLED]
    return [*found, *(path for path in installed if path.exists())]


def options_text(binary: ServerBinary) -> str:
    """The names of a server's options, for its inventory; "" if it does not list them."""
    try:
        return " ".join(sorted(known_options(binary)))
    except NotAServer:
        return ""


def inspect_directory(named: Path) -> FoundDirectory:
    """The directory and what stores it; raises DeviceUnusable if it cannot be written to.

    One that is full stays one of the host's: what it has free is looked at again and again.
    """
    path = absolute(named)
    with suppress(DeviceFull):
        check_device(path)
    identity = identify_device(path)
    return FoundDirectory(
        path=path,
        identity=identity,
        file_system=path.stat().st_dev,
        direct_io=supports_direct_io(path),
        reserve_bytes=reserve_bytes(identity.total_bytes),
        datasets=tuple(_datasets(path)),
        throttle_problem=why_unavailable(_THROTTLE, [identity.path]),
    )


def space_of(there: FoundDirectory) -> FoundDirectory:
    """Return the directory with its present free space and datasets; unchanged if it is away."""
    try:
        free = room_of(there.path).free
        is_here = there.path.stat().st_dev == there.file_system
    except OSError:
        return there
    if not is_here:  # another file system, or none any more, is mounted there
        return there
    identity = replace(there.identity, free_bytes=free)
    datasets = tuple(_datasets(there.path))
    return there.model_copy(update={"identity": identity, "datasets": datasets})


def is_news(there: FoundDirectory, before: FoundDirectory) -> bool:
    """Whether its datasets or a percent of its free space differ from what was known of it."""
    moved = abs(there.identity.free_bytes - before.identity.free_bytes)
    return there.datasets != before.datasets or moved * 100 > there.identity.total_bytes


def inspect_default(path: Path) -> FoundDirectory:
    """The directory of a study that names none; it is made here. Raises DeviceUnusable."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o755)  # whatever the umask: the server's user has to pass through
    except OSError as error:
        raise DeviceUnusable(f"{path}: {error.strerror}") from error
    return inspect_directory(path)


def absolute(path: Path) -> Path:
    """The path as seen from here, links and all; raises DeviceUnusable for ~nobody."""
    try:
        return path.expanduser().absolute()
    except RuntimeError as error:
        raise DeviceUnusable(f"{path}: {error}") from error


def _servers(
    likely: Iterable[Path], named: Collection[Path]
) -> tuple[list[ServerBinary], list[Refused]]:
    """The first of two likely names of one program counts; a named program keeps its name."""
    found: list[ServerBinary] = []
    refused: list[Refused] = []
    programs: set[tuple[str, Path]] = set()
    for path in dict.fromkeys([*likely, *named]):
        try:
            binary = identify(path)
        except (NoServerUser, NotAServer) as error:
            refused.append(Refused(path=path, code=error.code, reason=str(error)))
            continue
        program = binary.digest, binary.path.resolve()
        if program not in programs or path in named:
            found.append(binary)
        programs.add(program)
    return found, refused


def _directories(
    default: Path, devices: Collection[Path]
) -> tuple[list[FoundDirectory], list[Refused]]:
    found, refused = [], []
    for path in dict.fromkeys([default, *devices]):
        try:
            found.append(inspect_default(path) if path == default else inspect_directory(path))
        except DeviceUnusable as error:
            refused.append(Refused(path=path, code=error.code, reason=str(error)))
    return found, refused


def _drivers() -> tuple[list[FoundDriver], list[MissingDriver]]:
    """The drivers in the order of preference, and those that are missing."""
    found, missing = [], []
    for name in DRIVERS:
        try:
            driver = find_driver(name)
        except (NoDriver, NoServerUser) as error:
            missing.append(MissingDriver(name=name, reason=str(error)))
        else:
            found.append(
                FoundDriver(name=driver.name, version=driver.version, encrypts=driver.encrypts)
            )
    if not found:
        try:
            find_driver()
        except (NoDriver, NoServerUser) as error:
            missing.insert(0, MissingDriver(name=AUTO, reason=str(error)))
    return found, missing


def _datasets(path: Path) -> list[str]:
    folder = DeviceLayout(path).root / "datasets"
    try:
        return sorted(one.name for one in folder.iterdir() if one.is_dir())
    except OSError:
        return []
