"""An empty data directory per server and page size, made once and copied for every trial start
and every load.

`<device_dir>/datasets/<key>/data`, beside the golden copies and made as they are: it gets its name
when it is whole.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.datasets.options import DEFAULT_PAGE_SIZE, PAGE_SIZES, page_size_options
from benchmarks.datasets.progress import ignore, never
from benchmarks.datasets.shared_folders import (
    LOADING,
    locked,
    make_folders,
    remove,
    sweep,
    sync_directory,
    take_data,
    touch_lock,
    write_durably,
)
from benchmarks.errors import NO_SPACE_ERRNOS, DeviceUnusable, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership.ours import make_ours
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.datadir import create_data_dir
from benchmarks.storage.identify import check_usable

READY = "pristine.json"
#: Raised whenever what is made here changes.
LAYOUT = 2
_NEEDED_BYTES = 400_000_000
_MIN_REDO = 8 * 1024**2


def pristine_key(binary: ServerBinary, page_size: int = DEFAULT_PAGE_SIZE) -> str:
    """The folder's name: different for all that must not mix."""
    version = ".".join(map(str, binary.version))
    return f"{binary.flavour}-{version}-{binary.digest[:12]}-empty-p{page_size // 1024}k-v{LAYOUT}"


def ensure_pristine(
    binary: ServerBinary,
    device_dir: Path,
    *,
    page_size: int = DEFAULT_PAGE_SIZE,
    should_stop: Callable[[], bool] = never,
) -> Path:
    """The empty data directory in `device_dir` (our folder on a device), made there at need.

    Never start a server on it: copy it (`benchmarks.servers.datadir.copy_data_dir`). Takes some
    seconds the first time; callers at the same time wait for each other. Raises DeviceUnusable,
    NotAServer and RunFailed: CANCELLED, DISK_FULL, NO_START, TIMED_OUT. Nothing half-made is left
    behind.
    """
    if page_size not in PAGE_SIZES:
        raise ValueError(f"page_size must be one of {PAGE_SIZES}, not {page_size}")
    datasets = make_folders(device_dir.absolute())
    key = pristine_key(binary, page_size)
    folder = datasets / key
    if _is_whole(folder):
        touch_lock(datasets, key)
        return folder / "data"
    with locked(datasets, key, ignore, should_stop):
        sweep(datasets, key)
        if not _is_whole(folder):
            if folder.exists():
                remove(folder)
            check_usable(datasets, _NEEDED_BYTES)
            _make(binary, folder, page_size)
    return folder / "data"


def _is_whole(folder: Path) -> bool:
    """Whether it is there, and the server that made it cannot change it any more."""
    with contextlib.suppress(OSError):
        return (folder / READY).is_file() and (folder / "data").stat().st_uid == os.geteuid()
    return False


def _make(binary: ServerBinary, folder: Path, page_size: int) -> None:
    making = folder.with_name(f"{folder.name}{LOADING}{os.getpid()}")
    start = time.monotonic()
    try:
        make_ours(making)
        create_data_dir(binary, making / "data", options=_options(binary, page_size))
        take_data(making / "data")
        ready = {
            "server_digest": binary.digest,
            "server_version": binary.version_text,
            "page_size": page_size,
            "seconds": round(time.monotonic() - start, 3),
        }
        write_durably(making / READY, json.dumps(ready, indent=2) + "\n")
        making.rename(folder)
        sync_directory(folder.parent)
    except OSError as error:
        if error.errno in NO_SPACE_ERRNOS:
            raise RunFailed(Outcome.DISK_FULL, f"{folder.parent}: {error.strerror}") from error
        raise DeviceUnusable(f"{folder.parent}: {error}") from error
    finally:
        if making.exists():
            remove(making)


def _options(binary: ServerBinary, page_size: int) -> dict[str, str]:
    options = page_size_options(page_size)
    # Every trial copies the redo log, and the server makes it as large as configured.
    if binary.flavour is Flavour.MARIADB:
        options["innodb_log_file_size"] = str(_MIN_REDO)
    elif binary.version >= (8, 0, 30):
        options["innodb_redo_log_capacity"] = str(_MIN_REDO)
    return options
