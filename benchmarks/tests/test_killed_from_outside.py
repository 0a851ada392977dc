"""Programs that something else ended say nothing of a config: lost, whatever they were doing.

The kernel's own kills, for lack of memory, are told apart by its count. How runs, their drivers
and trial starts are judged is in test_measure_killed, test_driver_contract and test_trial_start.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.processes import child
from benchmarks.servers.datadir import create_data_dir
from benchmarks.tests.quick import pretend


def make_a_data_directory(place: Path, vmstat: Path, count: int, signal: str) -> None:
    program = pretend(place, f"echo oom_kill {count} > {vmstat}\nkill -{signal} $$")
    create_data_dir(program, place / "data")


@pytest.fixture
def vmstat(server_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = server_tmp / "vmstat"
    path.write_text("oom_kill 4\n")
    path.chmod(0o666)
    monkeypatch.setattr(child, "VMSTAT", path)
    return path


@pytest.mark.parametrize(
    ("count", "signal", "outcome"),
    [
        (4, "KILL", Outcome.LOST),
        (4, "TERM", Outcome.LOST),
        (5, "KILL", Outcome.OUT_OF_MEMORY),
        (5, "TERM", Outcome.LOST),  # the kernel sends no other signal than KILL
    ],
)
def test_while_a_data_directory_is_made(
    count: int, signal: str, outcome: Outcome, server_tmp: Path, vmstat: Path
) -> None:
    with pytest.raises(RunFailed) as ended:
        make_a_data_directory(server_tmp, vmstat, count, signal)
    assert ended.value.outcome is outcome
    assert f"SIG{signal}" in str(ended.value)
    assert not (server_tmp / "data").exists()


def test_a_program_that_crashed_by_itself_is_not_lost(server_tmp: Path, vmstat: Path) -> None:
    with pytest.raises(RunFailed) as ended:
        make_a_data_directory(server_tmp, vmstat, 4, "SEGV")
    assert ended.value.outcome is Outcome.NO_START
