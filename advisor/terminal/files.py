"""Writes the recommendations of a study to files, and reports what was not written and why."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from rich.console import Console

from advisor.errors import AdvisorError
from benchmarks.counted import counted
from tuning.catalogue.knob import Durability
from tuning.errors import TuningError
from tuning.export.formats import ExportRequest
from tuning.models import DurabilityClass, Recommendation
from tuning.recommendations import StudyFiles
from tuning.results.stored_documents import document_of
from tuning.results.study_result import StudyResult


class OutputFailed(AdvisorError):
    """A file could not be written."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__("output_failed", f"{path}: {error.strerror}")


def write_files(
    result: StudyResult,
    console: Console,
    *,
    acknowledged: Durability = Durability.D0,
    output: Path | None = None,
    exports: Sequence[tuple[str, Path]] = (),
    as_measured: bool = False,
    keeps_lines: bool = False,
) -> None:
    """Write every recommendation whose durability class was acknowledged.

    `output` and `exports` (format, path) are for the least safe of these, the acknowledged class.
    If that class has several boards (devices, numbers of connections), each gets a separate file
    with a suffix. `keeps_lines` as in ExportRequest. Raises OutputFailed, and TuningError if
    nothing was written.
    """
    ready: list[tuple[Recommendation, bytes]] = []
    withheld: list[tuple[Recommendation, TuningError]] = []
    # Safest first, so that the last ones are of the acknowledged class.
    files = StudyFiles.of(document_of(result.study))
    rows = sorted(result.recommendations, key=lambda found: found.durability)
    suffixes = _suffixes(rows)
    for found in rows:
        try:
            my_cnf = files.export(
                found.pk,
                ExportRequest(
                    acknowledged=acknowledged, as_measured=as_measured, keeps_lines=keeps_lines
                ),
            )
            ready.append((found, my_cnf.data))
        except TuningError as error:
            if error.code != "durability_not_acknowledged":
                raise
            withheld.append((found, error))
    if not ready and withheld:
        found, reason = withheld[0]
        raise TuningError(reason.code, f"{reason}; to get it, {_how(found)}")
    wanted = [found for found, _ in ready if found.durability == ready[-1][0].durability]
    for found, data in ready:
        suffix = suffixes[found.pk]
        path = (
            with_suffix(output, suffix) if output and found in wanted else _path_for(found, suffix)
        )
        _write(path, data)
        words = _words(found, rows)
        words += [found.durability] if len({one.durability for one, _ in ready}) > 1 else []
        named = f" ({', '.join(words)})" if words else ""
        console.print(f"Recommended my.cnf{named}: {path}", markup=False, soft_wrap=True)
    for name, file in exports:
        for found in wanted:
            path = with_suffix(file, suffixes[found.pk])
            wanted_file = ExportRequest(
                name, acknowledged, as_measured=as_measured, keeps_lines=keeps_lines
            )
            _write(path, files.export(found.pk, wanted_file).data)
            console.print(f"Recommendation as {name}: {path}", markup=False, soft_wrap=True)
    for found, reason in withheld:
        said = f"Not written: {reason}; to get it, {_how(found)}"
        console.print(said, markup=False, soft_wrap=True)


def _how(found: Recommendation) -> str:
    return (
        f"start with --acknowledge {found.durability}, or export it on the page of study "
        f"{found.study_id} or through the API"
    )


def _suffixes(rows: Sequence[Recommendation]) -> dict[int, str]:
    """By recommendation, the suffix that identifies its board; "" if there is only one."""
    devices = {found.device_id for found in rows}
    numbers = {found.workload_id for found in rows}
    return {
        found.pk: (f"-device-{found.device_id}" if len(devices) > 1 else "")
        + (f"-{found.workload.connections}-connections" if len(numbers) > 1 else "")
        for found in rows
    }


def _words(found: Recommendation, rows: Sequence[Recommendation]) -> list[str]:
    """Describe the device in words; an emulated device is always named."""
    names_device = len({one.device_id for one in rows}) > 1 or bool(found.device.emulation_label)
    words = [str(found.device)] if names_device else []
    several = len({one.workload_id for one in rows}) > 1
    return words + ([counted(found.workload.connections, "connection")] if several else [])


def with_suffix(path: Path, suffix: str) -> Path:
    """`my.cnf` with `-db1` as `my-db1.cnf`."""
    return path.with_name(f"{path.stem}{suffix}{path.suffix}")


def _path_for(found: Recommendation, suffix: str) -> Path:
    folder = settings.HOME / "recommended"
    folder.mkdir(exist_ok=True)
    tail = "" if found.durability == DurabilityClass.D0 else f"-{found.durability}"
    return Path(folder / f"study-{found.study_id}{suffix}{tail}.cnf")


def _write(path: Path, data: bytes) -> None:
    try:
        write_whole(path, data)
    except OSError as error:
        raise OutputFailed(path, error) from error


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; raises OSError."""
    # An unpredictable name: the directory may be /tmp and we may be root.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with draft.open("xb") as file:
            file.write(data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
