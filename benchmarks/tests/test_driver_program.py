"""A driver's program is read in bounds, watched, and ended on every path."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from benchmarks.drivers.program import Program
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.processes.users import server_user, uid_of


def shell(script: str, tmp_path: Path) -> Program:
    return Program(["/bin/sh", "-c", script], cwd=tmp_path, secrets=["hush-hush"])


def never() -> bool:
    return False


def lines_of(program: Program) -> tuple[list[str], list[str]]:
    output: list[str] = []
    errors: list[str] = []
    program.deadline = time.monotonic() + 10
    for lines in program.lines(never):
        output += lines.output
        errors += lines.errors
    return output, errors


def gone(pid: int) -> bool:
    """Whether a process has ended; it may still wait to be reaped by whoever adopted it."""
    for _ in range(100):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False


def test_lines_come_whole_and_from_both_streams(tmp_path: Path) -> None:
    script = "printf 'on'; sleep 0.1; printf 'e\\ntwo\\nthr'; echo bad >&2; printf 'ee'"
    with shell(script, tmp_path) as program:
        assert lines_of(program) == (["one", "two", "three"], ["bad"])
        assert program.wait(5) == 0


def test_it_has_neither_our_rights_nor_our_environment(
    server_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://advisor:hush@db/advisor")
    with shell("id -u; id -G; grep NoNewPrivs /proc/self/status; env", server_tmp) as program:
        (uid, groups, no_new_privs, *environment), _ = lines_of(program)
    assert uid == str(uid_of(server_user()))
    if (user := server_user()) is not None:
        assert groups == str(user.gid)
        assert no_new_privs.split() == ["NoNewPrivs:", "1"]
    names = {line.partition("=")[0] for line in environment}
    assert names <= {"PATH", "LC_ALL", "HOME", "LD_LIBRARY_PATH", "TZ", "PWD", "_", "SHLVL"}


def test_a_flood_without_line_ends_is_kept_in_bounds(tmp_path: Path) -> None:
    with shell("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end", tmp_path) as program:
        output, _ = lines_of(program)
        assert output[-1] == "end"
        assert max(map(len, output)) < 100_000
        assert len(program.output()) < 1_000


def test_leaving_the_block_kills_the_program_and_what_it_started(tmp_path: Path) -> None:
    with shell("sleep 60 & echo $$ $!; wait", tmp_path) as program:
        pids = [int(word) for word in program.read(5).output[0].split()]
        assert all(psutil.pid_exists(pid) for pid in pids)
    assert all(gone(pid) for pid in pids)


def test_it_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    code = """
        import sys, time
        from pathlib import Path
        from benchmarks.drivers.program import Program
        child = Program(["/bin/sh", "-c", "echo $$; exec sleep 60"], cwd=Path(sys.argv[1]))
        print(child.read(5).output[0], flush=True)
        time.sleep(60)
    """
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert psutil.pid_exists(pid)
    finally:
        parent.kill()
        parent.communicate()
    assert gone(pid)


def test_a_ctrl_c_in_our_terminal_does_not_reach_it(tmp_path: Path) -> None:
    with shell("echo $$; sleep 60", tmp_path) as program:
        pid = int(program.read(5).output[0])
        assert os.getsid(pid) != os.getsid(0)


def test_cancelling_and_the_deadline_have_their_own_outcomes(tmp_path: Path) -> None:
    with shell("sleep 60", tmp_path) as program:
        with pytest.raises(RunFailed) as cancelled:
            list(program.lines(lambda: True))
        program.deadline = time.monotonic()
        with pytest.raises(RunFailed) as timed_out:
            list(program.lines(never))
    assert cancelled.value.outcome is Outcome.CANCELLED
    assert timed_out.value.outcome is Outcome.TIMED_OUT


@pytest.mark.alone
def test_whether_to_stop_is_asked_a_few_times_a_second_however_much_is_said(
    tmp_path: Path,
) -> None:
    asked: list[float] = []

    def should_stop() -> bool:
        asked.append(time.monotonic())
        return False

    with shell("timeout 1 yes", tmp_path) as program:
        for _ in program.lines(should_stop):
            pass
    assert 2 <= len(asked) <= 6


@pytest.mark.alone
def test_an_awaited_instant_is_met_to_some_milliseconds(tmp_path: Path) -> None:
    with shell("sleep 60", tmp_path) as program:
        program.wake_at = time.monotonic() + 0.33
        for _ in program.lines(never):
            if (late := time.monotonic() - program.wake_at) >= 0:
                break
        assert late < 0.05


def test_cpu_time_is_known_also_after_the_end(tmp_path: Path) -> None:
    with shell("i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; sleep 0.2", tmp_path) as program:
        for _ in program.lines(never):
            seen = program.cpu_seconds()
        assert program.wait(5) == 0
        assert program.cpu_seconds() == seen > 0


def test_secrets_are_in_neither_output_nor_error(tmp_path: Path) -> None:
    with shell("echo hush-hush; echo hush-hush >&2", tmp_path) as program:
        lines_of(program)
        failure = program.failure(Outcome.DRIVER_FAILED, "it said hush-hush")
        for text in (program.output(), str(failure), failure.log_tail):
            assert "hush" not in text
            assert "[hidden]" in text


def test_both_ends_of_much_output_are_kept(tmp_path: Path) -> None:
    with shell("seq 100000", tmp_path) as program:
        assert lines_of(program)[0] == [str(number) for number in range(1, 100_001)]
        kept = program.output().splitlines()
    assert (kept[0], kept[-1], len(kept)) == ("1", "100000", 401)
    assert kept[199:202] == ["200", "[... lines left out ...]", "99801"]
