"""Which cgroup is made where and with what in it, on made-up trees of both versions."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.emulation import device, groups
from benchmarks.emulation.device import emulated_device, why_unavailable
from benchmarks.emulation.groups import PREFIX, Disk, Group, disks_behind, sweep_cgroups
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.errors import EmulationUnavailable
from benchmarks.host import cgroups
from benchmarks.ownership import hold

HDD = EmulationProfile("hdd", read_iops=200, write_iops=100, memory_bytes=420_000_000)
DATA = Path("/data")

V1_FILES = {
    "blkio": [f"blkio.throttle.{way}_{unit}_device" for way in ("read", "write")
              for unit in ("iops", "bps")],
    "memory": ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.oom_control"],
}  # fmt: skip
V2_FILES = ["io.max", "memory.max", "memory.swap.max", "memory.events", "cgroup.subtree_control"]


class Kernel:
    """Answers mkdir and rmdir below its folder as cgroupfs does, and keeps what was there."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.last: dict[str, str] = {}  # by name, the files of groups that are gone
        self._mkdir, self._rmdir = os.mkdir, os.rmdir
        monkeypatch.setattr(os, "mkdir", self.mkdir)
        monkeypatch.setattr(os, "rmdir", self.rmdir)

    def mkdir(self, path: str | Path, mode: int = 0o777) -> None:
        self._mkdir(path, mode)
        if Path(path).name.startswith("oltp-advisor-"):
            tree = Path(path).relative_to(self.root).parts[0]
            for name in (*V1_FILES.get(tree, V2_FILES), "cgroup.procs"):
                Path(path, name).touch()

    def rmdir(self, path: str | Path) -> None:
        if Path(path).name.startswith("oltp-advisor-"):
            for file in Path(path).iterdir():
                self.last[file.name] = file.read_text()
                file.unlink()
        self._rmdir(path)

    def groups(self) -> list[Path]:
        return sorted(self.root.rglob("oltp-advisor-*"))


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    monkeypatch.setattr(cgroups, "PROC", tmp_path / "proc")
    monkeypatch.setattr(device, "disks_behind", lambda _: (Disk("vda", "254:0"),))
    monkeypatch.delenv("ADVISOR_CGROUP", raising=False)
    (tmp_path / "proc" / "self").mkdir(parents=True)
    with monkeypatch.context() as patch:  # which ends before pytest deletes the folder
        yield Kernel(tmp_path / "cgroup", patch)


def show(kernel: Kernel, mounts: dict[str, str], own: list[str]) -> None:
    """Mount trees (name -> type and options) and put this process somewhere."""
    proc = cgroups.PROC / "self"
    lines = ["23 1 254:1 / / rw,relatime - ext4 /dev/vda rw"]
    for name, what in mounts.items():
        kind, options = what.split(" ")
        lines.append(f"31 23 0:26 / {kernel.root / name} rw,nosuid - {kind} none {options}")
    (proc / "mountinfo").write_text("\n".join(lines) + "\n")
    (proc / "cgroup").write_text("\n".join(own) + "\n")


@pytest.fixture
def v1(kernel: Kernel) -> Kernel:
    """As on a host with two v1 trees, and a v2 tree that has neither controller."""
    for folder in ("blkio", "memory/jobs/7", "unified"):
        (kernel.root / folder).mkdir(parents=True)
    (kernel.root / "unified/cgroup.controllers").write_text("hugetlb\n")
    show(
        kernel,
        {"unified": "cgroup2 rw", "memory": "cgroup rw,memory", "blkio": "cgroup rw,blkio"},
        ["4:memory:/jobs/7", "7:blkio:/", "0::/"],
    )
    return kernel


def v2_group(kernel: Kernel, path: str, controllers: str, handed_on: str) -> Path:
    folder = kernel.root / "v2" / path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.controllers").write_text(f"{controllers}\n")
    (folder / "cgroup.subtree_control").write_text(f"{handed_on}\n")
    return folder


@pytest.fixture
def v2(kernel: Kernel) -> Kernel:
    """As with systemd's delegation: unit/worker is ours, unit may pass controllers on."""
    v2_group(kernel, "", "cpuset cpu io memory pids", "cpu memory pids")
    v2_group(kernel, "unit", "cpu io memory", "io memory")
    v2_group(kernel, "unit/worker", "io memory", "")
    show(kernel, {"v2": "cgroup2 rw,nsdelegate"}, ["0::/unit/worker"])
    return kernel


def texts(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text().strip() for file in folder.iterdir()}


