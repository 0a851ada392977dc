"""A claim names a process for as long as it lives, and no longer."""

from __future__ import annotations

import os
import subprocess

import psutil
import pytest
from pytest_django import Settings

from benchmarks.jobs.claimant import claimant, is_dead


def test_a_claim_holds_while_its_process_lives(settings: Settings) -> None:
    settings.HOST_NAME = "here:1"  # a name may hold what separates the parts
    assert claimant() == claimant()
    assert claimant().startswith(f"here:1:{os.getpid()}:")
    assert not is_dead(claimant())


def test_setting_the_clock_makes_no_claim_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    before = claimant()
    # What psutil counts a start time from moves with the wall clock.
    monkeypatch.setattr(psutil._pslinux, "boot_time", lambda: 1.0)
    assert claimant() == before
    assert not is_dead(before)


def test_a_claim_is_dead_with_its_process_zombie_and_successor() -> None:
    claim = claimant()
    name, _, birth = claim.rpartition(":")
    assert is_dead(f"{name}:{birth}0")  # the same pid, another process
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        host = name.rpartition(":")[0]
        assert is_dead(f"{host}:{child.pid}:{birth}")
    assert is_dead(f"{host}:{child.pid}:{birth}")


def test_other_hosts_cannot_be_judged() -> None:
    assert not is_dead("another:1:any")
    assert not is_dead("")
