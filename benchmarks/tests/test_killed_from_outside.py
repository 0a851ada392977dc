"""Programs that something else ended say nothing of a config: lost, whatever they were doing.

The kernel's own kills, for lack of memory, are told apart by its count. How runs, their drivers
and trial starts are judged is in test_measure_killed, test_driver_contract and test_trial_start.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from benchmarks.datasets import parallel_load
from benchmarks.datasets.parallel_load import LoadingProcess
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.processes import kills
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.datadir import create_data_dir
from benchmarks.servers.instance import ServerInstance

Act = Callable[[Path], None]


def make_a_data_directory(program: Path) -> None:
    binary = ServerBinary(program, Flavour.MYSQL, (8, 4, 6), "8.4.6", "ab" * 32, None)
    create_data_dir(binary, program.parent / "data")


def load_rows(program: Path) -> None:
    account = SimpleNamespace(user="admin", password="secret")
    server = cast(ServerInstance, SimpleNamespace(socket=program.parent / "socket", admin=account))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel_load, "sys", SimpleNamespace(executable=str(program)))
        loader = LoadingProcess(server, seed=1)
    try:
        loader.answer()
    finally:
        loader.end()


@pytest.fixture
def vmstat(server_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = server_tmp / "vmstat"
    path.write_text("oom_kill 4\n")
    path.chmod(0o666)
    monkeypatch.setattr(kills, "VMSTAT", path)
    return path


@pytest.mark.parametrize("act", [make_a_data_directory, load_rows])
@pytest.mark.parametrize(
    ("count", "signal", "outcome"),
    [
        (4, "KILL", Outcome.LOST),
        (4, "TERM", Outcome.LOST),
        (5, "KILL", Outcome.OUT_OF_MEMORY),
        (5, "TERM", Outcome.LOST),  # the kernel sends no other signal than KILL
    ],
)
def test_while_preparing(
    act: Act, count: int, signal: str, outcome: Outcome, server_tmp: Path, vmstat: Path
) -> None:
    program = server_tmp / "program"
    program.write_text(f"#!/bin/sh\necho oom_kill {count} > {vmstat}\nkill -{signal} $$\n")
    program.chmod(0o755)
    with pytest.raises(RunFailed) as ended:
        act(program)
    assert ended.value.outcome is outcome
    assert f"SIG{signal}" in str(ended.value)
    assert not (server_tmp / "data").exists()


def test_a_program_that_crashed_by_itself_is_not_lost(server_tmp: Path) -> None:
    program = server_tmp / "program"
    program.write_text("#!/bin/sh\nkill -SEGV $$\n")
    program.chmod(0o755)
    with pytest.raises(RunFailed) as ended:
        make_a_data_directory(program)
    assert ended.value.outcome is Outcome.NO_START
