"""What tpcc_start printed in real runs (recorded/README.md) is understood, its traps included."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from benchmarks.drivers import program, tpcc_output
from benchmarks.drivers.checks import verdict
from benchmarks.drivers.program import redact
from benchmarks.drivers.protocol import ReportedSecond, TransactionCounts
from benchmarks.drivers.response_times import ResponseTimes
from benchmarks.drivers.tpcc_output import TpccOutput, measured_response_times
from benchmarks.drivers.workloads import tpcc
from benchmarks.outcomes import Outcome

RECORDED = Path(__file__).with_name("recorded")


@pytest.fixture(autouse=True)
def files_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read here was not written by a program."""
    monkeypatch.setattr(program, "server_user", lambda: None)


def parse(text: str, errors: str = "") -> TpccOutput:
    output = TpccOutput()
    for line in text.splitlines():
        output.feed(line)
    for line in errors.splitlines():
        output.feed_error(line)
    return output


def recorded(name: str) -> str:
    return (RECORDED / name).read_text()


@pytest.fixture
def response_times(tmp_path: Path) -> Path:
    path = tmp_path / "response-times.txt"
    compressed = RECORDED / "tpcc_start-ok.response-times.txt.gz"
    path.write_bytes(gzip.decompress(compressed.read_bytes()))
    return path


def test_counters_and_intervals_of_a_good_run_are_read() -> None:
    output = parse(recorded("tpcc_start-ok.txt"))
    assert output.ramp_up_started
    assert output.measuring_started
    assert output.finished
    assert output.counts == {
        "new_order": TransactionCounts(1837, 0, 0),
        "payment": TransactionCounts(1838, 0, 0),
        "order_status": TransactionCounts(183, 0, 0),
        "delivery": TransactionCounts(184, 0, 0),
        "stock_level": TransactionCounts(183, 0, 0),
    }
    assert output.intervals == [205, 204, 205, 207, 174, 163, 148, 182, 171, 178]
    assert output.newest == ReportedSecond(10, 178, 44.267)
    assert verdict(output.counts, tpcc(1)) is None


def test_late_transactions_are_completed_ones() -> None:
    text = recorded("tpcc_start-ok.txt").replace("sc:1837  lt:0", "sc:1000  lt:837")
    assert parse(text).counts["new_order"].completed == 1837


def test_a_cut_off_output_is_not_a_finished_run() -> None:
    text = recorded("tpcc_start-ok.txt")
    assert not parse(text[: text.index("<TpmC>")]).finished
    assert not parse(text.replace("[3] sc:184  lt", "[3] sc:xxx  lt")).finished


def test_no_server_is_seen_although_the_exit_status_and_the_format_are_those_of_success() -> None:
    output = parse(
        recorded("tpcc_start-no-server.txt"), recorded("tpcc_start-no-server.stderr.txt")
    )
    assert output.finished  # it even prints "0.000 TpmC", after averages of "-nan"
    assert output.lost_threads == 4
    assert output.connection_lost == "2002, Can't connect to server on '127.0.0.1' (115)"
    assert verdict(output.counts, tpcc(1)) == (
        Outcome.ZERO_WORK,
        "No New-Order was completed in the measured interval.",
    )


def test_a_server_that_was_killed_shows_in_failures_only() -> None:
    output = parse(
        recorded("tpcc_start-server-killed.txt"),
        recorded("tpcc_start-server-killed.stderr.txt"),
    )
    assert output.finished
    new_orders = output.counts["new_order"]
    assert (new_orders.completed, new_orders.failed) == (688, 214)
    assert verdict(output.counts, tpcc(1)) == (
        Outcome.DRIVER_FAILED,
        "487 of 2074 transactions failed.",
    )
    assert output.lost_threads == 8  # the first of them on the line of "STOPPING THREADS"
    assert output.connection_lost == "2013, Lost connection to server during query"
    assert output.commonest_error() == "2006, Server has gone away"


def test_errors_of_the_server_do_not_count_as_a_lost_connection() -> None:
    errors = (
        "neword 3:7\n1213, 40001, Deadlock found when trying to get lock; try restarting\n" * 3
    )
    output = parse("", errors)
    assert not output.connection_lost
    assert output.commonest_error().startswith("1213, Deadlock")


def test_kinds_of_errors_are_counted_without_bound_but_kept_with_one() -> None:
    output = TpccOutput()
    for number in range(10_000):
        output.feed_error(f"1062, 23000, Duplicate entry '{number}' for key 'PRIMARY'")
    assert len(output.errors) == 100


def test_the_password_is_taken_out_of_both_lines_that_show_it() -> None:
    text = redact(recorded("tpcc_start-no-server.txt"))
    assert "secret" not in text
    assert "option p with value  [hidden]" in text
    assert "[pass]: [hidden]" in text
    assert "option u with value 'tp0'" in text


def test_as_many_response_times_as_new_orders_were_counted(response_times: Path) -> None:
    output = parse(recorded("tpcc_start-ok.txt"))
    completed = output.counts["new_order"].completed
    times = measured_response_times(response_times, completed=completed, measure_s=10)
    assert times.count == completed
    assert times.per_second() == output.intervals


@pytest.mark.parametrize("chunk", [tpcc_output._CHUNK, 1000, 7])
def test_ramp_up_and_stragglers_are_dropped_from_the_response_times(
    response_times: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tpcc_output, "_CHUNK", chunk)
    lines = np.loadtxt(response_times)
    # 205 of the lines marked 0 are of the first measured second.
    ramp_up = int(np.count_nonzero(lines[:, 0] == 0)) - 205
    stragglers = int(np.count_nonzero(lines[:, 0] == 10))
    assert (ramp_up, stragglers) == (576, 3)
    times = measured_response_times(response_times, completed=1837, measure_s=10)
    expected = ResponseTimes(10)
    measured = lines[ramp_up:-stragglers]
    expected.add(measured[:, 1], measured[:, 0].astype(int))
    assert times.to_bytes() == expected.to_bytes()
    # The program's own figures for the last second, of a histogram too, agree.
    assert times.p95_per_second()[-1] == pytest.approx(44.267, rel=0.05)
    assert measured[-178:, 1].max() == pytest.approx(73.340)


def test_response_times_stand_second_by_second(tmp_path: Path) -> None:
    path = tmp_path / "times"
    path.write_text("0 9\n0 1\n1 30\n0 2\n1 40\n2 7\n")
    times = measured_response_times(path, completed=5, measure_s=3)
    assert times.p95_per_second() == pytest.approx([2, 40, 7], rel=0.03)
    assert times.per_second() == [2, 2, 1]


def test_new_orders_that_ended_at_the_very_end_are_found(response_times: Path) -> None:
    times = measured_response_times(response_times, completed=1837 + 576 + 2, measure_s=10)
    assert times.count == 1837 + 576 + 2
    assert times.per_second()[-1] == 178 + 2


@pytest.mark.parametrize(
    "text", ["", "0 1.5\n0 2.5\n", "0 1.5\n0\n0 1.0\n", "0 1.5\nx y\n", "0 1.5\n" * 2 + "1 -"]
)
def test_a_file_of_response_times_that_is_short_or_broken_is_refused(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "times"
    path.write_text(text)
    with pytest.raises(ValueError, match="The response times"):
        measured_response_times(path, completed=3, measure_s=2)


def test_a_missing_file_of_response_times_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        measured_response_times(tmp_path / "absent", completed=1, measure_s=1)
