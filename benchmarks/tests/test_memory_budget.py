"""The memory that a server may use is the smallest limit on our way up the control groups."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from benchmarks.emulation.device import emulated_device, why_unavailable
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.host import cgroups
from benchmarks.host.cgroups import available_memory, host_memory, memory_budget

MIB = 1024**2
NO_LIMIT = str(2**63 - 4096)
ROOT = Path(__file__).resolve().parents[2]

# Mounts as recorded in /proc/self/mountinfo: a folder of the tree and what is mounted there.
V2 = {"": ("/", "cgroup2", "rw,nsdelegate,memory_recursiveprot")}
V1 = {"cpu": ("/", "cgroup", "rw,cpu"), "memory": ("/", "cgroup", "rw,memory")}
# systemd's hybrid: the controllers are in v1, and v2 has processes only.
HYBRID = {**V1, "unified": ("/", "cgroup2", "rw,nsdelegate")}
# Docker on v1, which shows a container its own group as the top and the host's path to it.
DOCKER = {"memory": ("/docker/0a1b", "cgroup", "rw,memory")}
DOCKER_V2 = {"": ("/docker/0a1b", "cgroup2", "rw")}


def show(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mounts: dict[str, tuple[str, str, str]],
    own: str,
    files: dict[str, int | str],
) -> None:
    """A host with these trees mounted, on which this process is in these groups."""
    tree, proc = tmp_path / "cgroup", tmp_path / "proc" / "self"
    proc.mkdir(parents=True)
    monkeypatch.setattr(cgroups, "PROC", proc.parent)
    lines = ["23 1 254:1 / / rw,relatime - ext4 /dev/vda rw"]
    for folder, (root, kind, options) in mounts.items():
        where = tree / folder
        where.mkdir(parents=True, exist_ok=True)
        lines.append(f"31 23 0:26 {root} {where} rw,nosuid shared:4 - {kind} none {options}")
        if kind == "cgroup2":
            shown = "" if folder == "unified" else "cpu io memory"
            (where / "cgroup.controllers").write_text(shown + "\n")
    (proc / "mountinfo").write_text("\n".join(lines) + "\n")
    (proc / "cgroup").write_text(own)
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text * MIB if isinstance(text, int) else text}\n")


@pytest.mark.parametrize(
    ("mounts", "own", "files", "expected"),
    [
        # version 2: a service, a container that is its own top, limits above and below
        (V2, "0::/a/b\n", {"a/b/memory.max": 64}, 64),
        (V2, "0::/\n", {"memory.max": 96}, 96),
        (V2, "0::/a/b\n", {"a/memory.max": 32, "a/b/memory.max": 64}, 32),
        (V2, "0::/a/b/c\n", {"a/memory.max": 32, "a/b/c/memory.max": "max"}, 32),
        (V2, "0::/a\n", {"a/memory.max": "max", "b/memory.max": 1}, None),
        (DOCKER_V2, "0::/docker/0a1b/in\n", {"in/memory.max": 24}, 24),
        # version 1
        (V1, "4:memory:/a\n3:cpu:/\n", {"memory/a/memory.limit_in_bytes": 16}, 16),
        (
            V1,
            "4:cpu,memory:/a/b\n",
            {"memory/a/memory.limit_in_bytes": 8, "memory/a/b/memory.limit_in_bytes": NO_LIMIT},
            8,
        ),
        (V1, "4:memory:/a\n", {"memory/a/memory.limit_in_bytes": NO_LIMIT}, None),
        (DOCKER, "4:memory:/docker/0a1b\n", {"memory/memory.limit_in_bytes": 48}, 48),
        (
            DOCKER,
            "4:memory:/docker/0a1b/job\n",
            {"memory/memory.limit_in_bytes": 48, "memory/job/memory.limit_in_bytes": 12},
            12,
        ),
        # both: the tree that has the controller counts
        (
            HYBRID,
            "4:memory:/jobs/7\n0::/user.slice\n",
            {
                "memory/jobs/memory.limit_in_bytes": 40,
                "memory/jobs/7/memory.usage_in_bytes": "0",
                "unified/user.slice/memory.max": 1,
            },
            40,
        ),
        # nothing to be known
        ({}, "", {}, None),
        (V2, "0::/../other\n", {"../other/memory.max": "1"}, None),
        (V2, "0::/a\n", {"a/memory.max": "what"}, None),
    ],
)
def test_the_smallest_limit_counts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mounts: dict[str, tuple[str, str, str]],
    own: str,
    files: dict[str, int | str],
    expected: int | None,
) -> None:
    show(tmp_path, monkeypatch, mounts, own, files)
    assert memory_budget() == (host_memory() if expected is None else expected * MIB)


@pytest.mark.parametrize(
    ("mounts", "own", "files", "expected"),
    [
        # the limit above ours is nearly used up by others
        (
            V2,
            "0::/a/b\n",
            {
                "a/memory.max": 100,
                "a/memory.current": 90,
                "a/b/memory.max": 64,
                "a/b/memory.current": 8,
            },
            10,
        ),
        # what was read from files once is given back when it is needed
        (
            V2,
            "0::/a\n",
            {
                "a/memory.max": 100,
                "a/memory.current": 99,
                "a/memory.stat": f"anon {9 * MIB}\nactive_file {30 * MIB}\n"
                f"inactive_file {60 * MIB}",
            },
            61,
        ),
        (
            V1,
            "4:memory:/a\n",
            {
                "memory/a/memory.limit_in_bytes": 50,
                "memory/a/memory.usage_in_bytes": 30,
                "memory/a/memory.stat": f"inactive_file {MIB}\ntotal_inactive_file {5 * MIB}",
            },
            25,
        ),
        (V2, "0::/a\n", {"a/memory.max": 10, "a/memory.current": 11}, 0),
    ],
)
def test_available_is_what_is_left_below_every_limit(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mounts: dict[str, tuple[str, str, str]],
    own: str,
    files: dict[str, int | str],
    expected: int,
) -> None:
    show(tmp_path, monkeypatch, mounts, own, files)
    assert available_memory() == expected * MIB


def test_without_a_limit_the_hosts_free_memory_is_available(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    show(tmp_path, monkeypatch, {}, "", {})
    free = psutil.virtual_memory().available
    assert available_memory() == pytest.approx(free, rel=0.2)


def test_here_it_is_a_part_of_the_hosts_memory() -> None:
    assert 0 < available_memory() < memory_budget() <= host_memory()


def test_a_child_in_a_nested_group_of_this_kernel_sees_the_limit_above_it() -> None:
    limited = EmulationProfile("native", memory_bytes=256 * MIB)
    if reason := why_unavailable(limited, []):
        pytest.skip(f"no memory limit can be set here: {reason}")
    code = "import benchmarks.host.cgroups as m; print(m.memory_budget(), m.available_memory())"
    with emulated_device(limited, [], run="budget") as limits:
        assert limits is not None
        (group,) = limits.groups
        inner = group.directory / "inner"
        inner.mkdir()
        try:
            enter = f'echo 0 > {inner / "cgroup.procs"}; exec "$@"'
            command = ["/bin/sh", "-c", enter, "sh", sys.executable, "-c", code]
            said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        finally:
            inner.rmdir()
    budget, available = map(int, said.stdout.split())
    assert budget == 256 * MIB
    # Python itself is in there.
    assert 128 * MIB < available < 256 * MIB
