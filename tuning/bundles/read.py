"""Takes a bundle apart: names, sizes, checksums and JSON, before anything of it is believed.

Nothing is written to disk: entries are read by name, into memory, up to a limit.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from dataclasses import dataclass, field
from typing import IO, Any, Final, Never

from tuning.bundles.errors import BundleRefused, damaged
from tuning.bundles.write import FORMAT, MANIFEST, ROWS, VERSION

#: Of a bundle as a file, and of all that is in it.
MAX_FILE_BYTES: Final = 64 * 1024**2
MAX_BYTES: Final = 512 * 1024**2
MAX_ENTRIES: Final = 50_000
_NAME: Final = re.compile(r"(?:[a-z]+/)?[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_OF_RUN: Final = re.compile(r"(logs|series)/run-(\d{1,18})\.(?:log|csv)")
_PACKED: Final = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_BROKEN: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    NotImplementedError,
    OSError,
    RuntimeError,
    RecursionError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True)
class Bundle:
    """What a bundle holds. `sha256` is of the whole file; logs and series are by number of run."""

    sha256: str
    manifest: dict[str, Any]
    rows: dict[str, Any]
    logs: dict[int, str] = field(default_factory=dict)
    series: dict[int, str] = field(default_factory=dict)


def read_bundle(file: IO[bytes]) -> Bundle:
    """The whole bundle, checked. Raises BundleRefused."""
    digest = hashlib.sha256()
    size = 0
    while piece := file.read(1024**2):
        size += len(piece)
        if size > MAX_FILE_BYTES:
            raise _too_large(f"more than {MAX_FILE_BYTES // 1024**2} MiB")
        digest.update(piece)
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as archive:
            return _bundle(archive, digest.hexdigest())
    except _BROKEN as error:
        raise damaged(str(error) or type(error).__name__) from error


def _bundle(archive: zipfile.ZipFile, sha256: str) -> Bundle:
    entries = _entries(archive)
    manifest = _object(_bytes(archive, entries.pop(MANIFEST)))
    if manifest.get("format") != FORMAT:
        raise damaged("its format is another")
    if manifest.get("version") != VERSION:
        raise BundleRefused(
            "bundle_version",
            f"this bundle has version {str(manifest.get('version'))[:20]}; "
            f"this advisor reads version {VERSION}",
        )
    sums = manifest["sha256"]
    if set(sums) != set(entries):
        odd = min(set(sums) ^ set(entries))
        raise damaged(f"{odd[:100]!r} is not both listed and there")
    bundle = Bundle(sha256, manifest, {})
    for name, entry in entries.items():
        data = _bytes(archive, entry)
        if hashlib.sha256(data).hexdigest() != sums[name]:
            raise damaged(f"{name} was changed")
        if name == ROWS:
            bundle.rows.update(_object(data))
        elif found := _OF_RUN.fullmatch(name):
            kept = bundle.logs if found[1] == "logs" else bundle.series
            kept[int(found[2])] = _text(data)
    if not bundle.rows:
        raise damaged(f"{ROWS} is missing")
    return bundle


def _entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """By name; their sizes are what the file says, and are held to when they are read."""
    there = archive.infolist()
    if len(there) > MAX_ENTRIES:
        raise _too_large(f"{len(there)} files")
    if sum(entry.file_size for entry in there) > MAX_BYTES:
        raise _too_large(f"more than {MAX_BYTES // 1024**2} MiB unpacked")
    for entry in there:
        if not _NAME.fullmatch(entry.filename) or ".." in entry.filename:
            raise damaged(f"a file in it cannot be named {entry.filename[:100]!r}")
        if entry.compress_type not in _PACKED or entry.flag_bits & 0x1:
            raise damaged(f"{entry.filename} is packed in another way")
    found = {entry.filename: entry for entry in there}
    if len(found) != len(there):
        raise damaged("two files in it have one name")
    if MANIFEST not in found:
        raise damaged(f"{MANIFEST} is missing")
    return found


def _bytes(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    with archive.open(entry) as packed:
        data = packed.read(entry.file_size + 1)
    if len(data) != entry.file_size:
        raise damaged(f"{entry.filename} is not as large as it says")
    return data


def _object(data: bytes) -> dict[str, Any]:
    found = json.loads(_text(data), parse_constant=_no_number)
    if not isinstance(found, dict):
        raise damaged("an object was expected")
    # What no database takes: NUL, and halves of characters, both of which JSON can escape.
    text = json.dumps(found, ensure_ascii=False)
    text.encode()
    if "\\u0000" in text.replace("\\\\", ""):
        raise damaged("it has a NUL in a text")
    return found


def _text(data: bytes) -> str:
    text = data.decode()
    if "\0" in text:
        raise damaged("it has a NUL in a text")
    return text


def _no_number(text: str) -> Never:
    raise ValueError(f"{text} is no number")


def _too_large(what: str) -> BundleRefused:
    return BundleRefused("bundle_too_large", f"the bundle has {what}")
