"""Fixtures of the measuring floor: datasets that are loaded once per test session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.datasets.golden import Dataset, ensure_dataset
from benchmarks.servers.binary import ServerBinary

#: Two, so that orders and payments can go to another warehouse.
GOLDEN_WAREHOUSES = 2


@pytest.fixture(scope="session")
def golden_dataset(server_session_tmp: Path) -> Callable[[ServerBinary], Dataset]:
    """Gives the golden copy of 2 warehouses for a server, loaded at the first call (some 10 s).

    Clone it (benchmarks.datasets.cloning.clone); never start a server on it or change it.
    """

    def make(binary: ServerBinary) -> Dataset:
        return ensure_dataset(
            binary,
            device_dir=server_session_tmp / "golden",
            warehouses=GOLDEN_WAREHOUSES,
            registry=server_session_tmp / "golden-registry",
        )

    return make
