"""Reading the counters: everything here is cumulative, rates come from two snapshots."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from typing import Any

import psutil

from benchmarks.storage.identity import DeviceIdentity
from benchmarks.telemetry.host import HostCounters, cpu_frequency_hz, read_host


@dataclass(frozen=True, slots=True)
class DiskCounters:
    """One whole disk since boot: requests completed and bytes moved, by everyone on the host.

    `busy_s` is how long it had at least one request in flight, None where the kernel keeps no
    such count.
    """

    read_ios: int
    write_ios: int
    read_bytes: int
    write_bytes: int
    busy_s: float | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Counters at one moment. Source: /proc through psutil.

    `t` is `time.monotonic()`. `cpu_*_s` are CPU seconds of the whole host since boot: user with
    nice, sys with interrupts, total over all states (it grows by the number of logical CPUs each
    second); guests' time is in user already. `cpu_irq_s` is the part of sys that is interrupts.
    `own_cpu_s` is what this process used, all its threads. `server_*` belong to mysqld and are
    None once it is gone; `server_write_bytes` is what it caused to be sent to storage (nothing on
    tmpfs). `log` is None unless the logs have a block device of their own; `device_write_bytes`
    sums the distinct block devices of data and logs, None unless each is known. `cpu_hz` and
    `host` are read at marks only, for that is costly on many CPUs.
    """

    t: float
    cpu_user_s: float
    cpu_sys_s: float
    cpu_iowait_s: float
    cpu_steal_s: float
    cpu_total_s: float
    server_cpu_s: float | None = None
    server_write_bytes: int | None = None
    server_rss_bytes: int | None = None
    data: DiskCounters | None = None
    log: DiskCounters | None = None
    device_write_bytes: int | None = None
    cpu_hz: float | None = None
    cpu_irq_s: float = 0.0
    own_cpu_s: float = 0.0
    host: HostCounters | None = None


_NO_DEVICE = DeviceIdentity()
# Counters read this much later than the time they are filed under would belong to another second.
_SLOW_READ_S = 0.1
_ATTEMPTS = 3


class SnapshotReader:
    """Takes snapshots of the host, one server process and the devices of its data and logs.

    `server_pid` is None on a host without a server. `log` is None where the logs live with the
    data. Two paths on one disk are one device here: its counters cannot be separated and its bytes
    count once.
    """

    def __init__(
        self,
        server_pid: int | None = None,
        data: DeviceIdentity = _NO_DEVICE,
        log: DeviceIdentity | None = None,
    ) -> None:
        self._data = data.block_device
        shared = log is None or log.block_device == data.block_device
        self._log = None if log is None or shared else log.block_device
        self._every_device_known = self._data is not None and (shared or self._log is not None)
        self._server: psutil.Process | None = None
        if server_pid is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                self._server = psutil.Process(server_pid)

    def read(self, *, marked: bool = False) -> Snapshot:
        """Read all counters; never fails because the server or a device has gone.

        Reads again if the host stalled in the middle of it. `marked` also reads the counters that
        are too costly for every second.
        """
        for _ in range(_ATTEMPTS):
            snapshot = self._read()
            if time.monotonic() - snapshot.t < _SLOW_READ_S:
                break
        if not marked:
            return snapshot
        return replace(snapshot, cpu_hz=cpu_frequency_hz(), host=read_host())

    def _read(self) -> Snapshot:
        t = time.monotonic()
        cpu = psutil.cpu_times()
        user, system = cpu.user + cpu.nice, cpu.system + cpu.irq + cpu.softirq
        # A history per caller (nowrap) would hide 32-bit overflows. `rate` drops a
        # delta that went backwards.
        disks = psutil.disk_io_counters(perdisk=True, nowrap=False) if self._has_disks else {}
        data, log = (_counters(disks.get(name or "")) for name in (self._data, self._log))
        wanted = [data] if self._log is None else [data, log]
        seen = [disk for disk in wanted if disk is not None]
        is_known = self._every_device_known and len(seen) == len(wanted)  # none was pulled out
        return Snapshot(
            t=t,
            cpu_user_s=user,
            cpu_sys_s=system,
            cpu_iowait_s=cpu.iowait,
            cpu_steal_s=cpu.steal,
            # not sum(cpu): the kernel counts guest time in user and nice already
            cpu_total_s=user + system + cpu.idle + cpu.iowait + cpu.steal,
            cpu_irq_s=cpu.irq + cpu.softirq,
            own_cpu_s=time.process_time(),
            data=data,
            log=log,
            device_write_bytes=sum(disk.write_bytes for disk in seen) if is_known else None,
            **self._read_server(),
        )

    @property
    def _has_disks(self) -> bool:
        return self._data is not None or self._log is not None

    def _read_server(self) -> dict[str, Any]:
        """Return the fields of mysqld; none once it is gone."""
        if self._server is None:
            return {}
        try:
            with self._server.oneshot():
                times, memory = self._server.cpu_times(), self._server.memory_info()
                write_bytes = None
                with contextlib.suppress(psutil.AccessDenied):  # another user's process
                    write_bytes = int(self._server.io_counters().write_bytes)
        except psutil.NoSuchProcess:
            self._server = None
            return {}
        return {
            "server_cpu_s": times.user + times.system,
            "server_write_bytes": write_bytes,
            "server_rss_bytes": memory.rss,
        }


def _counters(disk: Any) -> DiskCounters | None:
    if disk is None:
        return None
    return DiskCounters(
        read_ios=disk.read_count,
        write_ios=disk.write_count,
        read_bytes=disk.read_bytes,
        write_bytes=disk.write_bytes,
        busy_s=disk.busy_time / 1000,
    )
