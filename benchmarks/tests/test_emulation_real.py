"""The limits as this kernel keeps them. Skipped, with the reason, where it offers no cgroups."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.emulation.device import (
    CgroupLimits,
    emulated_device,
    why_unavailable,
)
from benchmarks.emulation.groups import Disk, sweep_cgroups
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.errors import EmulationUnavailable, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership import forget_cached
from benchmarks.processes.orphans import find_by_argument
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.running import defaults_argument, running_server
from benchmarks.tests.quick import QUICK

pytestmark = pytest.mark.slow
# For those that look at speed, at the page cache or at what another worker would sweep.
alone = pytest.mark.alone

ROOT = Path(__file__).resolve().parents[2]
FreshDataDir = Callable[[ServerBinary], Path]

IOPS = 200
HDD = EmulationProfile("hdd", read_iops=IOPS, write_iops=IOPS)
MEMORY = EmulationProfile("small", memory_bytes=128 * 1024 * 1024)

# Requests of 16 KiB past the page cache for some seconds; prints how many per second.
DIRECT_IO = """
import mmap, os, random, sys, time
path, way, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
file = os.open(path, os.O_RDWR | os.O_DIRECT)
block = mmap.mmap(-1, 16384)
blocks = os.fstat(file).st_size // 16384
count, start = 0, time.monotonic()
while (spent := time.monotonic() - start) < seconds:
    at = random.randrange(blocks) * 16384
    os.preadv(file, [block], at) if way == "read" else os.pwritev(file, [block], at)
    count += 1
    print(count / spent if spent else 0, flush=True) if way == "watch" else None
print(count / spent)
"""

# Touches memory or, through the page cache, a file, 1 MiB at a time.
HOG = """
import sys
kept = []
if sys.argv[1] == "memory":
    for _ in range(512):
        kept.append(bytearray(b"x" * 2**20))
else:
    with open(sys.argv[1], "rb") as file:
        while file.read(2**20):
            pass
