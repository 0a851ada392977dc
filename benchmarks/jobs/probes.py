"""The kind of job that probes a device with fio."""

from __future__ import annotations

from django.db.models import QuerySet

from benchmarks.emulation.device import emulated_device
from benchmarks.inventory.in_place import check_still_there
from benchmarks.jobs.heartbeat import Job
from benchmarks.jobs.kinds import JobKind, ended
from benchmarks.jobs.unstored import Values
from benchmarks.jobs.versions import code_commit
from benchmarks.models import Probe
from benchmarks.probe.jobs import Pattern
from benchmarks.probe.result import ProbeResult, suggested_io_capacity
from benchmarks.probe.run import probe_device
from benchmarks.storage.kinds import DeviceKind


class ProbeKind(JobKind[Probe]):
    """Probes. One that ended early is not started again automatically."""

    name = "probe"
    task = "benchmarks.probe"
    host = "device__host"

    @property
    def rows(self) -> QuerySet[Probe]:
        return Probe.objects.select_related("device").defer("result")

    def work(self, job: Job[Probe]) -> Values:
        probe, device = job.row, job.row.device
        data, _ = check_still_there(device)
        correction = DeviceKind(device.kind_correction) if device.kind_correction else None

        with emulated_device(device.profile, [data.path], run=f"probe-{probe.pk}") as limits:
            result = probe_device(
                data.corrected(correction),
                seconds=probe.seconds,
                resource_limits=limits,
                progress=lambda fraction, step: job.report(fraction=fraction, step=step[:64]),
                should_stop=job.should_stop,
            )
        return ended("ok", fraction=1.0, code_commit=code_commit(), **_columns(result))


def _columns(result: ProbeResult) -> Values:
    commit = result.commit()
    writes = result.best(Pattern.RANDOM_WRITE)
    low, high = suggested_io_capacity(result) if writes else (None, None)
    return {
        "random_read_iops": result.best(Pattern.RANDOM_READ),
        "random_write_iops": writes,
        "read_mb_s": result.best(Pattern.SEQUENTIAL_READ),
        "write_mb_s": result.best(Pattern.SEQUENTIAL_WRITE),
        "commit_p50_us": commit.flush.p50 if commit and commit.flush else None,
        "commit_p99_us": commit.flush.p99 if commit and commit.flush else None,
        "io_capacity_low": low,
        "io_capacity_high": high,
        "result": result.as_json(),
    }