def test_v1_gets_a_group_in_both_trees_below_our_own(v1: Kernel) -> None:
    with emulated_device(HDD, [DATA], run="run-42") as limits:
        assert limits is not None
        blkio, memory = v1.groups()
        assert blkio.parent == v1.root / "blkio"
        assert memory.parent == v1.root / "memory/jobs/7"
        assert blkio.name.startswith("oltp-advisor-run-42.")
        found = texts(blkio)
        assert found["blkio.throttle.read_iops_device"] == "254:0 200"
        assert found["blkio.throttle.write_iops_device"] == "254:0 100"
        assert found["blkio.throttle.read_bps_device"] == ""
        found = texts(memory)
        assert found["memory.limit_in_bytes"] == "420000000"
        assert found["memory.memsw.limit_in_bytes"] == "420000000"
        assert limits.label == (
            "emulated HDD (200 IOPS read, 100 IOPS write, 420 MB memory) on vda"
        )
        assert {str(blkio / "cgroup.procs"), str(memory / "cgroup.procs")} <= set(
            limits.entry_words
        )
    assert v1.groups() == []
    assert v1.last["blkio.throttle.read_iops_device"] == "254:0 0"  # lifted before the end


def test_v2_gets_one_group_where_the_controllers_are_handed_on(v2: Kernel) -> None:
    profile = EmulationProfile("x", read_iops=200, write_mb_s=50, memory_bytes=420_000_000)
    with emulated_device(profile, [DATA], run="run-1"):
        (group,) = v2.groups()
        assert group.parent == v2.root / "v2/unit"
        found = texts(group)
        assert found["io.max"] == "254:0 rbps=max wbps=50000000 riops=200 wiops=max"
        assert found["memory.max"] == "420000000"
        assert found["memory.swap.max"] == "0"
    assert v2.groups() == []
    assert v2.last["io.max"] == "254:0 rbps=max wbps=max riops=max wiops=max"


def test_only_what_is_limited_is_asked_for(v2: Kernel) -> None:
    memory = EmulationProfile("memory", memory_bytes=420_000_000)
    v2_group(v2, "unit", "cpu io memory", "memory")
    with emulated_device(memory, [], run="a") as limits:
        assert limits is not None
        assert limits.label == "emulated memory (420 MB memory)"
        assert texts(v2.groups()[0])["io.max"] == ""


def test_no_profile_is_the_device_as_it_is(v1: Kernel) -> None:
    with emulated_device(None, [DATA], run="a") as limits:
        assert limits is None
        assert v1.groups() == []


def test_v2_controllers_are_switched_on_where_that_is_allowed(v2: Kernel) -> None:
    unit = v2_group(v2, "unit", "cpu io memory", "")
    control = unit / "cgroup.subtree_control"
    write = Path.write_text

    def kernel_write(path: Path, text: str) -> int:
        if path.name == "cgroup.subtree_control":
            if "worker" in str(path):
                raise OSError(errno.EBUSY, "Device or resource busy")
            text = text.replace("+", "")
        return write(path, text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "write_text", kernel_write)
        with emulated_device(HDD, [DATA], run="a"):
            assert v2.groups()[0].parent == unit
            assert control.read_text() == "io memory"


def test_v2_without_delegation_is_refused_with_what_stood_in_the_way(v2: Kernel) -> None:
    v2_group(v2, "unit", "cpu memory", "memory")
    v2_group(v2, "unit/worker", "memory", "")
    v2_group(v2, "", "cpu memory", "memory")
    with (
        pytest.raises(EmulationUnavailable, match=r"neither io of cgroup v2 nor blkio of v1"),
        emulated_device(HDD, [DATA], run="a"),
    ):
        pytest.fail("it must not begin")
    v2_group(v2, "", "cpu io memory", "memory")
    reason = why_unavailable(HDD, [DATA])
    assert "unit/worker: it does not have all of these controllers" in reason
    assert "did not take them" in reason  # the fake root takes no controllers
    assert "delegated cgroup" in reason
    assert v2.groups() == []


def test_what_stands_in_the_way_is_the_reason(v1: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object, **__: object) -> None:
        raise TimeoutError("true did not end in 10 s")

    with monkeypatch.context() as patch:
        patch.setattr(device, "run", late)  # the host stands still
        assert why_unavailable(HDD, [DATA]) == "true did not end in 10 s"
        patch.setattr(os, "access", lambda *_: False)
        assert "this user cannot write in" in why_unavailable(HDD, [DATA])
        show(v1, {}, [])
        assert why_unavailable(HDD, [DATA]).startswith("no cgroup controller for io here")
    assert v1.groups() == []


