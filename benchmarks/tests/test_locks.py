"""A claim is of a home, and whether a job of the home is done says its lock."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.jobs import locks
from benchmarks.jobs.locks import host_lock, is_of_this_home, this_process


def test_a_claim_is_one_process_of_one_home(tmp_path: Path, settings: Any) -> None:
    ours = this_process()
    assert this_process() == ours
    if (child := os.fork()) == 0:
        os._exit(not (this_process() != ours and is_of_this_home(this_process())))
    assert os.waitpid(child, 0)[1] == 0
    assert is_of_this_home(ours)
    settings.RUN_DIR = tmp_path
    assert not is_of_this_home(ours)
    assert this_process() != ours


def test_a_claim_of_another_boot_is_of_another_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = this_process()
    boot = tmp_path / "boot_id"
    boot.write_text("another\n")
    monkeypatch.setattr(locks, "_BOOT_ID", boot)
    assert not is_of_this_home(ours)


def test_a_lock_is_free_when_its_holder_is_dead(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    command = ["flock", str(path), sys.executable, "-c", "print(1, flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline()
        with host_lock(path, patience_s=0) as held:
            assert not held
        holder.communicate(b"\n")
    began = time.monotonic()
    with host_lock(path) as held:
        assert held
    assert time.monotonic() - began < 1
