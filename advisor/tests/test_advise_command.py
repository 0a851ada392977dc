"""`manage.py advise` as a user runs it: real Redis, worker, server and driver."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.tests.harness import Home
from benchmarks.drivers.tpcc_mysql import find_tpcc_start
from benchmarks.emulation.device import why_unavailable
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.servers.binary import Flavour, ServerBinary
from tuning.results.document import Board, BoardRow, StudyDocument
from tuning.statistics.data import Metric

# Where no figures are compared, a second shows that there are some.
SHORT = ("--measure", "1")

# What a server may use, in bytes: enough for MariaDB, too little for all of the data as well.
LIMIT = 600_000_000

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture
def candidate(tmp_path: Path) -> Path:
    path = tmp_path / "mine.cnf"
    path.write_text("[mysqld]\ninnodb_io_capacity = 5000\nmax_connections = 200\n")
    return path


# Its home is empty: it begins by making its database. A second block of a real study is measured
# in test_ci_on_servers.
def test_presets_proposals_and_a_file_end_in_a_ranking_and_a_file_the_server_accepts(
    make_home: Callable[[ServerBinary], Home],
    mariadb_binary: ServerBinary,
    candidate: Path,
    tmp_path: Path,
) -> None:
    """With the usual template."""
    home = make_home(mariadb_binary)
    output = tmp_path / "my.cnf"
    done = home.run(
        *home.advise("--config", str(candidate), "--json", "--driver", "sysbench"),
        *("--output", str(output), "--blocks", "1", "--no-race", *SHORT),
    )
    assert done.returncode == 0, done.stderr
    document = StudyDocument.model_validate_json(done.stdout)
    [board] = document.boards
    assert board.recommendation is not None
    [advisor] = [one for one in document.candidates if one.name == "advisor"]
    assert {note["name"] for note in advisor.notes if note["action"] == "proposed"} >= {
        "innodb_buffer_pool_size",
        "innodb_log_file_size",
    }
    rows = rows_of(document, board)
    presets = {"server-default", "dedicated-server", "whitepaper-a"}
    assert set(rows) == presets | {"advisor", "mysqltuner", "mine"}
    standings = board.rankings[Metric.THROUGHPUT].standings
    assert sorted(one.rank or 0 for one in standings) == [1, 2, 3, 4, 5, 6]
    for name, row in rows.items():
        check_row(row, runs=2 if name == "server-default" else 1)
    baseline = board.rankings[Metric.THROUGHPUT].standing(board.baseline_id)
    assert baseline is not None
    assert baseline.ratio == 1.0
    assert _accepts(home.server, output)
    assert home.left_behind() == []


def rows_of(document: StudyDocument, board: Board) -> dict[str, BoardRow]:
    """The rows of a board by the names of their candidates."""
    return {document.candidate[row.candidate_id].name: row for row in board.rows}


def check_row(row: BoardRow, *, runs: int) -> None:
    assert row.outcome == "ok"
    assert row.runs == runs  # the baseline runs twice in each block
    figures = row.figures.model_dump()
    assert figures["throughput"] > 0
    assert 0 < figures["p95_ms"] <= figures["p99_ms"] <= figures["max_ms"]
    assert figures["host_path_length"] > figures["server_path_length"] > 0


def test_merged_and_unsafe_configs_are_distinguished_on_mysql(
    home: Home, mysql_binary: ServerBinary, tmp_path: Path
) -> None:
    """With a warm-up, and tpcc-mysql where it is installed.

    That a file which may lose commits is not written before that is acknowledged is seen in
    test_terminal_files, rankings of two classes in test_study_race.
    """
    home = replace(home, server=mysql_binary)
    texts = {
        "unsafe": "innodb_flush_log_at_trx_commit = 2\nquery_cache_size = 0\n",
        "same": "innodb_flush_log_at_trx_commit = 2\n",
    }
    configs = []
    for name, text in texts.items():
        (tmp_path / f"{name}.cnf").write_text(f"[mysqld]\n{text}")
        configs += ["--config", str(tmp_path / f"{name}.cnf")]
    output = tmp_path / "my.cnf"
    driver = "tpcc-mysql" if find_tpcc_start() else "sysbench"
    done = home.run(
        *home.advise("--template", "compare", *configs, "--blocks", "1", "--driver", driver),
        *("--durability", "d1", "--acknowledge", "d1", "--translate-from", "mysql 5.7"),
        *("--output", str(output), "--json", "--no-race", "--no-confirm", "--warmup", "1", *SHORT),
    )
    assert done.returncode == 0, done.stderr
    document = StudyDocument.model_validate_json(done.stdout)
    candidates = {one.name: one for one in document.candidates}
    unsafe = candidates["unsafe"]
    assert unsafe.durability == "D1"
    assert [line["fate"] for line in unsafe.lines] == ["measured", "removed"]
    assert [stage["passed"] for stage in unsafe.checks] == [True] * 4
    assert candidates["same"].merged_into_id == unsafe.id
    [board] = document.boards
    rows = rows_of(document, board)
    assert board.durability == "D1"
    assert set(rows) == {"server-default", "unsafe"}
    check_row(rows["server-default"], runs=2)
    check_row(rows["unsafe"], runs=1)
    assert _accepts(home.server, output)
    assert home.left_behind() == []


def test_one_study_over_two_emulated_devices(home: Home, candidate: Path) -> None:
    limits = EmulationProfile("hdd", "hdd", read_iops=200, write_iops=200, memory_bytes=LIMIT)
    if reason := why_unavailable(limits, [home.device]):
        pytest.skip(f"no emulated devices here: {reason}")
    devices = ("--emulate", "hdd", "--emulate", "native", "--memory-limit", f"{LIMIT // 10**6}")
    # A transaction that reads hundreds of pages takes the emulated disk more than a second.
    load = ("--connections", "2", "--driver", "sysbench", "--measure", "3")
    few = ("--blocks", "1", "--no-race", "--no-confirm", *load)
    done = home.run(
        *home.advise("--template", "compare", "--config", str(candidate), *devices, *few),
        "--json",
    )
    assert done.returncode == 0, done.stderr
    document = StudyDocument.model_validate_json(done.stdout)
    hdd, native = document.devices
    assert hdd.kind == "hdd"
    assert hdd.emulation_limits == "200 IOPS read, 200 IOPS write, 600 MB memory"
    assert native.emulation_limits == "600 MB memory"
    figures = {
        (board.device_id, name): row.figures.throughput or 0.0
        for board in document.boards
        for name, row in rows_of(document, board).items()
    }
    assert len(figures) == 4
    assert 0.0 not in figures.values(), done.stderr
    for config in ("server-default", candidate.stem):
        assert figures[hdd.id, config] < figures[native.id, config] / 2
    assert all(board.recommendation for board in document.boards)
    assert home.left_behind() == []


def _accepts(server: ServerBinary, my_cnf: Path) -> bool:
    """Whether the server takes the file, by its own check where it has one. An unpacked MySQL
    lacks the folder that Debian's build names for exports, so that is switched off.
    """
    my_cnf.chmod(0o644)
    arguments = ["--user=nobody", "--secure-file-priv=NULL", "--validate-config"]
    if server.flavour is Flavour.MARIADB:
        arguments = ["--user=nobody", "--verbose", "--help"]
    check = subprocess.run(
        [server.path, f"--defaults-file={my_cnf}", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return check.returncode == 0 and "[ERROR]" not in check.stderr


def test_a_workload_of_sysbench_ends_in_a_recommendation_and_a_file(
    home: Home, mysql_binary: ServerBinary, candidate: Path, tmp_path: Path
) -> None:
    home, output = replace(home, server=mysql_binary), tmp_path / "my.cnf"
    done = home.run(
        *("advise", "--server", str(home.server.path), "--device", str(home.device), "--json"),
        *("--workload", "oltp_read_write", "--tables", "2", "--table-size", "1000"),
        *("--template", "compare", "--config", str(candidate), "--output", str(output)),
        *("--connections", "1", "--warmup", "0", "--blocks", "1", "--no-race", "--no-confirm"),
        *SHORT,
    )
    assert done.returncode == 0, done.stderr
    document = StudyDocument.model_validate_json(done.stdout)
    [board], [workload] = document.boards, document.workloads
    assert workload.title == "oltp_read_write, 2 tables of 1,000 rows"
    assert (workload.driver, workload.unit) == ("sysbench", "transactions/min")
    assert board.recommendation is not None
    for name, row in rows_of(document, board).items():
        check_row(row, runs=2 if name == "server-default" else 1)
    assert workload.title in output.read_text()
    assert _accepts(home.server, output)
