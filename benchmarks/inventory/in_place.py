"""Checks servers and devices on their host, before something is measured."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from benchmarks.emulation.device import why_unavailable
from benchmarks.errors import EmulationUnavailable, NotInspected, ServerChanged
from benchmarks.inventory.host import HostInventory
from benchmarks.inventory.inspection import options_text
from benchmarks.inventory.stored import change_inventory
from benchmarks.models import Device, Server
from benchmarks.processes.child import check_enterable
from benchmarks.servers.binary import ServerBinary, identify
from benchmarks.storage.identify import check_in_place
from benchmarks.storage.identity import DeviceIdentity


def unchanged_server(server: Server) -> ServerBinary:
    """Return the program of a row. Raises NotAServer, and ServerChanged if it is another one now.

    Before it raises ServerChanged, it stores the new program in the host's inventory.
    """
    binary = identify(Path(server.path))
    if binary.digest != server.digest:
        with suppress(NotInspected):
            options = options_text(binary)
            change_inventory(server.host, lambda known: _with_server(known, binary, options))
        raise ServerChanged(
            f"{server.path} is no longer the server that the study was made for "
            f"({server.version}): its digest has changed, and it is {binary.version_text} now. "
            "Start a new study for it"
        )
    return binary


def _with_server(known: HostInventory, binary: ServerBinary, options: str) -> HostInventory:
    servers = tuple(binary if one.path == binary.path else one for one in known.servers)
    listed = known.server_options | {binary.digest: options}
    return known.model_copy(update={"servers": servers, "server_options": listed})


def check_still_there(device: Device) -> tuple[DeviceIdentity, DeviceIdentity | None]:
    """Return the devices of the data and the redo log, see `check_in_place`.

    Raises DeviceUnusable unless that is what the row stands for.
    """
    return check_in_place(device.layout, (device.found, device.found_for_logs))


def check_measurable(device: Device) -> None:
    """Try what every run on the device needs, before a dataset is loaded there.

    Raises DeviceUnusable when another device is in its place or the servers' user cannot enter
    its directories, EmulationUnavailable when its limits cannot be set.
    """
    check_still_there(device)
    for path in device.layout.directories:
        check_enterable(path)
    profile = device.profile
    if profile is not None and (why := why_unavailable(profile, device.layout.directories)):
        raise EmulationUnavailable(f"{device}: {why}")
