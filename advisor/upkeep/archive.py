"""A backup's file: a zip with the database, the files of the home and what they are of.

`manifest.json` says of which version and kind of database it is, `database/` holds the rows,
`home/` the files. Datasets and servers are not in it: they can be made again.
"""

from __future__ import annotations

import json
import os
import secrets
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from advisor.errors import AdvisorError
from benchmarks.jobs.versions import code_version
from benchmarks.storage.identify import check_usable

_MANIFEST: Final = "manifest.json"
_FORMAT: Final = 1
_KEY: Final = "home/private/secret-key"
_RECOMMENDED: Final = "home/recommended/"
#: Of what is read into memory; ours are far smaller.
_MAX_BYTES: Final = 16 << 20
#: Of a name in a folder, in bytes.
_MAX_NAME: Final = 255
#: What a file raises that is no zip, or one that was changed: also encrypted or packed otherwise.
_DAMAGED: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    RuntimeError,
    TypeError,
    ValueError,
)


class BackupFailed(AdvisorError):
    """A backup cannot be made or restored; `code` says why."""


@dataclass(frozen=True)
class Manifest:
    """What a backup is of. `migrations` are those of its tables, as [app, name]."""

    vendor: str
    version: str
    migrations: list[list[str]]
    format: int = _FORMAT

    @classmethod
    def of_database(cls) -> Manifest:
        """That of a backup which is made now."""
        return cls(connection.vendor, code_version(), migrations())


def migrations() -> list[list[str]]:
    """Those that the database has, as [app, name]."""
    return sorted(list(key) for key in MigrationRecorder(connection).applied_migrations())


@contextmanager
def writing(path: Path, needed_bytes: int) -> Iterator[zipfile.ZipFile]:
    """A new file with that name once the block has ended well; nobody else may read it.

    Raises BackupFailed: there is one already; DeviceUnusable: no room beside the disk's reserve.
    """
    if path.exists():
        raise BackupFailed("already_there", f"{path} exists: name another file")
    check_usable(path.absolute().parent, max(needed_bytes, 1))
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
                yield archive
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # unlike a rename it never replaces a file
    except FileExistsError as error:
        raise BackupFailed("already_there", f"{path} exists: name another file") from error
    finally:
        draft.unlink()


@contextmanager
def reading(path: Path) -> Iterator[tuple[zipfile.ZipFile, Manifest]]:
    """A whole backup of this version and kind of database.

    Raises BackupFailed; DeviceUnusable: no room beside the disk's reserve.
    """
    with ExitStack() as stack:
        try:
            archive = stack.enter_context(zipfile.ZipFile(path))
            _check_sizes(archive)
            if damaged := archive.testzip():
                raise BackupFailed("damaged", f"{path} is damaged, in {damaged}")
            manifest = _checked(path, json.loads(archive.read(_MANIFEST)))
        except FileNotFoundError as error:
            raise BackupFailed("not_found", f"{path} does not exist") from error
        except _DAMAGED as error:
            raise BackupFailed("damaged", f"{path} is no backup, or damaged: {error}") from error
        yield archive, manifest


def _check_sizes(archive: zipfile.ZipFile) -> None:
    """Look before anything is unpacked: a small file can hold what no disk or memory does.

    Of each part no more is unpacked than the list in the file says. Raises BackupFailed,
    DeviceUnusable: no room beside the disk's reserve.
    """
    for part in archive.infolist():
        name = part.filename
        if part.file_size > _MAX_BYTES and (name == _MANIFEST or name.startswith("home/")):
            raise BackupFailed(
                "damaged", f"{name[:_MAX_NAME]} has {part.file_size:,} bytes in the backup"
            )
        if any(len(one.encode()) > _MAX_NAME for one in name.split("/")):
            raise BackupFailed("damaged", f"a name in the backup is too long: {name[:80]}...")
    # The database is unpacked beside the one that it replaces, which grows to the same size.
    needed = 2 * sum(part.file_size for part in archive.infolist())
    check_usable(settings.PRIVATE_DIR, max(needed, 1))


def require_parts(archive: zipfile.ZipFile, names: list[str]) -> None:
    """Raise BackupFailed where one of them is not in the file."""
    if missing := sorted(set(names) - set(archive.namelist())):
        raise BackupFailed("damaged", f"{archive.filename} lacks {missing[0]}")


def write_manifest(archive: zipfile.ZipFile, manifest: Manifest) -> None:
    archive.writestr(_MANIFEST, json.dumps(asdict(manifest), indent=2))


def add_home(archive: zipfile.ZipFile) -> None:
    """The secret key, so that log-ins and what it signs stay valid, and what was recommended."""
    for path in _files_of_home():
        with suppress(FileNotFoundError):  # deleted since
            archive.write(path, f"home/{path.relative_to(settings.HOME)}")


def restore_home(archive: zipfile.ZipFile) -> int:
    """The secret key, in place of the one that a new home has made itself, and what was
    recommended where it is not there; how many files were written. Nothing else is taken.

    Raises BackupFailed, not_restored, such as for a full disk.
    """
    try:
        return _restore_home(archive)
    except OSError as error:
        text = f"the database is restored; of the files of the home not all: {error}"
        raise BackupFailed("not_restored", text) from error


def _restore_home(archive: zipfile.ZipFile) -> int:
    if _KEY in archive.namelist():
        draft = settings.PRIVATE_DIR / f".secret-key.{secrets.token_hex(4)}"
        _write_new(draft, archive.read(_KEY))
        draft.replace(settings.PRIVATE_DIR / "secret-key")
    below = settings.HOME / "recommended"
    written = 0
    for name in archive.namelist():
        target = (settings.HOME / name.removeprefix("home/")).resolve()
        is_one = name.startswith(_RECOMMENDED) and target.is_relative_to(below)
        if not is_one or name.endswith("/") or target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        _write_new(target, archive.read(name))
        written += 1
    return written


def _write_new(path: Path, data: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)


def _files_of_home() -> list[Path]:
    key = settings.PRIVATE_DIR / "secret-key"
    recommended = [path for path in (settings.HOME / "recommended").rglob("*") if path.is_file()]
    return [*([key] if key.is_file() else []), *sorted(recommended)]


def _checked(path: Path, document: dict[str, Any]) -> Manifest:
    manifest = Manifest(**document)
    said = (manifest.format, manifest.vendor, manifest.version)
    if any(len(str(one)) > _MAX_NAME for one in said):  # they stand in messages
        raise BackupFailed("damaged", f"the manifest of {path} is too long")
    if manifest.format != _FORMAT:
        raise BackupFailed(
            "version_differs", f"{path} has format {manifest.format}, not {_FORMAT}"
        )
    if manifest.vendor != connection.vendor:
        raise BackupFailed(
            "other_database",
            f"{path} is of a {manifest.vendor} database, this one is {connection.vendor}",
        )
    there, here = (set(map(tuple, found)) for found in (manifest.migrations, migrations()))
    if there != here:
        raise BackupFailed(
            "version_differs",
            f"{path} is of version {manifest.version} with {len(there - here)} migrations that "
            f"this database lacks and without {len(here - there)} that it has; this is version "
            f"{code_version()}: restore it with its own version where nothing is yet, then update "
            "and run `.venv/bin/python manage.py migrate`",
        )
    return manifest
