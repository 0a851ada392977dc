"""Writes the recommendations of a study to files, and reports what was not written and why."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from django.conf import settings
from rich.console import Console

from advisor.errors import AdvisorError
from benchmarks.counted import counted
from tuning.errors import TuningError
from tuning.export.formats import ExportRequest
from tuning.models import DurabilityClass
from tuning.recommendations import StudyFiles
from tuning.results.document import Board, Recommendation, StudyDocument

Answer = tuple[Board, Recommendation]


class OutputFailed(AdvisorError):
    """A file could not be written."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__("output_failed", f"{path}: {error.strerror}")


def write_files(
    document: StudyDocument,
    console: Console,
    wanted: ExportRequest = ExportRequest(),  # noqa: B008  # it is frozen
    *,
    output: Path | None = None,
    exports: Sequence[tuple[str, Path]] = (),
) -> None:
    """Write every recommendation whose durability class was acknowledged.

    `output` and `exports` (format, path) are for the least safe of these, the acknowledged class.
    If that class has several boards (devices, numbers of connections), each gets a separate file
    with a suffix. Raises OutputFailed, and TuningError if nothing was written.
    """
    ready: list[tuple[Answer, bytes]] = []
    withheld: list[tuple[Answer, TuningError]] = []
    # Safest first, so that the last ones are of the acknowledged class.
    files = StudyFiles.of(document)
    answers = sorted(document.recommendations, key=lambda found: found[0].durability)
    boards = [board for board, _ in answers]
    for found in answers:
        try:
            ready.append((found, files.export(found[1].id, wanted).data))
        except TuningError as error:
            if error.code != "durability_not_acknowledged":
                raise
            withheld.append((found, error))
    if not ready and withheld:
        found, reason = withheld[0]
        raise TuningError(reason.code, f"{reason}; to get it, {_how(document, found[0])}")
    classes = {found[0].durability for found, _ in ready}
    last = [found for found, _ in ready if found[0].durability == max(classes)]
    for found, data in ready:
        board, suffix = found[0], _suffix(document, found[0], boards)
        path = _path_for(document, board, suffix)
        if output is not None and found in last:
            path = with_suffix(output, suffix)
        _write(path, data)
        words = _words(document, board, boards)
        words += [board.durability] if len(classes) > 1 else []
        named = f" ({', '.join(words)})" if words else ""
        console.print(f"Recommended my.cnf{named}: {path}", markup=False, soft_wrap=True)
    for name, file in exports:
        for found in last:
            path = with_suffix(file, _suffix(document, found[0], boards))
            _write(path, files.export(found[1].id, replace(wanted, format=name)).data)
            console.print(f"Recommendation as {name}: {path}", markup=False, soft_wrap=True)
    for found, reason in withheld:
        said = f"Not written: {reason}; to get it, {_how(document, found[0])}"
        console.print(said, markup=False, soft_wrap=True)


def _how(document: StudyDocument, board: Board) -> str:
    return (
        f"start with --acknowledge {board.durability}, or export it on the page of study "
        f"{document.study.id} or through the API"
    )


def _suffix(document: StudyDocument, board: Board, boards: Sequence[Board]) -> str:
    """Return the suffix that identifies a board among those with answers; "" for a single one."""
    several_devices = len({one.device_id for one in boards}) > 1
    several_workloads = len({one.workload_id for one in boards}) > 1
    device = f"-device-{board.device_id}" if several_devices else ""
    connections = document.workload[board.workload_id].connections
    return device + (f"-{connections}-connections" if several_workloads else "")


def _words(document: StudyDocument, board: Board, boards: Sequence[Board]) -> list[str]:
    """Describe the board in words; an emulated device is always named."""
    device = document.device[board.device_id]
    names_device = len({one.device_id for one in boards}) > 1 or bool(device.emulation_label)
    words = [device.name] if names_device else []
    several = len({one.workload_id for one in boards}) > 1
    connections = document.workload[board.workload_id].connections
    return words + ([counted(connections, "connection")] if several else [])


def with_suffix(path: Path, suffix: str) -> Path:
    """`my.cnf` with `-db1` as `my-db1.cnf`."""
    return path.with_name(f"{path.stem}{suffix}{path.suffix}")


def _path_for(document: StudyDocument, board: Board, suffix: str) -> Path:
    folder = settings.HOME / "recommended"
    folder.mkdir(exist_ok=True)
    tail = "" if board.durability == DurabilityClass.D0 else f"-{board.durability}"
    return Path(folder / f"study-{document.study.id}{suffix}{tail}.cnf")


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
