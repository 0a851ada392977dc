"""Endings of jobs that are not in the database yet, in private files of this user.

A measurement takes minutes to hours, and the database may be locked or restarting, the disk full
or the worker killed at any moment. So a result is written to disk before it is stored, and deleted
after that.
"""

from __future__ import annotations

import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder

logger = logging.getLogger(__name__)

#: Column to value; the values can be written as JSON. The ending of a job is such a dictionary:
#: without a `state`, or with "running", the row goes on and gets no `finished_at`.
Values = dict[str, Any]

_SUFFIX = ".json"
_DRAFT = ".draft"
#: Kept for inspection; never read again.
_SET_ASIDE = ".set-aside"


@dataclass(frozen=True)
class Unstored:
    """The ending of one job, written by the process that had claimed its row."""

    kind: str
    row_id: int
    claim: str
    ending: Values

    @property
    def path(self) -> Path:
        return folder() / f"{self.kind}-{self.row_id}{_SUFFIX}"

    def write(self) -> bool:
        """Write it to disk; False if that is not possible, which is logged."""
        try:
            folder().mkdir(mode=0o700, exist_ok=True)
            draft = self.path.with_suffix(_DRAFT)
            try:
                _write_durably(draft, json.dumps(vars(self), cls=_Encoder))
                draft.rename(self.path)
            finally:
                draft.unlink(missing_ok=True)
            _sync(folder())
        except (OSError, TypeError, ValueError):
            logger.exception("%s %s is kept in memory until stored", self.kind, self.row_id)
            return False
        return True

    def remove(self) -> None:
        """Delete the file of a stored ending."""
        _move(self.path, None)

    def set_aside(self) -> None:
        """Keep an ending that cannot be stored under a name that is not read again."""
        _move(self.path, _SET_ASIDE)


def folder() -> Path:
    """Return the directory of the files, which only this user can read."""
    path: Path = settings.RUN_DIR / "unstored"
    return path


def unstored_endings() -> list[Unstored]:
    """Return all endings while no process writes one; a file that is not one is set aside."""
    for draft in folder().glob(f"*{_DRAFT}"):  # of killed processes
        _move(draft, None)
    found = []
    for path in sorted(folder().glob(f"*{_SUFFIX}")):
        try:
            found.append(Unstored(**json.loads(path.read_text())))
        except OSError as error:
            logger.error("%s cannot be read now: %s", path, error)
        except (ValueError, TypeError) as error:
            logger.error("%s holds no result: %s", path, error)
            _move(path, _SET_ASIDE)
    return found


def is_unstored(kind: str, row_id: int) -> bool:
    """Whether the ending of that row has not been stored yet."""
    return (folder() / f"{kind}-{row_id}{_SUFFIX}").exists()


def _move(path: Path, suffix: str | None) -> None:
    """Give a file another suffix, or delete it; a failure is only logged."""
    try:
        if suffix is None:
            path.unlink(missing_ok=True)
        else:
            path.rename(path.with_suffix(suffix))
    except OSError as error:
        logger.warning("%s stays where it is: %s", path, error)


class _Encoder(DjangoJSONEncoder):
    """Encodes numpy's numbers as well."""

    def default(self, o: Any) -> Any:
        return o.item() if hasattr(o, "item") else super().default(o)


def _write_durably(path: Path, text: str) -> None:
    with path.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync(directory: Path) -> None:
    """Bring the names in a directory to the disk."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
