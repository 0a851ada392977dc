"""Rows of one study on each of several devices, as the comparison of devices finds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import F

from advisor.tests import factories
from benchmarks.models import Device, Run, Sample

# Kind, directory, and how its throughput stands to that of the factories' typical device.
HDD = ("hdd", "/srv/disk", 0.021)
SATA = ("sata-ssd", "/srv/sata", 0.9)
NVME = ("nvme", "/srv/nvme", 2.6)
EMULATED: dict[str, Any] = {
    "name": "hdd",
    "kind": "hdd",
    "read_iops": 200,
    "write_iops": 200,
    "memory_bytes": 420_000_000,
}


def measured_on(
    place: tuple[str, str, float],
    connections: Sequence[int] = (4, 8, 16),
    *,
    names: Sequence[str] = ("server-default", "whitepaper-a"),
    blocks: int = 2,
    samples: bool = False,
    study: dict[str, Any] | None = None,
    **values: Any,
) -> Device:
    """A device that all candidates were measured on, with so many connections each."""
    kind, directory, factor = place
    device = factories.make_device(kind=kind, data_dir=directory, **values)
    workloads = [factories.make_workload(connections=number) for number in connections]
    made = factories.measured_study(
        device=device,
        workloads=workloads,
        names=names,
        blocks=blocks,
        samples=samples,
        recommended=False,
        **(study or {}),
    )
    for number in connections:
        times = factor * number / (number + 5)
        runs = Run.objects.filter(slot__study=made, workload__connections=number)
        runs.update(
            throughput=F("throughput") * times,
            p95_ms=F("p95_ms") / times,
            max_ms=F("max_ms") / times,
            server_path_length=F("server_path_length") / factor**0.2,
            cpu_user_pct=F("cpu_user_pct") * min(times, 1.2),
            cpu_sys_pct=F("cpu_sys_pct") * min(times, 1.2),
            data_read_iops=F("data_read_iops") * times,
            data_write_iops=F("data_write_iops") * times,
        )
        Sample.objects.filter(run__in=runs).update(
            completed=F("completed") * times,
            p95_ms=F("p95_ms") / times,
            data_read_iops=F("data_read_iops") * times,
            data_write_iops=F("data_write_iops") * times,
        )
    return device
