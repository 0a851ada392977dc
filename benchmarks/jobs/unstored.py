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

from benchmarks.datasets.shared_folders import sync_directory
from benchmarks.jobs.kinds import Ending

logger = logging.getLogger(__name__)

_SUFFIX = ".json"
_DRAFT = ".draft"
# Kept for inspection; never read again.
_SET_ASIDE = ".set-aside"


@dataclass(frozen=True)
class Note:
    """The ending of one job, written by the process that had claimed its row."""

    kind: str
    row_id: int
    claim: str
    ending: Ending

    @property
    def path(self) -> Path:
        return folder() / f"{self.kind}-{self.row_id}{_SUFFIX}"

    def write(self) -> None:
        """Write it to disk. Raises OSError, and TypeError for what JSON has not."""
        # Not json.dump, nor asdict, which copies all values: both take several times as long.
        text = json.dumps({**vars(self), "ending": vars(self.ending)}, cls=_Encoder)
        folder().mkdir(mode=0o700, exist_ok=True)
        draft = self.path.with_suffix(_DRAFT)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with open(descriptor, "w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            draft.rename(self.path)
        finally:
            draft.unlink(missing_ok=True)
        sync_directory(self.path.parent)

    def remove(self) -> None:
        """Delete the file of a stored note."""
        _move(self.path, None)

    def set_aside(self) -> None:
        """Keep a note that cannot be stored under a name that is not read again."""
        _move(self.path, _SET_ASIDE)


def folder() -> Path:
    """The directory of the files, which only this user can read."""
    path: Path = settings.RUN_DIR / "unstored"
    return path


def clear_drafts() -> None:
    """Delete incomplete files of killed processes; no process may be writing meanwhile."""
    for path in folder().glob(f"*{_DRAFT}"):
        _move(path, None)


def notes() -> list[Note]:
    """All notes; a file that cannot be read is set aside."""
    found = []
    for path in sorted(folder().glob(f"*{_SUFFIX}")):
        try:
            document: dict[str, Any] = json.loads(path.read_text())
            found.append(Note(**{**document, "ending": Ending(**document["ending"])}))
        except FileNotFoundError:
            continue
        except (ValueError, KeyError, TypeError) as error:
            logger.error("%s is not to be understood: %s", path, error)
            _move(path, _SET_ASIDE)
    return found


def is_spooled(kind: str, row_id: int) -> bool:
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
