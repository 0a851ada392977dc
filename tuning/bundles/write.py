"""Writes a study that has ended into a zip."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC
from typing import IO, Any, Final

from benchmarks.drivers.redact import redact
from benchmarks.jobs.versions import code_version
from benchmarks.models import SERIES_COLUMNS, Host, Run, Sample, Server
from tuning.bundles.errors import BundleRefused
from tuning.bundles.repeat import repeat_request, repeat_script
from tuning.bundles.tables import TABLES
from tuning.configs.knobs import render_cnf
from tuning.models import Candidate, Slot, Study
from tuning.results.evidence import traits_of
from tuning.results.slot_rows import RunRow
from tuning.results.study_result import StudyResult

FORMAT: Final = "mysql-oltp-tuning-advisor/bundle"
VERSION: Final = 1
MANIFEST: Final = "bundle.json"
ROWS: Final = "rows.json"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


def write_bundle(
    study: Study,
    document: dict[str, Any],
    file: IO[bytes],
    rest: Callable[[], None] = lambda: None,
) -> None:
    """The same study makes the same bytes. `document` is what the API says of the study.

    `rest` is called after each file: a study of many runs takes seconds.
    Raises BundleRefused, study_running, for a study that has not ended, also if only its last run
    is still stopping.
    """
    slots = list(Slot.objects.filter(study=study))
    runs = [line.run for line in StudyResult(study).history]
    if not study.is_finished or not all(run.is_finished for run in runs):
        raise BundleRefused("study_running", "the study has not ended yet")
    sums: dict[str, str] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        for name, data in _files(study, document, slots, runs):
            sums[name] = hashlib.sha256(data).hexdigest()
            _add(archive, name, data)
            rest()
        _add(archive, MANIFEST, _json(_manifest(study, sums)))


def _manifest(study: Study, sums: dict[str, str]) -> dict[str, Any]:
    ended = study.finished_at or study.created_at
    return {
        "format": FORMAT,
        "version": VERSION,
        "made_by": code_version(),
        "study": {"id": study.pk, "name": study.name, "host": study.host.name},
        "ended_at": ended.astimezone(UTC).isoformat(),
        "repeat": "repeat.sh",
        "sha256": dict(sorted(sums.items())),
    }


def _files(
    study: Study, document: dict[str, Any], slots: list[Slot], runs: list[RunRow]
) -> Iterator[tuple[str, bytes]]:
    yield "study.json", _json(document)
    yield ROWS, _json(_rows(study, slots, runs))
    yield "request.json", _json(repeat_request(study))
    yield "repeat.sh", repeat_script(study).encode()
    candidates = Candidate.objects.filter(study=study)
    for number, one in enumerate(candidates.select_related("config", "server", "study__server")):
        text = render_cnf(one.config.knobs, traits_of(one.measured_on))
        yield f"configs/{number:03}-{_safe(one.name)}.cnf", text.encode()
    bulky = Run.objects.in_bulk([run.pk for run in runs])
    yield "fingerprints.json", _json({str(pk): run.fingerprint for pk, run in bulky.items()})
    for pk, run in bulky.items():
        if run.log_tail:
            yield f"logs/run-{pk}.log", redact(run.log_tail).encode()
    for pk in bulky:
        if data := _series(pk):
            yield f"series/run-{pk}.csv", data


def _rows(study: Study, slots: list[Slot], runs: list[RunRow]) -> dict[str, Any]:
    """The rows of every table, by its name, and the hosts' names."""
    crash_slots = list(study.crash_slots.select_related("test"))
    there: dict[str, list[Any]] = {
        "servers": _servers(study),
        "devices": list(study.devices.order_by("pk")),
        "workloads": list(study.workloads.order_by("pk")),
        "studies": [study],
        "candidates": list(study.candidates.order_by("pk").select_related("config")),
        "runs": list(Run.objects.filter(pk__in=[run.pk for run in runs]).order_by("pk")),
        "slots": slots,
        "actions": list(study.actions.order_by("pk")),
        "eliminations": list(study.eliminations.order_by("pk")),
        "crash_tests": [one.test for one in crash_slots],
        "crash_slots": crash_slots,
        "recommendations": list(study.recommendations.order_by("pk")),
    }
    configs = {one.config_id: one.config for one in there["candidates"]}
    there["configs"] = [configs[pk] for pk in sorted(configs)]
    found: dict[str, Any] = {table.name: table.dump(there[table.name]) for table in TABLES}
    for row in (*found["studies"], *found["crash_tests"]):
        row["log_tail"] = redact(row["log_tail"])
    drivers = Host.objects.filter(driven_workloads__in=there["workloads"])
    names = drivers.order_by("pk").distinct().values_list("pk", "name")
    return {"host": study.host.name, "hosts": [{"id": pk, "name": n} for pk, n in names], **found}


def _servers(study: Study) -> list[Server]:
    """The candidate of a gate may have one of its own."""
    others = Server.objects.filter(candidates__study=study).exclude(pk=study.server_id)
    return [study.server, *others.order_by("pk").distinct()]


def _series(run: int) -> bytes:
    rows = list(Sample.objects.filter(run=run).values_list(*SERIES_COLUMNS))
    if not rows:
        return b""
    text = io.StringIO()
    lines = csv.writer(text)
    lines.writerow(SERIES_COLUMNS)
    lines.writerows(rows)
    return text.getvalue().encode()


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:60] or "config"


def _json(document: Any) -> bytes:
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False).encode()


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o755 if name.endswith(".sh") else 0o644) << 16
    archive.writestr(entry, data)
