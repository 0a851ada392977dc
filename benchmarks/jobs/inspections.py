"""The kind of job by which a host looks at itself, or at a path that somebody typed in."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from django.db.models import QuerySet

from benchmarks.errors import DeviceUnusable, NotAServer, about
from benchmarks.inventory.device_lookup import DeviceSpec, find_device
from benchmarks.inventory.here import DEVICE, SERVER, inspect_here
from benchmarks.inventory.host import FoundDirectory, Refused
from benchmarks.inventory.inspection import absolute, inspect_directory, options_text
from benchmarks.inventory.stored import change_inventory, inventory_of, list_paths
from benchmarks.jobs.kinds import Ending, Failure, Job, JobKind
from benchmarks.models import Inspection
from benchmarks.servers.binary import identify


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

    def work(self, job: Job[Inspection]) -> Ending:
        row = job.row
        if not row.host.inventory or row.subject == Inspection.Subject.HOST:
            inspect_here(row.host)
        match row.subject:
            case Inspection.Subject.SERVER:
                answer = _look_at_server(row)
            case Inspection.Subject.DEVICE:
                answer = _look_at_device(row)
            case _:
                answer = {}
        return Ending({"state": "ok", "answer": answer})

    def failed(self, row: Inspection, failure: Failure) -> Ending:
        why = {"reason_code": failure.code, "reason": failure.reason}
        return Ending({"state": "failed", "reason_field": failure.field, **why})


def _look_at_server(row: Inspection) -> dict[str, Any]:
    path = Path(row.path)
    with about("server"):
        try:
            binary = identify(path)
        except NotAServer as error:
            refused = Refused(path=path, code=error.code, reason=str(error))
            change_inventory(row.host, lambda known: known.with_refused_server(refused))
            raise
    if row.lists:
        list_paths(row.host, SERVER, [binary.path])
    options = options_text(binary)
    change_inventory(row.host, lambda known: known.with_server(binary, options))
    return {"path": str(binary.path), "flavour": binary.flavour, "version": binary.version_text}


def _look_at_device(row: Inspection) -> dict[str, Any]:
    data = _directory(row, "path", row.path) if row.path else None
    log = _directory(row, "log_dir", row.log_dir) if row.log_dir else None
    request = DeviceSpec(
        path=data.path if data else None,
        log_dir=log.path if log else None,
        emulate=row.emulate,
        memory_bytes=row.memory_bytes,
    )
    found = find_device(request, inventory_of(row.host))
    return {
        "data": found.data.as_json(),
        "log": found.log.as_json() if found.log else None,
        "emulation": found.emulation.label() if found.emulation else "",
    }


def _directory(row: Inspection, field: str, named: str) -> FoundDirectory:
    with about(field):
        path = absolute(Path(named))
        try:
            there = inspect_directory(path)
        except DeviceUnusable as error:
            refused = Refused(path=path, code=error.code, reason=str(error))
            change_inventory(row.host, lambda known: known.with_refused_directory(refused))
            raise
    if row.lists:
        list_paths(row.host, DEVICE, [there.path])
    change_inventory(row.host, lambda known: known.with_directory(there))
    return there
