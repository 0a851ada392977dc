"""The driver around tpcc_start, with a program that replays recorded output in its place."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.drivers.protocol import DriverResult, Load, Phase, Target
from benchmarks.drivers.tpcc_mysql import TpccMysql, find_tpcc_start
from benchmarks.drivers.workloads import tpcc
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.processes import child

RECORDED = Path(__file__).with_name("recorded")
TARGET = Target("127.0.0.1", 3306, "tpcc", "correct-horse", database="tpcc")
LOAD = Load(workload=tpcc(2), connections=8, warmup_s=3, measure_s=10, seed=1)

Run = Callable[..., DriverResult]


@pytest.fixture
def tmp_path(server_tmp: Path) -> Path:
    """Where the user that drivers run as can go."""
    return server_tmp


@pytest.fixture
def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the driver with a shell script as its tpcc_start."""
    monkeypatch.setattr("benchmarks.drivers.tpcc_mysql.check_target", lambda *_: None)
    program = tmp_path / "tpcc_start"

    def run(script: str, *, phases: list[Phase] | None = None, grace_s: float = 5) -> DriverResult:
        program.write_text(f"#!/bin/sh\ncd {RECORDED}\n{textwrap.dedent(script)}\n")
        program.chmod(0o755)
        seen: list[Phase] = [] if phases is None else phases
        return TpccMysql(program, grace_s=grace_s).run(
            TARGET,
            LOAD,
            tmp_path / "work",
            on_phase=seen.append,
            should_stop=lambda: False,
        )

    return run


_TIMES = "gunzip -c tpcc_start-ok.response-times.txt.gz > $OLDPWD/response-times.txt"


def test_a_good_run_becomes_a_result(replay: Run, tmp_path: Path) -> None:
    phases: list[Phase] = []
    result = replay(f"cat tpcc_start-ok.txt\n{_TIMES}", phases=phases)
    assert result.times.count == 1837
    assert result.measured_seconds == 10
    assert sum(result.times.per_second()) == 1837
    assert result.counts["payment"].completed == 1838
    assert phases == [Phase.WARMING, Phase.MEASURING, Phase.STOPPING]
    assert list((tmp_path / "work").iterdir()) == []


def test_it_is_called_with_limits_in_milliseconds_and_one_second_intervals(
    replay: Run, tmp_path: Path
) -> None:
    (tmp_path / "called").touch()
    (tmp_path / "called").chmod(0o666)
    replay(f'echo "$@" > {tmp_path}/called\ncat tpcc_start-ok.txt\n{_TIMES}')
    called = (tmp_path / "called").read_text()
    assert "-0 5000 -1 5000 -2 5000 -3 80000 -4 20000" in called
    assert "-i 1 -f response-times.txt" in called
    assert "-h 127.0.0.1 -P 3306 -d tpcc -u tpcc" in called


def test_the_password_is_in_neither_output_nor_error(replay: Run) -> None:
    shown = f"echo \"       [pass]: {TARGET.password}\"; echo '{TARGET.password}' >&2"
    result = replay(f"{shown}\ncat tpcc_start-ok.txt\n{_TIMES}")
    assert TARGET.password not in result.output
    with pytest.raises(RunFailed) as failed:
        replay(shown)
    assert TARGET.password not in failed.value.log_tail
    assert "[pass]: [hidden]" in failed.value.log_tail


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "cat tpcc_start-no-server.stderr.txt >&2; cat tpcc_start-no-server.txt",
            "A connection failed: 2002, Can't connect to server on '127.0.0.1' (115)",
        ),
        (
            "cat tpcc_start-server-killed.stderr.txt >&2; cat tpcc_start-server-killed.txt",
            "A connection failed: 2013, Lost connection to server during query",
        ),
        (
            "echo '1040, 08004, Too many connections' >&2; sleep 0.2; echo error at thread_main",
            "1 of 8 connections failed: 1040, Too many connections",
        ),
        ("head -n 40 tpcc_start-ok.txt", "ended with status 0 and without its results"),
        ("cat tpcc_start-ok.txt; kill -SEGV $$", "ended with status -11"),
        (
            "echo 'tpcc_start: libmysqlclient.so.21: cannot open shared object' >&2; exit 127",
            "without its results: tpcc_start: libmysqlclient.so.21: cannot open shared",
        ),
        ("cat tpcc_start-ok.txt", "The response times cannot be read"),
        (
            "cat tpcc_start-ok.txt; echo 0 1.5 > $OLDPWD/response-times.txt",
            "The response times are not complete: 1 lines for 1837 New-Orders.",
        ),
        (
            "echo '1114, HY000, The table is full' >&2;"
            " sed 's/rt:0  fl:0/rt:0  fl:900/' tpcc_start-ok.txt",
            "4500 of 8725 transactions failed. Most often: 1114, The table is full",
        ),
    ],
)
def test_a_run_that_measured_nothing_is_a_failure_of_the_driver(
    replay: Run, script: str, message: str
) -> None:
    with pytest.raises(RunFailed) as failed:
        replay(script)
    assert failed.value.outcome is Outcome.DRIVER_FAILED
    assert message in str(failed.value)


