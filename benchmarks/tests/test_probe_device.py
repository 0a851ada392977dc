"""A probe with the real fio: what it finds, and that nothing of it stays behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from benchmarks.emulation.device import NOT_ENTERED, CgroupLimits
from benchmarks.errors import DeviceUnusable, EmulationUnavailable, NoFio, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.probe import run
from benchmarks.probe.fio import Fio
from benchmarks.probe.jobs import Job, Pattern, Purpose, plan_jobs
from benchmarks.probe.result import ProbeResult, suggested_io_capacity
from benchmarks.probe.run import MAX_FILE, MIB, MIN_FILE, file_size, probe_device, probe_file
from benchmarks.storage.identify import identify_device
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.kinds import DeviceKind
from benchmarks.storage.layout import FOLDER

pytestmark = pytest.mark.slow

if shutil.which("fio") is None:  # an error, not a skip, as with an absent server
    raise RuntimeError("fio is not installed: run `make setup`")

#: So short that each job gets its tenth of a second.
SECONDS = 2.0

# Probes a path for a minute and says each job as it begins.
PROBE = """
import sys
from pathlib import Path
from benchmarks.probe.run import probe_device
from benchmarks.storage.identify import identify_device
device = identify_device(Path(sys.argv[1]))
probe_device(device, seconds=60, progress=lambda _, job: print(job, flush=True))
"""


@pytest.fixture(autouse=True)
def little_is_enough(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job of a tenth of a second writes little to a disk that other tests use as well."""
    if request.node.get_closest_marker("alone") is None:
        monkeypatch.setattr(run, "_MIN_USEFUL", MIB)


def probe(place: Path, **more: Any) -> ProbeResult:
    return probe_device(identify_device(place), **more)


def files_below(place: Path) -> list[Path]:
    return [path for path in place.rglob("*") if not path.is_dir()]


def fio_processes(place: Path) -> list[psutil.Process]:
    """The fio's that run in a folder below `place`."""
    found = []
    for process in psutil.process_iter(["name"]):
        try:
            if process.name() == "fio" and Path(process.cwd()).is_relative_to(place):
                found.append(process)
        except psutil.Error:
            continue
    return found