"""


@pytest.fixture(autouse=True)
def needs_cgroups(server_tmp: Path) -> None:
    reason = why_unavailable(replace(HDD, memory_bytes=MEMORY.memory_bytes), [server_tmp])
    if reason:
        pytest.skip(f"no emulated devices here: {reason}")


@pytest.fixture
def data_file(needs_cgroups: None, server_session_tmp: Path) -> Path:
    """A file that all tests read and write over: what is in it does not matter."""
    path = server_session_tmp / "limited" / "file"
    if not path.exists():
        path.parent.mkdir()
        with path.open("wb") as file:
            for _ in range(192):
                file.write(os.urandom(2**20))
            os.fsync(file.fileno())
    return path


def run_inside(limits: CgroupLimits, *words: str) -> subprocess.CompletedProcess[str]:
    command = [*limits.entry_words, sys.executable, "-c", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def iops(limits: CgroupLimits, path: Path, way: str, seconds: float = 3.0) -> float:
    done = run_inside(limits, DIRECT_IO, str(path), way, str(seconds))
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def cached_bytes(path: Path) -> int:
    """How much of a file is in the page cache, by mincore(2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        pages = -(-len(mapped) // mmap.PAGESIZE)
        resident = (ctypes.c_ubyte * pages)()
        handle = ctypes.c_char.from_buffer(mapped)
        start = ctypes.c_void_p(ctypes.addressof(handle))
        assert libc.mincore(start, ctypes.c_size_t(len(mapped)), resident) == 0
        del handle
    return sum(flag & 1 for flag in resident) * mmap.PAGESIZE


@alone
@pytest.mark.parametrize("way", ["read", "write"])
def test_requests_inside_are_held_back_and_those_outside_are_not(
    data_file: Path, way: str
) -> None:
    with emulated_device(HDD, [data_file], run=mine("test")) as limits:
        assert limits is not None
        assert iops(limits, data_file, way) == pytest.approx(IOPS, rel=0.15)
        outside = subprocess.run(
            [sys.executable, "-c", DIRECT_IO, data_file, way, "1"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert float(outside.stdout) > 2 * IOPS
        limits.lift()
        assert iops(limits, data_file, way, 1.0) > 2 * IOPS


@alone
def test_bytes_per_second_are_held_back_too(data_file: Path) -> None:
    slow = EmulationProfile("slow", read_mb_s=8)
    with emulated_device(slow, [data_file], run=mine("test")) as limits:
        assert limits is not None
        assert iops(limits, data_file, "read") * 16384 == pytest.approx(8e6, rel=0.15)
        assert iops(limits, data_file, "write", 1.0) * 16384 > 16e6


SECTORS = 256 * 2**20 // 512


@pytest.fixture
def partition(server_tmp: Path) -> Iterator[Path]:
    """A file system on the first partition of a loop device."""
    image, place = server_tmp / "image", server_tmp / "mounted"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(SECTORS * 512)

    def tool(*words: str) -> str:
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            reason = getattr(error, "stderr", "") or error
            pytest.skip(f"no partition can be made here: {words[0]}: {reason}")
        return done.stdout.strip()

    with ExitStack() as stack:
        loop = tool("losetup", "--find", "--show", str(image))
        stack.callback(tool, "losetup", "--detach", loop)
        # Told to the kernel without a table on the disk: not every kernel reads one.
        tool("addpart", loop, "1", "2048", str(SECTORS - 2048))
        stack.callback(tool, "delpart", loop, "1")
        number = (Path("/sys/class/block") / f"{Path(loop).name}p1" / "dev").read_text().strip()
        node = server_tmp / "node"  # without udev nobody makes one in /dev
        os.mknod(node, 0o600 | 0o060000, os.makedev(*map(int, number.split(":"))))
        tool("mkfs.ext4", "-q", "-F", str(node))
        tool("mount", str(node), str(place))
        stack.callback(tool, "umount", str(place))
        yield place


@alone
def test_a_partition_is_held_back_at_its_disk(partition: Path) -> None:
    path = partition / "file"
    path.write_bytes(os.urandom(32 * 2**20))
    with emulated_device(HDD, [partition], run=mine("test")) as limits:
        assert limits is not None
        assert re.fullmatch(r"emulated HDD \(.*\) on loop\d+", limits.label)
        assert iops(limits, path, "read") == pytest.approx(IOPS, rel=0.15)


@alone
def test_the_page_cache_counts_and_stays_within_the_limit(data_file: Path) -> None:
    forget_cached(data_file.parent)
    assert cached_bytes(data_file) == 0
    with emulated_device(MEMORY, [], run=mine("test")) as limits:
        assert limits is not None
        assert run_inside(limits, HOG, str(data_file)).returncode == 0
        assert limits.oom_kills() == 0
        assert 0 < cached_bytes(data_file) <= (MEMORY.memory_bytes or 0)
    forget_cached(data_file.parent)
    data_file.read_bytes()  # outside the limit more of it stays, unless the host itself is short
    assert cached_bytes(data_file) > (MEMORY.memory_bytes or 0)


def test_a_process_that_needs_more_memory_is_killed_and_counted() -> None:
    with emulated_device(MEMORY, [], run=mine("test")) as limits:
        assert limits is not None
        assert run_inside(limits, HOG, "memory").returncode == -signal.SIGKILL
        assert limits.oom_kills() == 1


def test_a_limit_the_kernel_refuses_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "benchmarks.emulation.device.disks_behind", lambda _: (Disk("gone", "259:999"),)
    )
    with (
        pytest.raises(EmulationUnavailable, match="the kernel refused a limit on gone"),
        emulated_device(HDD, [Path("/")], run=mine("refused")),
    ):
        pytest.fail("it must not begin")
    assert groups_of("refused") == []


def test_whatever_is_left_inside_ends_with_the_block(server_tmp: Path) -> None:
    with emulated_device(HDD, [server_tmp], run=mine("left")) as limits:
        assert limits is not None
        sleeper = subprocess.Popen([*limits.entry_words, "sleep", "60"])
        wait_until(lambda: limits.holds(sleeper.pid))
        assert len(groups_of("left")) >= 1
    assert sleeper.wait(5) == -signal.SIGKILL
    assert groups_of("left") == []


def test_emulation_is_unavailable_without_root(server_tmp: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user to try this")
    script = (
        "from benchmarks.emulation.device import why_unavailable\n"
        "from benchmarks.emulation.profile import EmulationProfile\n"
        "from pathlib import Path\n"
        f"print(why_unavailable(EmulationProfile('a', read_iops=9), [Path({str(server_tmp)!r})]))"
    )
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "this user cannot write in" in done.stdout
    assert "root" in done.stdout


# For a real server: MySQL 9.7 takes some 530 MB with its performance schema.
SERVER = replace(HDD, read_iops=400, write_iops=400, memory_bytes=900_000_000)


@pytest.mark.server
def test_the_server_is_inside_with_every_thread_and_finds_its_files_cold(
    any_server: ServerBinary, fresh_data_dir: FreshDataDir, server_tmp: Path
) -> None:
    data_dir = fresh_data_dir(any_server)
    system = next(data_dir.glob("ibdata1"))
    assert cached_bytes(system) == system.stat().st_size
    with (
        emulated_device(SERVER, [data_dir], run=mine("server")) as limits,
        running_server(
            any_server,
            data_dir=data_dir,
            run_dir=server_tmp / "run",
            options={
                **QUICK,
                "innodb_buffer_pool_size": "32M",
                "innodb_flush_method": "O_DIRECT",
            },
            resource_limits=limits,
        ) as server,
    ):
        assert limits is not None
        names = [group.directory.name for group in limits.groups]
        threads = list(Path(f"/proc/{server.pid}/task").iterdir())
        assert len(threads) > 10
        for thread in threads:
            inside = (thread / "cgroup").read_text()
            assert all(name in inside for name in names)
        ours = Path("/proc/self/cgroup").read_text()
        assert not any(name in ours for name in names)
        uid = int(re.findall(r"^Uid:\s+(\d+)", status(server.pid), re.M)[0])
        assert uid != 0
        # Made cold, and then read past the cache but for the first pages, which MySQL peeks at.
        assert cached_bytes(system) < system.stat().st_size / 20
        assert server.status()["Innodb_data_reads"] > 0
    assert groups_of("server") == []


def status(pid: int) -> str:
    return Path(f"/proc/{pid}/status").read_text()


@pytest.mark.server
def test_a_server_too_large_for_the_limit_is_out_of_memory(
    mysql_binary: ServerBinary, fresh_data_dir: FreshDataDir, server_tmp: Path
) -> None:
    with (
        pytest.raises(RunFailed, match=r"limit of emulated small \(134 MB memory\)") as failure,
        emulated_device(MEMORY, [], run=mine("large")) as limits,
        running_server(
            mysql_binary,
            data_dir=fresh_data_dir(mysql_binary),
            run_dir=server_tmp / "run",
            options={},
            resource_limits=limits,
        ),
    ):
        pytest.fail("it cannot start in so little memory")
    assert failure.value.outcome is Outcome.OUT_OF_MEMORY
    assert groups_of("large") == []


@pytest.mark.server
def test_a_server_that_cannot_go_in_does_not_run_outside(
    mariadb_binary: ServerBinary, fresh_data_dir: FreshDataDir, server_tmp: Path
) -> None:
    with emulated_device(HDD, [server_tmp], run=mine("shut")) as limits:
        assert limits is not None
        for group in limits.groups:
            group.directory.rmdir()
        with (
            pytest.raises(EmulationUnavailable, match="cannot be put into the cgroup"),
            running_server(
                mariadb_binary,
                data_dir=fresh_data_dir(mariadb_binary),
                run_dir=server_tmp / "run",
                options={},
                resource_limits=limits,
            ),
        ):
            pytest.fail("it runs without its limits")


WORKER = """
import os, sys, time
from pathlib import Path
from benchmarks.emulation.device import emulated_device
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.servers.binary import identify
from benchmarks.servers.running import running_server

folder = Path(sys.argv[2])
profile = EmulationProfile("hdd", read_iops=400, write_iops=400, memory_bytes=900_000_000)
with (
    emulated_device(profile, [folder], run=f"killed-{os.getpid()}") as limits,
    running_server(
        identify(Path(sys.argv[1])), data_dir=folder / "data", run_dir=folder / "run",
        options={}, resource_limits=limits,
    ) as server,
):
    print(server.pid, flush=True)
    time.sleep(300)
"""


@alone
@pytest.mark.server
def test_nothing_is_left_of_a_killed_worker(
    mariadb_binary: ServerBinary, fresh_data_dir: FreshDataDir, server_tmp: Path
) -> None:
    fresh_data_dir(mariadb_binary)
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, mariadb_binary.path, server_tmp],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as worker:
        try:
            assert worker.stdout is not None
            pid = int(worker.stdout.readline())
            left = groups_of("killed", owner=worker.pid)
            assert left
            sweep_cgroups()
            assert groups_of("killed", owner=worker.pid) == left  # it lives
            assert any(str(pid) in (group / "cgroup.procs").read_text().split() for group in left)
        finally:
            worker.kill()
    assert set(sweep_cgroups()) >= set(left)
    assert groups_of("killed", owner=worker.pid) == []
    assert find_by_argument({defaults_argument(server_tmp / "run")}) == []


def mine(run: str, owner: int | None = None) -> str:
    """A run's name that no other process has: the same test may run beside it."""
    return f"{run}-{owner or os.getpid()}"


def groups_of(run: str, owner: int | None = None) -> list[Path]:
    """The cgroups of a run of this process or `owner`, wherever they are mounted."""
    pattern = f"oltp-advisor-{mine(run, owner)}.*/"
    found: list[Path] = []
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, _ = line.split(" ", 3)
        if kind in ("cgroup", "cgroup2"):
            found += Path(place).rglob(pattern)
    return sorted(path for path in found if path.is_dir())


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, os.strerror(errno.ETIMEDOUT)
        time.sleep(0.01)
