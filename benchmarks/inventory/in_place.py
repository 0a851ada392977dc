"""Checks servers and devices on their host, before something is measured."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from benchmarks.emulation.device import why_unavailable
from benchmarks.errors import DeviceUnusable, EmulationUnavailable, NotInspected, ServerChanged
from benchmarks.inventory.host import HostInventory
from benchmarks.inventory.inspection import options_text
from benchmarks.inventory.stored import change_inventory
from benchmarks.models import Device, Server
from benchmarks.ownership.deleting import delete
from benchmarks.ownership.handover import give
from benchmarks.ownership.ours import make_ours
from benchmarks.processes.child import check_reachable
from benchmarks.servers.binary import ServerBinary, identify
from benchmarks.storage.identify import check_in_place
from benchmarks.storage.identity import DeviceIdentity


def unchanged_server(server: Server) -> ServerBinary:
    """The program of that row. Raises NotAServer, and ServerChanged if it is another one now.

    Then the host's inventory knows it already: what is planned from now on is planned for it.
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
    """Try what every run on the device needs, in the process that is going to measure.

    Raises DeviceUnusable when another device is in its place or the server's user cannot reach
    the directory for redo logs, EmulationUnavailable when its limits cannot be set.
    """
    check_still_there(device)
    layout = device.layout
    profile = device.profile
    if profile is not None and (missing := why_unavailable(profile, layout.directories)):
        raise EmulationUnavailable(f"{device}: {missing}")
    folder = layout.run_log_dir("check")
    if folder is None:
        return
    try:
        make_ours(folder.parent.parent)
        make_ours(folder.parent)
        delete(folder)
        folder.mkdir(mode=0o700)
        give(folder)
        check_reachable(folder)
    except OSError as error:
        raise DeviceUnusable(f"{folder}: {error.strerror}") from error
    finally:
        delete(folder)
