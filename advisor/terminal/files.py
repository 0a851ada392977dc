"""Writes the recommendations of a study as files, and says what was not written and why."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from rich.console import Console

from advisor.errors import AdvisorError
from tuning.catalogue.knob import Durability
from tuning.errors import TuningError
from tuning.export import ExportRequest
from tuning.models import DurabilityClass, Recommendation, Study
from tuning.services.exports import export_file


class OutputFailed(AdvisorError):
    """A file could not be written."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__("output_failed", f"{path}: {error.strerror}")


def write_files(
    study: Study,
    console: Console,
    *,
    acknowledged: Durability = Durability.D0,
    output: Path | None = None,
    exports: Sequence[tuple[str, Path]] = (),
) -> None:
    """Write every recommendation whose durability class was acknowledged.

    `output` and `exports` (format, path) are for the least safe of these: the one that was asked
    for by acknowledging it. Raises OutputFailed, and TuningError where nothing was written.
    """
    ready: list[tuple[Recommendation, str]] = []
    withheld: list[tuple[Recommendation, TuningError]] = []
    for found in study.recommendations.select_related("candidate"):
        try:
            ready.append(
                (found, export_file(found, ExportRequest(acknowledged=acknowledged)).text)
            )
        except TuningError as error:
            if error.code != "durability_not_acknowledged":
                raise
            withheld.append((found, error))
    if not ready and withheld:
        found, reason = withheld[0]
        raise TuningError(reason.code, f"{reason}; to have it, {_how(found)}")
    for place, (found, text) in enumerate(ready, start=1):
        path = output if output and place == len(ready) else _place_of(found)
        _write(path, text)
        named = f" ({found.durability})" if len(ready) > 1 else ""
        console.print(f"Recommended my.cnf{named}: {path}", markup=False, soft_wrap=True)
    for name, path in exports:
        _write(path, export_file(ready[-1][0], ExportRequest(name, None, acknowledged)).text)
        console.print(f"Recommended, as {name}: {path}", markup=False, soft_wrap=True)
    for found, reason in withheld:
        said = f"Not written: {reason}; to have it, {_how(found)}"
        console.print(said, markup=False, soft_wrap=True)


def _how(found: Recommendation) -> str:
    return (
        f"give --acknowledge {found.durability} at the start, or export it from the page or the "
        f"API of study {found.study_id}"
    )


def _place_of(found: Recommendation) -> Path:
    folder = settings.HOME / "recommended"
    folder.mkdir(exist_ok=True)
    tail = "" if found.durability == DurabilityClass.D0 else f"-{found.durability}"
    return Path(folder / f"study-{found.study_id}{tail}.cnf")


def _write(path: Path, text: str) -> None:
    try:
        write_whole(path, text)
    except OSError as error:
        raise OutputFailed(path, error) from error


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all; raises OSError."""
    # A name that nobody can foresee: the place may be /tmp and we may be root.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with draft.open("x") as file:
            file.write(text)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
