"""The kind of job by which a host looks at itself, or at a path that somebody typed in."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from django.db.models import QuerySet

from benchmarks.errors import BenchmarkError, about
from benchmarks.inventory.device_lookup import DeviceSpec, find_device
from benchmarks.inventory.inspection import inspect_here
from benchmarks.jobs.heartbeat import Job
from benchmarks.jobs.kinds import JobKind, ended
from benchmarks.jobs.unstored import Values
from benchmarks.models import Inspection


class InspectionKind(JobKind[Inspection]):
    """Inspections. What was found or refused becomes part of the host's inventory.

    One takes a second at most and starts nothing but `mysqld --version`. It is done between two
    runs, never during one.
    """

    name = "inspection"
    task = "benchmarks.inspect"
    waits_while_drained: ClassVar[bool] = False

    @property
    def rows(self) -> QuerySet[Inspection]:
        return Inspection.objects.select_related("host")

    def work(self, job: Job[Inspection]) -> Values:
        row = job.row
        match row.subject:
            case Inspection.Subject.SERVER:
                answer = _look_at_server(row)
            case Inspection.Subject.DEVICE:
                answer = _look_at_device(row)
            case _:
                inspect_here(row.host)
                answer = {}
        return ended("ok", answer=answer)

    def failed(self, row: Inspection, error: BenchmarkError) -> Values:
        return super().failed(row, error) | {"reason_field": error.field}


def _look_at_server(row: Inspection) -> dict[str, Any]:
    path = Path(row.path)
    found = inspect_here(row.host, servers=[path] if row.lists else [])
    with about("server"):
        binary = found.server(path)
    return {"path": str(binary.path), "flavour": binary.flavour, "version": binary.version_text}


def _look_at_device(row: Inspection) -> dict[str, Any]:
    data, log = (Path(named) if named else None for named in (row.path, row.log_dir))
    named = [path for path in (data, log) if path is not None]
    inventory = inspect_here(row.host, devices=named if row.lists else [])
    spec = DeviceSpec(data, log, emulate=row.emulate, memory_bytes=row.memory_bytes)
    found = find_device(spec, inventory)
    return {
        "data": found.data.as_json(),
        "log": found.log.as_json() if found.log else None,
        "emulation": found.emulation.label() if found.emulation else "",
    }
