"""Finds the device behind a directory that a user names, and its row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.utils import timezone
from pydantic import ValidationError

from benchmarks.datafiles import faults
from benchmarks.emulation.profile import NATIVE, EmulationProfile, shipped_profiles
from benchmarks.errors import DeviceUnusable, EmulationUnavailable, about
from benchmarks.inventory.host import HostInventory
from benchmarks.models import Device, Host, JobState, Probe
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.kinds import DeviceKind


@dataclass(frozen=True)
class DeviceSpec:
    """A device to be looked up on its host.

    path: a directory on it, None for the host's usual one. log_dir: a directory for the redo logs
    on another device. emulate: a shipped profile's name; "" and "native" for the device as it is.
    memory_bytes: limits all memory of the server, its page cache included. scale: this memory
    models a server that many times larger. kind: the user's correction; None keeps an earlier
    one. limits: the stored limits of a kept device, used instead of `emulate` and `memory_bytes`.
    host: the name of a registered device's host; "" for the study's host.
    """

    path: Path | None = None
    log_dir: Path | None = None
    emulate: str = ""
    memory_bytes: int | None = None
    kind: DeviceKind | None = None
    limits: EmulationProfile | None = None
    scale: float | None = None
    host: str = ""


@dataclass(frozen=True)
class FoundDevice:
    """The device behind a request, as its host found it."""

    data: DeviceIdentity
    log: DeviceIdentity | None
    emulation: EmulationProfile | None
    kind: DeviceKind | None

    @property
    def memory_bytes(self) -> int | None:
        """Return how much of the host's memory the server may use; None for all of it."""
        return self.emulation.memory_bytes if self.emulation else None

    @property
    def shares_disk(self) -> bool:
        """Whether data and redo logs are known to be on one disk, in directories of their own."""
        disk = self.data.block_device
        return self.log is not None and disk is not None and disk == self.log.block_device


def find_device(
    request: DeviceSpec, inventory: HostInventory, *, memory_bytes: int | None = None
) -> FoundDevice:
    """Return the device on that host, as the host found it; its usual one where no path is named.

    `memory_bytes` is the limit of an emulated device for which none is asked. Raises NotListed,
    DeviceUnusable and EmulationUnavailable, with the obstacle.
    """
    with about("path"):
        data = inventory.directory(request.path)
    log = None
    if request.log_dir is not None:
        with about("log_dir"):
            log = inventory.directory(request.log_dir)
            if log.identity.path == data.identity.path:
                raise DeviceUnusable(
                    f"{request.log_dir}: is the data directory; name another one for the logs"
                )
    identity = data.identity.corrected(request.kind)
    # The limits of a kept device are no field of their own.
    with about("" if request.limits else "emulate" if request.emulate else "memory_mb"):
        profile = request.limits or _profile(request, identity, inventory, memory_bytes)
        problems = []
        if profile is not None and profile.throttles:
            problems += [one.throttle_problem for one in (data, log) if one is not None]
        if profile is not None and profile.memory_bytes is not None:
            problems.append(inventory.memory_limit_problem)
        if why := next(filter(None, problems), ""):
            raise EmulationUnavailable(why)
    return FoundDevice(identity, log.identity if log else None, profile, request.kind)


def device_row(host: Host, found: FoundDevice) -> Device:
    """Return the row of this device as it is found now; a new one if another was in its place."""
    data, log, limits = found.data, found.log, found.emulation
    with transaction.atomic():
        # Two that come with the same new device at once wait for each other here.
        Host.objects.select_for_update().get(pk=host.pk)
        identity = {
            "host": host,
            "data_dir": str(data.path),
            "log_dir": str(log.path) if log else "",
            "emulation_label": limits.label() if limits else "",
            "retired_at": None,
        }
        row = Device.objects.filter(**identity).first()
        if row is not None and not _is_same(row, data, log):
            row.retired_at = timezone.now()
            row.save(update_fields=["retired_at"])
            row = None
        if row is None:
            row = Device(**identity, kind_correction=_known_correction(host, found))
            row.emulation = limits.as_dict() if limits else None
        row.discovered_kind = (data.discovered_kind or data.kind).value
        is_corrected = found.kind is not None and not row.is_throttled
        _correct(row, found.kind if is_corrected else row.kind_correction)
        if limits is not None and limits.throttles:
            row.kind = limits.kind
        row.block_device = data.block_device or ""
        row.log_block_device = (log.block_device or "") if log else ""
        row.model = data.model
        row.file_system = data.file_system
        row.scheduler = data.scheduler
        row.identity = data.as_json()
        row.log_identity = log.as_json() if log else {}
        row.save()
    return row


def correct_kind(device: Device, kind: DeviceKind | None) -> None:
    """Store the kind that a user sets for a device without limits; None: as detected."""
    _correct(device, kind)
    device.save(update_fields=["kind", "kind_correction"])


def _correct(row: Device, kind: str | None) -> None:
    row.kind_correction = "" if kind is None or kind == row.discovered_kind else str(kind)
    row.kind = row.kind_correction or row.discovered_kind


def _profile(
    request: DeviceSpec, data: DeviceIdentity, inventory: HostInventory, otherwise: int | None
) -> EmulationProfile | None:
    asked, scale = request.memory_bytes, request.scale
    try:
        if request.emulate not in ("", NATIVE):
            shipped = shipped_profiles().get(request.emulate)
            if shipped is None:
                known = ", ".join([NATIVE, *shipped_profiles()])
                raise EmulationUnavailable(
                    f"there is no emulated device {request.emulate!r}; there are {known}"
                )
            limit = otherwise if asked is None else asked
            return shipped.on(_real_figures(data, inventory), memory_bytes=limit, scale=scale)
        if asked is None:
            return None
        return EmulationProfile(NATIVE, data.kind.value, memory_bytes=asked, scale=scale)
    except ValidationError as error:  # of limits that no server can have
        raise EmulationUnavailable(faults(error)) from error


def _real_figures(
    data: DeviceIdentity, inventory: HostInventory
) -> Mapping[str, float | None] | None:
    """Return figures of the newest probe; None without a probe of this very device."""
    probes = Probe.objects.filter(
        device__host__name=inventory.name,
        device__data_dir=str(data.path),
        device__emulation_label="",
        device__retired_at=None,
        state=JobState.OK,
    )
    probe = probes.select_related("device").defer("result").order_by("-pk").first()
    if probe is None or not _is_same(probe.device, data, None):
        return None
    return {
        "read_iops": probe.random_read_iops,
        "write_iops": probe.random_write_iops,
        "read_mb_s": probe.read_mb_s,
        "write_mb_s": probe.write_mb_s,
    }


def _is_same(row: Device, data: DeviceIdentity, log: DeviceIdentity | None) -> bool:
    """Whether what was found is what the row stands for; names of block devices may change."""
    pairs = [(row.found, data), (row.found_for_logs, log)]
    return all(old is None or (new is not None and old.is_same_device(new)) for old, new in pairs)


def _known_correction(host: Host, found: FoundDevice) -> str:
    """Return the user's correction of the disk in a row with other limits or log directory."""
    if found.emulation is not None and found.emulation.throttles:
        return ""
    there = Device.objects.filter(host=host, data_dir=str(found.data.path), retired_at=None)
    for row in there.exclude(kind_correction="").order_by("-pk"):
        if row.found is not None and row.found.is_same_device(found.data):
            return row.kind_correction
    return ""