def has_ended(process: psutil.Process) -> bool:
    """Whether it has; it may still wait to be reaped by whoever adopted it."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.alone  # looks at how much is written in its short jobs
def test_a_probe_measures_and_leaves_nothing(tmp_path: Path) -> None:
    heard: list[tuple[float, str]] = []
    inside: list[list[Path]] = []

    def listen(fraction: float, job: str) -> None:
        heard.append((fraction, job))
        inside.append(files_below(tmp_path))

    result = probe(tmp_path, seconds=SECONDS, progress=listen)
    assert [r.job.name for r in result.jobs] == [
        job.name for job in plan_jobs(SECONDS, direct=result.direct)
    ]
    assert all(r.iops > 0 and r.latency.p99 >= r.latency.p50 > 0 for r in result.jobs)
    assert result.device.block_device == identify_device(tmp_path).block_device
    assert 16 * MIB <= result.file_bytes <= MAX_FILE
    commit = result.commit()
    assert commit is not None
    assert commit.flush is not None
    assert commit.flush.mean > 0
    for r in result.jobs:
        assert (r.split is None) == bool(r.split_missing)
    low, high = suggested_io_capacity(result)
    assert 100 <= low < high
    # while it runs its file has no name, afterwards its folder is gone
    assert not any(inside)
    assert list((tmp_path / FOLDER).iterdir()) == []
    fractions, names = zip(*heard, strict=True)
    assert (fractions[0], *sorted(fractions), 1.0) == (0.0, *fractions, fractions[-1])
    assert names == (*(r.job.name for r in result.jobs), "")


def test_without_direct_io_it_says_so_and_measures_buffered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "supports_direct_io", lambda _: False)
    monkeypatch.setattr(run, "plan_jobs", lambda *_, direct: plan_jobs(2, direct=direct)[:4])
    result = probe(tmp_path, seconds=SECONDS)
    assert not result.direct
    assert "does not support direct I/O" in result.direct_missing
    assert {r.engine for r in result.jobs} == {"psync"}
    assert not any(r.job.direct for r in result.jobs)
    assert result.direct_missing in result.notes[0]


def test_engines_that_do_not_work_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "ENGINES", ("no-such-engine", "psync"))
    monkeypatch.setattr(run, "plan_jobs", lambda *_, direct: plan_jobs(2, direct=direct)[:3])
    result = probe(tmp_path, seconds=SECONDS)
    assert result.engine == "psync"
    assert {r.engine for r in result.jobs} == {"psync"}
    monkeypatch.setattr(run, "ENGINES", ("no-such-engine",))
    assert "failed with each" in probe(tmp_path, seconds=SECONDS).direct_missing


def test_a_cancelled_probe_ends_soon_and_leaves_nothing(tmp_path: Path) -> None:
    jobs: list[str] = []
    with pytest.raises(RunFailed) as caught:
        probe(
            tmp_path,
            seconds=60,
            progress=lambda _, job: jobs.append(job),
            should_stop=lambda: len(jobs) >= 2,
        )
    assert caught.value.outcome is Outcome.CANCELLED
    assert len(jobs) == 2
    assert list((tmp_path / FOLDER).iterdir()) == []
    assert fio_processes(tmp_path) == []


@pytest.fixture
def running_probe(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A probe in a process of its own, in its second job."""
    with subprocess.Popen(
        [sys.executable, "-c", PROBE, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert all(process.stdout.readline() for _ in range(2))
        yield process
        process.kill()


@pytest.mark.alone  # looks at when fio ends
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_probe_killed_half_way_leaves_no_file_and_no_fio(
    running_probe: subprocess.Popen[str], tmp_path: Path, number: signal.Signals
) -> None:
    deadline = time.monotonic() + 10
    while not (workers := fio_processes(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert workers, "fio was not seen running: the test would prove nothing"
    running_probe.send_signal(number)
    assert running_probe.wait(10) == -number
    # by itself it would go on for its whole job, near three seconds
    deadline = time.monotonic() + 1.5
    while not all(has_ended(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [worker for worker in workers if not has_ended(worker)] == []
    assert files_below(tmp_path) == []
    # an empty folder is all that stays, until the next probe
    assert len(list((tmp_path / FOLDER).iterdir())) == 1
    with probe_file(tmp_path) as (folder, _):
        assert list((tmp_path / FOLDER).iterdir()) == [folder]


def test_a_probe_deletes_the_folders_of_dead_probes(tmp_path: Path) -> None:
    root = tmp_path / FOLDER
    for name in ("probe-0123", "datasets", "runs"):
        (root / name).mkdir(parents=True)
    (root / "probe-0123" / "left.state").touch()
    with probe_file(tmp_path) as (folder, _):
        assert {path.name for path in root.iterdir()} == {"datasets", "runs", folder.name}
    assert {path.name for path in root.iterdir()} == {"datasets", "runs"}


def test_two_probes_of_one_process_do_not_share_a_folder(tmp_path: Path) -> None:
    with probe_file(tmp_path) as (one, file), probe_file(tmp_path) as (other, _):
        assert one != other
        assert one.is_dir()
        os.pwrite(file.fileno(), b"x", 0)
        assert files_below(tmp_path) == [], "it has no name"


def identity(free_bytes: int, kind: DeviceKind = DeviceKind.NVME) -> DeviceIdentity:
    return DeviceIdentity(Path("/d"), kind, None, "", "", "", "", 2 * free_bytes, free_bytes)


def test_the_file_leaves_room_on_the_device() -> None:
    assert file_size(identity(10**12)) == MAX_FILE
    assert file_size(identity(1024 * MIB)) == 256 * MIB
    with pytest.raises(DeviceUnusable, match=r"52.4 MB, 67.1 MB are needed"):
        file_size(identity(200 * MIB))


def test_on_tmpfs_the_file_leaves_room_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = psutil.virtual_memory()._replace(available=2048 * MIB)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    tmpfs = identity(10**12, DeviceKind.TMPFS)
    assert file_size(tmpfs) == 128 * MIB
    assert file_size(tmpfs.corrected(DeviceKind.NVME)) == 128 * MIB
    assert file_size(identity(10**12)) == MAX_FILE
    assert MIN_FILE < 128 * MIB


#: For `unshare`: tracefs where the tracer looks for it, in a mount namespace that is left again.
TRACED = """
mount --make-rprivate / && mount -t tracefs tracefs /sys/kernel/tracing || exit 97
test -d /sys/kernel/tracing/events/block/block_rq_issue || exit 97
exec "$0" "$@"
"""
TRACE = """
import sys
from pathlib import Path
from benchmarks.probe import run
from benchmarks.probe.jobs import Purpose, plan_jobs
from benchmarks.storage.identify import identify_device
wanted = (Purpose.FILL, Purpose.LOW_LOAD)
run.plan_jobs = lambda *_, direct: [j for j in plan_jobs(30, direct=direct) if j.purpose in wanted]
result = run.probe_device(identify_device(Path(sys.argv[1])))
print(result.tracing_missing)
for r in result.jobs[1:]:
    print(r.split.source, r.split.device_us, r.latency.mean)
print([p.name for p in Path("/sys/kernel/tracing/instances").iterdir()])
"""


@pytest.mark.alone  # the tracepoints are the whole kernel's
def test_the_kernels_tracepoints_show_the_devices_share(tmp_path: Path) -> None:
    if identify_device(tmp_path).block_device is None or os.geteuid() != 0:
        pytest.skip("takes root and a block device")
    ran = subprocess.run(
        ["unshare", "--mount", "sh", "-c", TRACED, sys.executable, "-c", TRACE, tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode == 97:
        pytest.skip(f"no block tracepoints here: {ran.stderr.strip()}")
    assert ran.returncode == 0, ran.stderr
    missing, *jobs, instances = ran.stdout.splitlines()
    assert missing == ""
    assert len(jobs) == 2
    for line in jobs:
        source, device_us, latency_us = line.split()
        assert source == "tracepoints"
        assert 0 < float(device_us) < float(latency_us)
    assert instances == "[]"


class WrittenDown:
    """Limits that let a command in or do not, and write down that it came by."""

    label = "emulated hdd (200 IOPS read) on vda"

    def __init__(self, log: Path, status: int = 0) -> None:
        script = f'echo in >> "{log}"; [ {status} = 0 ] || exit {status}; exec "$@"'
        self.entry_words = ["/bin/sh", "-c", script, "resource_limits"]


def test_an_emulated_device_is_probed_inside_its_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "plan_jobs", lambda *_, direct: plan_jobs(2, direct=direct)[:2])
    log = tmp_path / "entered"
    result = probe_device(
        identify_device(tmp_path),
        seconds=SECONDS,
        resource_limits=cast(CgroupLimits, WrittenDown(log)),
    )
    assert result.emulated == WrittenDown.label
    assert len(log.read_text().split()) == 3  # the trial and two jobs
    assert probe(tmp_path, seconds=SECONDS).emulated == ""
    with pytest.raises(EmulationUnavailable):
        probe_device(
            identify_device(tmp_path),
            seconds=SECONDS,
            resource_limits=cast(CgroupLimits, WrittenDown(log, NOT_ENTERED)),
        )


FULL = "echo 'fio: io_u error on file /dev/fd/9: No space left on device' >&2; exit 1"


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        (FULL, Outcome.DISK_FULL),
        ("kill -KILL $$", Outcome.LOST),
        ("kill -TERM $$", Outcome.LOST),
        ("sleep 60", Outcome.TIMED_OUT),
    ],
)
def test_each_end_of_fio_has_its_outcome(
    tmp_path: Path, server_tmp: Path, script: str, outcome: Outcome
) -> None:
    program = server_tmp / "fio"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    job = Job(Purpose.FILL, Pattern.SEQUENTIAL_WRITE, MIB)
    patience_s = 1 if outcome is Outcome.TIMED_OUT else 10
    with probe_file(tmp_path) as (folder, file):
        fio = Fio(program, folder, file, time.monotonic() + patience_s, lambda: False)
        with pytest.raises(RunFailed) as caught:
            fio.run(job, "psync", MIB)
    assert caught.value.outcome is outcome


def test_an_absent_fio_is_found_out_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoFio, match="apt install fio"):
        probe(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_to_is_refused() -> None:
    with pytest.raises(DeviceUnusable):
        probe(Path("/proc/self"))


def test_the_users_kind_is_in_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "plan_jobs", lambda *_, direct: plan_jobs(2, direct=direct)[:1])
    result = probe_device(identify_device(tmp_path).corrected(DeviceKind.HDD), seconds=SECONDS)
    assert result.device.kind is DeviceKind.HDD
    assert result.device.discovered_kind is identify_device(tmp_path).kind
    assert "heads move less" in result.notes[0]
    assert replace(result, seconds=1.0).device is result.device