@pytest.mark.parametrize("sent", ["KILL", "TERM"])
def test_one_that_was_ended_from_outside_is_lost_and_did_not_fail(replay: Run, sent: str) -> None:
    with pytest.raises(RunFailed) as failed:
        replay(f"head -n 40 tpcc_start-ok.txt; kill -{sent} $$; sleep 5")
    assert failed.value.outcome is Outcome.LOST
    assert f"the driver was ended by SIG{sent}, which we did not send" in str(failed.value)


def test_one_that_the_kernel_ended_for_want_of_memory_says_so(
    replay: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vmstat = tmp_path / "vmstat"
    vmstat.write_text("oom_kill 4\n")
    vmstat.chmod(0o666)
    monkeypatch.setattr(child, "VMSTAT", vmstat)
    with pytest.raises(RunFailed) as failed:
        replay(f"head -n 40 tpcc_start-ok.txt; echo oom_kill 5 > {vmstat}; kill -KILL $$")
    assert failed.value.outcome is Outcome.OUT_OF_MEMORY
    assert "rose by 1" in str(failed.value)


def test_no_completed_new_order_is_zero_work(replay: Run) -> None:
    with pytest.raises(RunFailed) as failed:
        replay(r"sed 's/\[0\] sc:1837/[0] sc:0/' tpcc_start-ok.txt")
    assert failed.value.outcome is Outcome.ZERO_WORK


def test_a_flood_of_errors_stays_in_bounds_and_ends_the_run_at_once(replay: Run) -> None:
    flood = "echo 'RAMP-UP TIME.(3 sec.)'; while :; do cat *killed.stderr.txt >&2; done"
    began = time.monotonic()
    with pytest.raises(RunFailed) as failed:
        replay(flood, grace_s=60)
    assert failed.value.outcome is Outcome.DRIVER_FAILED
    assert time.monotonic() - began < 30
    assert len(failed.value.log_tail) <= 4_000


def test_deadlocks_of_any_number_do_not_end_the_run(replay: Run) -> None:
    deadlock = "printf 'neword 1:7\\n1213, 40001, Deadlock found\\n' >&2"
    result = replay(f"for i in $(seq 3000); do {deadlock}; done; cat tpcc_start-ok.txt; {_TIMES}")
    assert "Deadlock found" in result.output
    assert len(result.output) < 100_000


@pytest.mark.slow
def test_ticks_of_the_timer_that_were_lost_make_the_interval_longer(
    replay: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.LOAD", Load(tpcc(2), 8, 0, 1, 1))
    result = replay(
        """
        printf 'RAMP-UP TIME.(0 sec.)\\nMEASURING START.\\n'; sleep 1.7
        echo '   1, trx: 205, 95%: 38.7, 99%: 51.1, max_rt: 97.8, 0|0, 0|0, 0|0, 0|0'
        sed -n '/Raw Results2/,$p' tpcc_start-ok.txt
        """
        + _TIMES
    )
    assert 1.6 < result.measured_seconds < 10


def test_without_an_end_it_is_stopped_at_the_deadline(
    replay: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.LOAD", Load(tpcc(2), 8, 0, 1, 1))
    began = time.monotonic()
    with pytest.raises(RunFailed) as failed:
        replay("echo 'RAMP-UP TIME.(0 sec.)'; sleep 60", grace_s=-0.5)
    assert failed.value.outcome is Outcome.TIMED_OUT
    assert time.monotonic() - began < 30


def test_the_version_names_the_program_by_its_content(tmp_path: Path) -> None:
    program = tmp_path / "tpcc_start"
    program.write_text("one")
    one = TpccMysql(program).version
    program.write_text("two")
    assert one.startswith("sha256:")
    assert len(one) == len("sha256:") + 12
    assert one != TpccMysql(program).version


def test_it_is_found_where_tpcc_mysql_home_says_before_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("home", "path"):
        (tmp_path / place).mkdir()
        program = tmp_path / place / "tpcc_start"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("TPCC_MYSQL_HOME", str(tmp_path / "home"))
    assert find_tpcc_start() == tmp_path / "home" / "tpcc_start"
    monkeypatch.delenv("TPCC_MYSQL_HOME")
    assert find_tpcc_start() == tmp_path / "path" / "tpcc_start"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_tpcc_start() is None
