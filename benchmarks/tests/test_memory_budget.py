"""The memory that a server may use is the smallest limit on our way up the control groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.memory import host_memory, memory_budget

MIB = 1024**2


def budget(tmp_path: Path, own: str, limits: dict[str, str]) -> int:
    root = tmp_path / "cgroup"
    root.mkdir()
    for name, text in limits.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    groups = tmp_path / "self"
    groups.write_text(own)
    return memory_budget(root, groups)


@pytest.mark.parametrize(
    ("own", "limits", "expected"),
    [
        # version 2: on a host, in a container (its own root), nested
        ("0::/a/b\n", {"a/b/memory.max": f"{64 * MIB}"}, 64 * MIB),
        ("0::/\n", {"memory.max": f"{96 * MIB}"}, 96 * MIB),
        (
            "0::/a/b\n",
            {"a/memory.max": f"{32 * MIB}", "a/b/memory.max": f"{64 * MIB}"},
            32 * MIB,
        ),
        ("0::/docker/xyz\n", {"memory.max": f"{48 * MIB}"}, 48 * MIB),
        ("0::/a\n", {"a/memory.max": "max"}, None),
        # version 1
        (
            "4:memory:/a\n0::/\n",
            {"memory/a/memory.limit_in_bytes": f"{16 * MIB}"},
            16 * MIB,
        ),
        (
            "4:cpu,memory:/a/b\n",
            {"memory/a/memory.limit_in_bytes": f"{8 * MIB}"},
            8 * MIB,
        ),
        ("4:memory:/a\n", {"memory/a/memory.limit_in_bytes": f"{2**63 - 4096}"}, None),
        # nothing to be known
        ("", {}, None),
        ("nonsense\n", {"memory.max": "what"}, None),
        ("0::/../other\n", {"other/memory.max": "1"}, None),
    ],
)
def test_the_smallest_limit_counts(
    tmp_path: Path, own: str, limits: dict[str, str], expected: int | None
) -> None:
    assert budget(tmp_path, own, limits) == (host_memory() if expected is None else expected)


def test_here_it_is_a_part_of_the_hosts_memory() -> None:
    assert 0 < memory_budget() <= host_memory()
