"""An empty data directory per server and page size, made once and copied for every trial start
and every load.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.datasets.progress import ignore, never
from benchmarks.datasets.shared_folders import ensure_folder, server_key
from benchmarks.engines import innodb
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.datadir import create_data_dir

#: Raised whenever what is made here changes.
LAYOUT = 3
_NEEDED_BYTES = 400_000_000


def pristine_key(binary: ServerBinary, page_size: int = innodb.DEFAULT_PAGE_SIZE) -> str:
    """Return the folder's name: different for all that must not mix."""
    return server_key(binary, "empty", page_size, LAYOUT)


def ensure_pristine(
    binary: ServerBinary,
    device_dir: Path,
    *,
    page_size: int = innodb.DEFAULT_PAGE_SIZE,
    should_stop: Callable[[], bool] = never,
) -> Path:
    """Return the empty data directory in `device_dir` (our folder on a device), made at need.

    Never start a server on it: copy it (`benchmarks.storage.copying`). Takes some seconds the
    first time. Raises what `ensure_folder` raises, NotAServer and RunFailed: NO_START, TIMED_OUT.
    """
    options = innodb.empty_options(binary, page_size)

    folder, _ = ensure_folder(
        device_dir,
        pristine_key(binary, page_size),
        {
            "server_digest": binary.digest,
            "server_version": binary.version_text,
            "page_size": page_size,
        },
        lambda folder: create_data_dir(binary, folder / "data", options=options),
        needed_bytes=_NEEDED_BYTES,
        progress=ignore,
        should_stop=should_stop,
    )
    return folder / "data"
