"""Results of probes as fio gives them: all jobs of the plan, with plausible figures."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.probe.jobs import Job, Pattern, Purpose, plan_jobs
from benchmarks.probe.result import JobResult, Latency, LatencySplit, ProbeResult
from benchmarks.storage.identity import DeviceIdentity, Member
from benchmarks.storage.kinds import DeviceKind, Transport

DATE = datetime(2026, 11, 21, 4, 30, tzinfo=UTC)
NOT_MOUNTED = (
    "tracefs is not mounted, so the kernel's block tracepoints (those of blktrace and bpftrace) "
    "cannot be read: mount -t tracefs tracefs /sys/kernel/tracing"
)
BUFFERED = "Buffered requests mostly end in the page cache."


def identity(**values: Any) -> DeviceIdentity:
    """An NVMe disk below LVM, unless `values` say otherwise."""
    facts: dict[str, Any] = {
        "path": Path("/srv/mysql"),
        "kind": DeviceKind.NVME,
        "block_device": "nvme0n1",
        "model": "SAMSUNG MZWLL1T6HEHP",
        "scheduler": "none",
        "file_system": "xfs",
        "mount_options": "rw,noatime,attr2,inode64,logbufs=8,logbsize=32k,noquota",
        "total_bytes": 1_600_321_314_816,
        "free_bytes": 1_230_000_000_000,
        "transport": Transport.NVME,
        "rotational": False,
        "write_cache": "write back",
        "layers": ("LVM volume vg-data", "partition nvme0n1p2"),
    }
    return DeviceIdentity(**(facts | values))


def array(level: str = "raid5", disks: int = 4, **values: Any) -> DeviceIdentity:
    """An md array of disks of one model."""
    members = tuple(
        Member(
            f"sd{letter}1",
            f"sd{letter}",
            DeviceKind.SATA_SSD,
            Transport.SATA,
            "Samsung SSD 850 PRO 1TB",
            False,
            10**12,
            "in_sync",
        )
        for letter in "abcdefgh"[:disks]
    )
    facts: dict[str, Any] = {
        "kind": DeviceKind.RAID,
        "block_device": "md0",
        "model": f"{level} of {disks} x Samsung SSD 850 PRO 1TB",
        "transport": Transport.SATA,
        "raid_level": level,
        "raid_disks": disks,
        "members": members,
        "layers": (),
    }
    return identity(**(facts | values))


def probe_result(
    device: DeviceIdentity | None = None,
    *,
    reads: float = 48_000.0,
    writes: float = 120_000.0,
    flush_us: float = 85.0,
    direct_missing: str = "",
    tracing_missing: str = NOT_MOUNTED,
    **values: Any,
) -> ProbeResult:
    """`reads` and `writes` are random IOPS at depth 64, `flush_us` the median of an fsync."""
    direct = not direct_missing
    jobs = plan_jobs(50, direct=direct)
    measured = [
        _measured(job, reads if job.pattern.reads else writes, flush_us, not tracing_missing)
        for job in jobs
    ]
    facts: dict[str, Any] = {
        "date": DATE,
        "seconds": 49.6,
        "fio_version": "3.33",
        "engine": "libaio" if direct else "psync",
        "device": device or identity(),
        "file_bytes": 2**30,
        "direct_missing": direct_missing,
        "tracing_missing": tracing_missing,
        "jobs": tuple(measured),
    }
    return ProbeResult(**(facts | values))


def _measured(job: Job, most: float, flush_us: float, traced: bool) -> JobResult:
    iops = _iops(job, most)
    mean = job.queue_depth * 1e6 / iops
    if job.purpose is Purpose.LOW_LOAD:
        mean = 180.0
    if job.sync:
        mean = 4.5
    split, missing = None, BUFFERED
    if job.direct and job.block_bytes > 2**16:
        missing = (
            f"The disk counted {int(iops * 4)} requests, but fio made {int(iops * 2)}: they were "
            "merged or split, or others used the disk."
        )
    elif job.direct:
        traced_here = traced and job.purpose is Purpose.LOW_LOAD
        split, missing = _split(mean, traced=traced_here), ""
    return JobResult(
        job=job,
        engine="libaio" if job.direct else "psync",
        seconds=job.seconds,
        requests=int(iops * job.seconds),
        iops=iops,
        mb_s=iops * job.block_bytes / 1e6,
        latency=_latency(mean),
        flush=_latency(flush_us * (1.0 if job.sync == "fsync" else 0.9)) if job.sync else None,
        user_cpu_pct=3.4,
        system_cpu_pct=21.8,
        split=split,
        split_missing=missing,
    )


def _iops(job: Job, most: float) -> float:
    """More with the depth, ever more slowly; buffered reads come from memory."""
    if job.rate_iops:
        return float(job.rate_iops)
    if job.purpose is Purpose.COMMIT:
        return 11_000.0
    if job.pattern in (Pattern.SEQUENTIAL_READ, Pattern.SEQUENTIAL_WRITE):
        return most / 40
    return most * job.queue_depth / (job.queue_depth + 4) * (1.0 if job.direct else 1.4)


def _latency(typical: float) -> Latency:
    return Latency(
        typical, typical * 0.97, typical * 1.3, typical * 1.9, max(typical * 9, typical + 700)
    )


def _split(mean: float, *, traced: bool) -> LatencySplit:
    if traced:
        return LatencySplit(2.1, mean * 0.2, mean * 0.1, mean * 0.7, "tracepoints")
    return LatencySplit(2.1, mean * 0.2, None, mean * 0.8, "counters")
