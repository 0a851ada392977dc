"""A measured server that plants links, pipes and deep trees wherever it can, before a root worker.

Nothing of what only root may read is read, changed, given away or shown, and nothing is left.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.datasets.golden import initialized_data_dir
from benchmarks.datasets.source import Dataset, tpcc_source
from benchmarks.drivers.protocol import Load
from benchmarks.drivers.select import find_driver
from benchmarks.drivers.workloads import tpcc
from benchmarks.errors import BenchmarkError, LoadFailed, RunFailed
from benchmarks.measurement.measure import measure
from benchmarks.measurement.plan import Plan
from benchmarks.servers.binary import ServerBinary, identify
from benchmarks.servers.trial import try_config
from benchmarks.storage.layout import FOLDER, DeviceLayout
from benchmarks.tests.conftest import NOTHING

SOURCE = Path(__file__).with_name("hostile_server.c")
TOKEN = "of-roots-eyes-only"
LONG_AGO = 978_307_200

pytestmark = [
    pytest.mark.server,
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to lose to a server"),
]


@dataclass(frozen=True)
class Hostile:
    """The program, and what it wants."""

    binary: ServerBinary
    home: Path
    device: Path

    def plan(self, word: str) -> None:
        """What it does from its next start on."""
        (self.home / "plan").write_text(word)

    @property
    def layout(self) -> DeviceLayout:
        return DeviceLayout(self.device)

    def facts(self) -> tuple[object, ...]:
        """All that can be known of the secret, its last reading included."""
        found = (self.home / "secret").stat()
        times = found.st_atime, found.st_mtime, found.st_ctime
        inside = [path.name for path in (self.home / "precious").iterdir()]
        owner = (self.home / "precious").stat()
        return found.st_mode, found.st_uid, found.st_nlink, times, inside, owner.st_uid

    def leaves_nothing(self) -> bool:
        """Whether all it made is gone, but what is kept for good."""
        kept = {self.layout.root / name for name in ("datasets", "runs", "trials")}
        there = [path for folder in kept if folder.is_dir() for path in folder.iterdir()]
        return not [path for path in there if path.suffix != ".lock" and not is_kept(path)]


def is_kept(path: Path) -> bool:
    """Whether it is a dataset, which no server can change."""
    places = [path, path / "data", *(path / "data").rglob("*")]
    return path.parent.name == "datasets" and {place.lstat().st_uid for place in places} == {0}


@pytest.fixture
def hostile(mariadb_binary: ServerBinary, server_tmp: Path) -> Iterator[Hostile]:
    compiler = shutil.which("cc")
    if compiler is None:
        raise RuntimeError("no C compiler to build the hostile server with: run `make test`")
    base = mariadb_binary.basedir or Path("/usr")
    home = server_tmp / "sbin"
    home.mkdir()
    for name in ("share", "lib"):
        (server_tmp / name).symlink_to(base / name)
    program = home / "mariadbd"
    subprocess.run([compiler, "-O1", "-w", "-o", program, SOURCE], check=True)
    (home / "real").symlink_to(mariadb_binary.path)
    (home / "precious").mkdir()
    (home / "precious" / "file").write_text(TOKEN)
    secret = home / "secret"
    secret.write_text(TOKEN)
    secret.chmod(0o600)
    os.utime(secret, (LONG_AGO, LONG_AGO))  # whoever reads it now changes that
    (home / "plan").write_text("play")
    device = server_tmp / "device"
    device.mkdir()
    for folder in (home, device, server_tmp):
        folder.chmod(0o755)
    try:
        yield Hostile(identify(program), home, device)
    finally:
        (home / "stop").touch()
        time.sleep(0.5)
        # What a failure leaves is too deep for shutil.
        subprocess.run(["rm", "-rf", device, device.parent / "logs"], check=False)


def shown(error: BenchmarkError) -> str:
    return f"{error} {error.log_tail}"


@pytest.mark.parametrize("plan", ["die", "beside"])
def test_a_trial_start(hostile: Hostile, plan: str) -> None:
    """Checking a config, starting with it; then making a data directory, which is refused."""
    before = hostile.facts()
    hostile.plan("play")
    pristine = initialized_data_dir(hostile.binary, hostile.layout.root)
    hostile.plan(plan)

    def attempt() -> str:
        try:
            return repr(
                try_config(
                    hostile.binary,
                    {},
                    pristine=pristine,
                    work_dir=hostile.layout.trials_dir,
                )
            )
        except RunFailed as failure:
            return shown(failure)

    said = attempt()
    assert ("I planted links" in said) == (plan == "die")
    shutil.rmtree(pristine.parent)
    with pytest.raises((RunFailed, LoadFailed)) as failed:
        initialized_data_dir(hostile.binary, hostile.layout.root)
    assert TOKEN not in said + shown(failed.value)
    assert hostile.facts() == before
    assert hostile.leaves_nothing()


@pytest.mark.slow
def test_a_run(
    hostile: Hostile,
    mariadb_binary: ServerBinary,
    golden_dataset: Callable[[ServerBinary], Dataset],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From the clone to its end, with a server that measures well meanwhile."""
    golden = golden_dataset(mariadb_binary)  # the real server's, which it plays
    monkeypatch.setattr("benchmarks.measurement.measure.find_dataset", lambda *_: golden)
    before = hostile.facts()
    hostile.plan("running")
    log_device = hostile.device.parent / "logs"
    for device in (hostile.device, log_device):
        (device / FOLDER).mkdir(parents=True)
    plan = Plan(
        name="run-1",
        binary=hostile.binary,
        driver=find_driver("sysbench"),
        load=Load(tpcc(1), 2, warmup_s=1, measure_s=2, seed=1),
        source=tpcc_source(1),
        options={},
        layout=DeviceLayout(hostile.device, log_device),
        limits=NOTHING,
    )
    planted: set[str] = set()

    def watch(_: str) -> None:
        run = plan.layout.run_dir(plan.name)
        for pattern in ("*", "own/*", "data/*", "driver/driver-*/*"):
            links = [path for path in run.glob(pattern) if path.is_symlink()]
            planted.update(f"{path.relative_to(run).parts[0]}/{path.name}" for path in links)

    def go_on() -> bool:
        watch("")  # the driver is at work for a moment only
        return False

    found = measure(plan, report=watch, should_stop=go_on)
    assert found.metrics is not None
    assert found.metrics.completed > 0
    assert {"own/error.log", "data/evil.ibd", "data/folder", "driver/console.log"} <= planted
    assert {name.partition("/")[0] for name in planted} == {"own", "data", "driver"}
    assert TOKEN not in repr(found)
    assert hostile.facts() == before
    assert hostile.leaves_nothing()
    assert not list((log_device / FOLDER / "runs").iterdir())
