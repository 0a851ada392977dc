"""Fixtures of the measuring floor: datasets that are loaded once per test session."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.datasets.golden import ensure_dataset
from benchmarks.datasets.loading import never
from benchmarks.datasets.source import Dataset, tpcc_source
from benchmarks.drivers.protocol import Load
from benchmarks.drivers.select import find_driver
from benchmarks.drivers.workloads import tpcc
from benchmarks.measurement.plan import Plan
from benchmarks.servers.binary import ServerBinary
from benchmarks.storage.copying import copy_tree
from benchmarks.storage.layout import FOLDER, DeviceLayout
from benchmarks.telemetry.disturbance import Limits

#: Two, so that orders and payments can go to another warehouse.
GOLDEN_WAREHOUSES = 2

# This host may be busy with other tests: what those take is no reason here.
NOTHING = Limits(0, 0, 0, 0, 0, 0)


@pytest.fixture(scope="session")
def golden_dataset(shared_tmp: Path, shared_folder: Path) -> Callable[[ServerBinary], Dataset]:
    """Gives the golden copy of 2 warehouses for a server, loaded at the first call (some 10 s).

    Clone it (benchmarks.datasets.cloning.clone); never start a server on it or change it.
    """

    def make(binary: ServerBinary) -> Dataset:
        return ensure_dataset(
            tpcc_source(GOLDEN_WAREHOUSES),
            binary,
            device_dir=shared_folder,
        )

    return make


@pytest.fixture(scope="session")
def copied_dataset(
    golden_dataset: Callable[[ServerBinary], Dataset],
) -> Callable[[ServerBinary, Path], Dataset]:
    """Copies that golden copy into a new data directory, in less time than `clone` takes: it stays
    in the page cache, and nobody waits for the disk.
    """

    def make(binary: ServerBinary, data_dir: Path) -> Dataset:
        dataset = golden_dataset(binary)
        copy_tree(dataset.data_dir, lambda name: data_dir / name, never, through_cache=True)
        return dataset

    return make


@pytest.fixture
def plan_on(
    golden_dataset: Callable[[ServerBinary], Dataset], server_tmp: Path
) -> Callable[[ServerBinary], Plan]:
    """A run of a minute on the golden dataset that all tests share."""

    def make(binary: ServerBinary) -> Plan:
        golden = golden_dataset(binary)
        device = server_tmp / "device"
        (device / FOLDER).mkdir(parents=True)
        (device / FOLDER / "datasets").symlink_to(golden.path.parent)
        return Plan(
            name=f"run-{os.getpid()}",
            binary=binary,
            driver=find_driver("sysbench"),
            load=Load(tpcc(GOLDEN_WAREHOUSES), 1, warmup_s=1, measure_s=60, seed=1),
            source=tpcc_source(GOLDEN_WAREHOUSES),
            options={},
            layout=DeviceLayout(device),
            limits=NOTHING,
        )

    return make


@pytest.fixture
def mount_tmpfs(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a real small file system with the options given."""
    mounted: list[Path] = []

    def mount(options: str) -> Path:
        target = tmp_path / f"mounted{len(mounted)}"
        target.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(target)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            pytest.skip(f"file systems cannot be mounted here: {done.stderr.strip()}")
        mounted.append(target)
        return target

    yield mount
    for target in mounted:
        subprocess.run(["umount", str(target)], check=True)
