"""Programs that something else ended say nothing of a config: lost, whatever they were doing.

The kernel's own kills, for lack of memory, are told apart by its count. How runs, their drivers
and trial starts are judged is in test_measure_killed, test_driver_contract and test_trial_start.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from signal import Signals
from types import SimpleNamespace
from typing import cast

import psutil
import pytest

from benchmarks.datasets import rows
from benchmarks.datasets.loading import Batch, load_rows
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.processes import child
from benchmarks.processes.users import server_user, uid_of
from benchmarks.servers.datadir import create_data_dir
from benchmarks.servers.instance import ServerInstance
from benchmarks.tests.quick import pretend

Act = Callable[[Path, Path, int, str], None]


def make_a_data_directory(place: Path, vmstat: Path, count: int, signal: str) -> None:
    program = pretend(place, f"echo oom_kill {count} > {vmstat}\nkill -{signal} $$")
    create_data_dir(program, place / "data")


def load(place: Path, vmstat: Path, count: int, signal: str) -> None:
    """Kill the loading processes while they wait for a server that does not answer."""
    account = SimpleNamespace(user="admin", password="secret")
    server = cast(ServerInstance, SimpleNamespace(socket=place / "socket", admin=account))

    def kill_them() -> bool:
        vmstat.write_text(f"oom_kill {count}\n")
        for process in psutil.Process().children(recursive=True):
            if any("row_loader" in word for word in process.cmdline()):
                process.send_signal(Signals[f"SIG{signal}"])
        return False

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(server.socket))
        os.chown(server.socket, uid_of(server_user()), -1)
        listening.listen()
        batches = [Batch("item", rows.item, (1,))] * 2
        load_rows(server, "tpcc", batches, jobs=2, on_rows=lambda _: None, should_stop=kill_them)


@pytest.fixture
def vmstat(server_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = server_tmp / "vmstat"
    path.write_text("oom_kill 4\n")
    path.chmod(0o666)
    monkeypatch.setattr(child, "VMSTAT", path)
    return path


@pytest.mark.parametrize("act", [make_a_data_directory, load])
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
    with pytest.raises(RunFailed) as ended:
        act(server_tmp, vmstat, count, signal)
    assert ended.value.outcome is outcome
    assert f"SIG{signal}" in str(ended.value)
    assert not (server_tmp / "data").exists()


def test_a_program_that_crashed_by_itself_is_not_lost(server_tmp: Path, vmstat: Path) -> None:
    with pytest.raises(RunFailed) as ended:
        make_a_data_directory(server_tmp, vmstat, 4, "SEGV")
    assert ended.value.outcome is Outcome.NO_START