def test_the_named_cgroup_is_the_only_one(v1: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADVISOR_CGROUP", "/mine")
    assert "there is no such cgroup" in why_unavailable(HDD, [DATA])
    for tree in V1_FILES:
        (v1.root / tree / "mine").mkdir()
    with emulated_device(HDD, [DATA], run="a"):
        assert [group.parent.name for group in v1.groups()] == ["mine", "mine"]
    monkeypatch.setenv("ADVISOR_CGROUP", "/../..")
    assert "not a cgroup's path" in why_unavailable(HDD, [DATA])


def test_in_a_container_our_own_group_is_the_top_of_what_is_seen(v1: Kernel) -> None:
    show(
        v1,
        {"memory": "cgroup rw,memory", "blkio": "cgroup rw,blkio"},
        ["4:memory:/docker/abc", "7:blkio:/../outside"],
    )
    with emulated_device(HDD, [DATA], run="a"):
        assert [group.parent for group in v1.groups()] == [v1.root / "blkio", v1.root / "memory"]


@pytest.mark.parametrize("missing", ["blkio.throttle.write_iops_device", "memory.limit_in_bytes"])
def test_a_kernel_without_the_file_leaves_nothing_behind(
    v1: Kernel, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    for names in V1_FILES.values():
        if missing in names:
            monkeypatch.setitem(V1_FILES, missing.partition(".")[0], [])
    assert "it has no" in why_unavailable(HDD, [DATA])
    assert v1.groups() == []


def test_an_error_inside_passes_through_and_leaves_nothing(v1: Kernel) -> None:
    with pytest.raises(SystemExit, match="7"), emulated_device(HDD, [DATA], run="a"):
        raise SystemExit(7)
    assert v1.groups() == []


def test_only_groups_that_nobody_holds_are_swept(v1: Kernel) -> None:
    unit = v1.root / "memory/system.slice/oltp-advisor-worker.service"
    dead = unit / f"{PREFIX}run-9.0123abcd"
    dead.mkdir(parents=True)
    stranger = v1.root / "blkio" / "oltp-advisor-of-a-human"
    stranger.mkdir()
    with emulated_device(HDD, [DATA], run="alive") as limits:
        assert limits is not None
        alive = [group.directory for group in limits.groups]
        assert sweep_cgroups() == [dead]
        assert all(path.exists() for path in alive)
    assert stranger.exists()
    assert unit.exists()


@pytest.mark.parametrize("is_over", [True, False], ids=["swept", "being-swept"])
def test_a_group_that_a_sweep_found_without_its_lock_is_made_again(
    v1: Kernel, monkeypatch: pytest.MonkeyPatch, is_over: bool
) -> None:
    seen: list[Path] = []

    def hold_late(group: Path) -> int | None:
        seen.append(group)
        if len(seen) > 1:
            return hold(group)
        return hold(group) if is_over and sweep_cgroups() else None

    monkeypatch.setattr(groups, "hold", hold_late)
    with emulated_device(HDD, [DATA], run="a") as limits:
        assert limits is not None
        assert [group.directory for group in limits.groups] == seen[1:]
        assert sweep_cgroups() == ([] if is_over else seen[:1])
        assert all(group.directory.exists() for group in limits.groups)
    assert v1.groups() == []


@pytest.mark.parametrize(
    ("name", "disk"),
    [
        ("nvme0n1/nvme0n1p3", Disk("nvme0n1", "259:0")),
        ("dm-2", Disk("dm-2", "259:0")),
        ("cciss!c0d0", Disk("cciss/c0d0", "259:0")),
    ],
)
def test_the_limit_is_on_the_disk_whose_queue_it_is(tmp_path: Path, name: str, disk: Disk) -> None:
    directory = tmp_path / "sys/devices/pci/block" / name
    directory.mkdir(parents=True)
    whole = directory.parent if "/" in name else directory
    (whole / "dev").write_text("259:0\n")
    if whole != directory:
        (directory / "partition").write_text("3\n")
    number = tmp_path.stat().st_dev
    link = tmp_path / f"sys/dev/block/{os.major(number)}:{os.minor(number)}"
    link.parent.mkdir(parents=True)
    link.symlink_to(directory)
    assert disks_behind([tmp_path, tmp_path / "sys"], sys_root=tmp_path / "sys") == (disk,)


def test_a_path_without_a_block_device_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmulationUnavailable, match=r"/proc is on a file system without a block"):
        disks_behind([Path("/proc")])
    with pytest.raises(EmulationUnavailable, match="No such file"):
        disks_behind([tmp_path / "missing"])


@pytest.mark.parametrize(
    ("version", "name", "text"),
    [
        (1, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"),
        (2, "memory.events", "low 0\nhigh 0\nmax 117\noom 4\noom_kill 3\n"),
    ],
)
def test_out_of_memory_kills_are_counted(
    tmp_path: Path, version: int, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    limits = device.CgroupLimits(HDD, (), (Group(tmp_path, version, ("io",)),))
    assert limits.oom_kills() is None
    assert device.CgroupLimits(HDD, (), (Group(tmp_path, version, ("memory",)),)).oom_kills() == 3
