"""Finds out why a server did not start or died, with the evidence."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pymysql

from benchmarks.emulation.device import NOT_ENTERED, not_entered
from benchmarks.errors import BenchmarkError, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.processes.child import describe_exit
from benchmarks.servers import errorlog
from benchmarks.servers.instance import ServerInstance

APPARMOR_PROFILES = Path("/sys/kernel/security/apparmor/profiles")
ANSWER_S = 5  # whole seconds, as PyMySQL wants them
_SECOND_LOOK_S = 0.2
_DEATH_THROES_S = 5.0  # a crashing mysqld writes its stack trace before it goes


def variables_of(instance: ServerInstance) -> dict[str, str]:
    """SHOW GLOBAL VARIABLES; raises what `explain_death` says of a server that does not answer."""
    try:
        return instance.variables()
    except pymysql.err.Error as error:
        raise explain_death(instance) from error


def explain_death(instance: ServerInstance) -> RunFailed:
    """Return why a server no longer answers, for the caller to raise.

    CRASHED, OUT_OF_MEMORY, DISK_FULL, LOST if it was killed from outside, or TIMED_OUT if it runs
    but does not answer. Waits up to 5 s for a dying server. The message names the evidence.
    """
    deadline = time.monotonic() + _DEATH_THROES_S
    while instance.alive() and time.monotonic() < deadline:
        time.sleep(0.05)
    lines = instance.log_lines()
    if (found := _from_outside(instance, lines)) is not None:
        return found
    tail = _last_words(lines)
    if instance.alive():
        return RunFailed(Outcome.TIMED_OUT, "the server runs but no longer answers", log_tail=tail)
    how = describe_exit(instance.exit_status)
    # Warnings are left out: servers warn about large pages and io_uring and continue.
    serious = [line for line in lines if "[Warning]" not in line and "[Note]" not in line]
    if starved := errorlog.matching(serious, errorlog.OUT_OF_MEMORY):
        why = f"the server ended ({how}) after logging: {errorlog.strip_prefix(starved[0])}"
        return RunFailed(Outcome.OUT_OF_MEMORY, why, log_tail="\n".join(starved[-30:]))
    return RunFailed(Outcome.CRASHED, f"the server ended while in use: {how}", log_tail=tail)


def explain_unclean_end(instance: ServerInstance) -> RunFailed:
    """Return why a server did not shut down completely: DISK_FULL, CRASHED or LOST."""
    lines = instance.log_lines()
    if (full := _disk_full(lines)) is not None:
        return full
    tail = _last_words(lines)
    blame = instance.process.blame("the server that was shutting down")
    if blame and instance.exit_status == -signal.SIGKILL and not instance.killed_by_us:
        return RunFailed(*blame, log_tail=tail)
    return RunFailed(
        Outcome.CRASHED,
        "the server did not shut down cleanly, so its data directory cannot be kept "
        f"({describe_exit(instance.exit_status)})",
        log_tail=tail,
    )


def find_trouble(instance: ServerInstance) -> RunFailed | None:
    """Return the fault of a server under a driver that failed; None when it is well.

    It also sees trouble that only looks like a driver's failure: a server that waits for disk
    space, one that is silent, and one whose last seconds have just begun.
    """
    if (full := _disk_full(instance.log_lines())) is not None:
        return full
    if instance.alive() and _answers(instance):
        time.sleep(_SECOND_LOOK_S)
        if instance.alive():
            return None
    return explain_death(instance)


def explain_failed_start(instance: ServerInstance) -> BenchmarkError:
    """Return why a server exited before it answered.

    RunFailed NO_START, OUT_OF_MEMORY or LOST (killed) or DISK_FULL; EmulationUnavailable when it
    never began because its resource limits could not be put on it.
    """
    lines = instance.log_lines()
    if instance.resource_limits is not None and instance.exit_status == NOT_ENTERED:
        return not_entered("\n".join(lines))
    if (found := _from_outside(instance, lines)) is not None:
        return found
    what = f"the server did not start ({describe_exit(instance.exit_status)})"
    return start_failure(what, lines, instance.binary.path)


def start_failure(what: str, lines: list[str], program: Path) -> RunFailed:
    """DISK_FULL, or NO_START with the first error in the message and the errors as the tail."""
    if (full := _disk_full(lines)) is not None:
        return full
    message = errorlog.with_first_error(what, lines)
    if errorlog.matching(lines, errorlog.PERMISSION):
        message += _apparmor_note(program)
    return RunFailed(Outcome.NO_START, message, log_tail=errorlog.meaningful(lines))


def _apparmor_note(program: Path) -> str:
    """Return the remedy for an enforced AppArmor profile of `program`; "" without a profile.

    Ubuntu's mysql-server brings one that allows the packaged directories only.
    """
    try:
        loaded = APPARMOR_PROFILES.read_text().splitlines()
    except OSError:
        return ""
    real = program.resolve()
    for line in loaded:
        name, _, mode = line.rpartition(" ")
        if mode == "(enforce)" and name in (str(program), str(real), real.name):
            return (
                f"; the AppArmor profile {name} is enforced and allows only the packaged "
                "directories: allow ours in /etc/apparmor.d/local/ and reload the profile"
            )
    return ""


def _answers(instance: ServerInstance) -> bool:
    try:
        instance.connect(connect_timeout=ANSWER_S, read_timeout=ANSWER_S).close()
    except pymysql.err.Error:
        return False
    return True


def _disk_full(lines: list[str]) -> RunFailed | None:
    found = errorlog.matching(lines, errorlog.DISK_FULL)
    if not found:
        return None
    why = f"the disk is full according to the error log: {errorlog.strip_prefix(found[0])}"
    return RunFailed(Outcome.DISK_FULL, why, log_tail="\n".join(found[-30:]))


def _from_outside(instance: ServerInstance, lines: list[str]) -> RunFailed | None:
    """Return OUT_OF_MEMORY, DISK_FULL or LOST for a server that did not end by itself."""
    killed = None if instance.stopped_by_us else _killed(instance, lines)
    if killed is not None and killed.outcome is Outcome.OUT_OF_MEMORY:
        return killed
    if (full := _disk_full(lines)) is not None:
        return full
    # A crashed server that hangs in its stack trace may be killed by a watchdog of the host.
    if instance.stopped_by_us or errorlog.matching(lines, errorlog.CRASH):
        return None
    if killed is not None:
        return killed
    # A large server may still be shutting down: then only its log shows it.
    if instance.exit_status == 0 or errorlog.matching(lines, errorlog.SHUTDOWN):
        how = describe_exit(instance.exit_status)
        why = f"the server was shut down from outside, and it ended cleanly ({how})"
        return RunFailed(Outcome.LOST, why, log_tail=_last_words(lines))
    return None


def _killed(instance: ServerInstance, lines: list[str]) -> RunFailed | None:
    """Return the failure of a server that was killed by a signal not sent by us; else None."""
    blame = instance.process.blame("the server")
    if blame is None:
        return None
    outcome, why = blame
    limits = instance.resource_limits
    if instance.exit_status == -signal.SIGKILL and limits is not None and limits.oom_kills():
        outcome = Outcome.OUT_OF_MEMORY
        why = (
            "the kernel ended the server because it needed more memory than the limit of "
            f"{limits.label} allows"
        )
    return RunFailed(outcome, why, log_tail=_last_words(lines))


def _last_words(lines: list[str]) -> str:
    """Return the stack trace of a crash if there is one, else the error lines."""
    starts = [n for n, line in enumerate(lines) if errorlog.CRASH.search(line)]
    return "\n".join(lines[starts[-1] :][:60]) if starts else errorlog.meaningful(lines)
