"""A trial start says what a server makes of its options, quickly, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.datasets import golden
from benchmarks.datasets.golden import initialized_data_dir
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.servers import running
from benchmarks.servers import trial as trial_module
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.trial import Trial, try_config
from benchmarks.tests.quick import QUICK, made_up, pretend

OTHER = made_up()
#: Generous, for a busy machine; some 2.5 s are normal for MySQL and 0.6 s for MariaDB.
QUICK_S = 15.0

Try = Callable[..., Trial]


@pytest.fixture
def attempt(
    any_server: ServerBinary,
    pristine_data_dir: Callable[[ServerBinary], Path],
    server_tmp: Path,
) -> Iterator[Try]:
    """Tries options on the given server; afterwards nothing may be left."""
    pristine = pristine_data_dir(any_server)
    before = _tree(pristine)

    def run(options: Mapping[str, str | None], **more: object) -> Trial:
        return try_config(
            any_server,
            {**QUICK, **options},
            pristine=pristine,
            work_dir=server_tmp / "trials",
            **more,  # type: ignore[arg-type]
        )

    yield run
    assert list((server_tmp / "trials").iterdir()) == []
    assert _tree(pristine) == before


def _tree(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.server
def test_what_the_server_runs_with_and_warns_of_is_read_back(attempt: Try) -> None:
    options = {"innodb_io_capacity": "300", "innodb_io_capacity_max": "200"}
    found = attempt({**options, "table_open_cache": "500"})
    assert found.variables["innodb_io_capacity"] == "200"
    assert found.variables["table_open_cache"] == "500"
    assert found.seconds < QUICK_S
    # Its warnings are kept, but not those of our own options.
    assert "innodb_io_capacity" in found.log_tail
    assert "TLS" not in found.log_tail
    assert "pid-file" not in found.log_tail
    assert "secure-file-priv" not in found.log_tail


@pytest.mark.server
def test_an_option_the_server_does_not_know_is_refused_by_its_own_check(attempt: Try) -> None:
    with pytest.raises(RunFailed, match="unknown variable 'innodb_made_up") as refused:
        attempt({"innodb_io_capacity": "300", "innodb_made_up": "1"})
    assert refused.value.outcome is Outcome.INVALID_CONFIG
    assert "innodb_made_up" in refused.value.log_tail


@pytest.mark.server
def test_what_only_shows_at_the_start_is_reported_in_the_servers_words(attempt: Try) -> None:
    with pytest.raises(RunFailed) as refused:
        attempt({"innodb_page_size": "8192"})  # not what the files have: seen by InnoDB only
    assert refused.value.outcome is Outcome.NO_START
    assert "[ERROR]" in refused.value.log_tail


@pytest.mark.server
def test_a_trial_whose_server_is_ended_from_outside_is_lost(
    attempt: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawn = running._Start._spawn

    def spawn_and_kill(*arguments: Any) -> ServerInstance:
        server = spawn(*arguments)
        os.kill(server.pid, signal.SIGKILL)
        return server

    monkeypatch.setattr(running._Start, "_spawn", spawn_and_kill)
    with pytest.raises(RunFailed, match="SIGKILL, which we did not send") as ended:
        attempt({"innodb_io_capacity": "300"})
    assert ended.value.outcome is Outcome.LOST


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """MariaDB hears no SIGTERM while it starts: SIGKILL comes after a second, not after ten."""
    monkeypatch.setattr(running, "FAILED_STOP_S", 1.0)


@pytest.mark.server
@pytest.mark.usefixtures("impatient")
def test_a_trial_can_be_cancelled(attempt: Try, server_tmp: Path) -> None:
    for begun in ("trial-*", "trial-*/console.log", "trial-*/own/error.log"):
        with pytest.raises(RunFailed) as stopped:
            attempt({}, should_stop=lambda name=begun: any((server_tmp / "trials").glob(name)))
        assert stopped.value.outcome is Outcome.CANCELLED


@pytest.mark.server
@pytest.mark.usefixtures("impatient")
def test_a_server_that_does_not_answer_in_time_is_ended(attempt: Try) -> None:
    with pytest.raises(RunFailed) as late:
        attempt({}, deadline_s=0.01)
    assert late.value.outcome is Outcome.TIMED_OUT


@pytest.mark.server
def test_a_redo_log_beyond_the_free_space_is_not_even_tried(
    attempt: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_module, "_check_options", lambda *_: pytest.fail("it was tried"))
    with pytest.raises(RunFailed, match=r"with its redo log, which takes .* TB") as full:
        attempt({}, redo_bytes=1 << 60)
    assert full.value.outcome is Outcome.DISK_FULL


@pytest.mark.server
def test_a_silent_check_is_ended(server_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_module, "_CHECK_DEADLINE_S", 0.2)
    slow = pretend(server_tmp, "exec sleep 60")
    (server_tmp / "pristine").mkdir()
    with pytest.raises(RunFailed) as late:
        try_config(slow, {}, pristine=server_tmp / "pristine", work_dir=server_tmp / "trials")
    assert late.value.outcome is Outcome.TIMED_OUT


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Stands in for the initialisation of a server; the folders that it filled."""
    calls: list[Path] = []

    def create(binary: ServerBinary, data_dir: Path, *, options: Mapping[str, str]) -> None:
        calls.append(data_dir)
        data_dir.mkdir()
        time.sleep(0.2)
        (data_dir / "ibdata1").write_text(options["innodb_page_size"])

    monkeypatch.setattr(golden, "create_data_dir", create)
    return calls


def test_it_is_made_once_and_by_page_size(tmp_path: Path, maker: list[Path]) -> None:
    def make(page_size: int = 16384) -> Path:
        return initialized_data_dir(OTHER, tmp_path / "d", page_size=page_size)

    assert make() == make()
    assert make().parent.parent == tmp_path / "d" / "datasets"
    assert (make(8192) / "ibdata1").read_text() == "8192"
    assert len(maker) == 2
    with pytest.raises(ValueError, match="page_size"):
        make(5000)
