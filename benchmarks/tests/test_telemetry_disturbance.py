"""Conditions of a run against its limits: quiet runs pass, each disturbance is named."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchmarks.telemetry.conditions import Conditions, conditions_between
from benchmarks.telemetry.disturbance import (
    Disturbance,
    Kind,
    Limits,
    conditions_document,
    find_disturbances,
    host_changed,
    reason,
    steal_limit,
    unwatched,
    wrong_interval,
)
from benchmarks.telemetry.host import HostCounters
from benchmarks.telemetry.process_usage import ForeignProgram, ProcessUsage
from benchmarks.telemetry.snapshot import DiskCounters, Snapshot

SECONDS = 20.0
LIMITS = Limits()
# A run as recorded on 2 CPUs, 20 s long: both busy, 1.2 of them with mysqld, 0.3 with the driver.
START = Snapshot(
    t=100.0,
    cpu_user_s=0.0,
    cpu_sys_s=0.0,
    cpu_iowait_s=0.0,
    cpu_steal_s=0.0,
    cpu_total_s=0.0,
    server_cpu_s=0.0,
    data=DiskCounters(0, 0, 0, 0, busy_s=0.0),
    host=HostCounters(0, 0.0, 0.0, 0.0, None, 0.0),
)
END = replace(
    START,
    t=100.0 + SECONDS,
    cpu_user_s=22.0,
    cpu_sys_s=11.0,
    cpu_irq_s=4.0,
    cpu_total_s=2 * SECONDS,
    server_cpu_s=24.0,
    own_cpu_s=0.1,
    data=DiskCounters(300, 20_000, 150_000_000, 1_400_000_000, busy_s=3.5),
    host=HostCounters(0, 16.0, 0.1, 0.0, None, 0.0),
)
DRIVER_CPU_S = 6.0
PROCESSES = ProcessUsage(
    seconds=SECONDS,
    foreign=(ForeignProgram("sshd", 0.1, 40_000),),
    kernel_cpu_s=0.5,
    own_read_bytes=149_000_000,
    own_write_bytes=1_330_000_000,
    sees_io=True,
)


def conditions(
    end: Snapshot = END,
    processes: ProcessUsage | None = PROCESSES,
    start: Snapshot = START,
    times: list[float] | None = None,
) -> Conditions:
    return conditions_between(
        start,
        end,
        times=times or [100.0 + second for second in range(int(SECONDS) + 1)],
        period_s=1.0,
        processes=processes,
        driver_cpu_s=DRIVER_CPU_S,
    )


def only(seen: Conditions, limits: Limits = LIMITS) -> Disturbance:
    (found,) = find_disturbances(seen, limits)
    return found


def test_a_busy_run_on_a_quiet_host_is_not_disturbed() -> None:
    seen = conditions()
    assert find_disturbances(seen, LIMITS) == []
    assert seen.foreign_cpu_pct == pytest.approx(0.25)  # sshd alone
    assert seen.foreign_io_pct == pytest.approx(100 * (3.5 / 20) * 40_000 / 1.55e9)
    assert seen.cpu_wait_pct == pytest.approx(80.0)
    assert unwatched(seen, LIMITS) == [
        "a falling clock: not reported by this host",
        "throttling: not reported by this host",
    ]


def test_steal() -> None:
    found = only(conditions(replace(END, cpu_steal_s=4.0)))
    assert (found.kind, found.limit) == (Kind.STEAL, 5.0)
    assert found.value == pytest.approx(10.0)
    assert found.text == ("steal time: the hypervisor took 10.0 % of the CPU time (limit 5 %)")


@pytest.mark.parametrize(
    ("earlier", "limit"),
    [
        ([], 5.0),
        ([6.0, 7.0], 5.0),  # too few to know what is usual
        ([0.0] * 9, 5.0),
        ([6.0, 7.0, 5.5], 11.0),
        ([0.4] * 5 + [60.0] * 4, 5.4),  # a burst is not usual
        ([40.0] * 9, 20.0),
    ],
)
def test_steal_is_compared_with_what_is_usual_on_the_host(
    earlier: list[float], limit: float
) -> None:
    assert steal_limit(5.0, earlier) == limit
    assert steal_limit(0.0, earlier) == 0.0


def test_a_foreign_process_is_named() -> None:
    processes = replace(
        PROCESSES, foreign=(ForeignProgram("make", 8.0, 0), ForeignProgram("sshd", 0.1, 0))
    )
    found = only(conditions(processes=processes))
    assert found.kind is Kind.FOREIGN_CPU
    assert found.text == (
        "other programs used 20.2 % of the host's CPU time (limit 10 %), most by make (20.0 %)"
    )


def test_processes_too_short_lived_to_be_counted_still_show() -> None:
    """All of what was used less what is ours, when the count met no foreign process."""
    busier = replace(END, cpu_user_s=29.0)  # 7 s more than mysqld, driver and ourselves used
    assert conditions(busier).foreign_cpu_pct == pytest.approx(100 * (36 - 30.6) / 40)
    assert only(conditions(busier)).kind is Kind.FOREIGN_CPU
    # From inside of a container no process of others is seen at all: only what is beside us there.
    beside_us = (ForeignProgram("python", 0.2, 0),)
    blind = replace(PROCESSES, foreign=beside_us, kernel_cpu_s=0.0, sees_io=False)
    found = only(conditions(busier, blind))
    assert found.kind is Kind.FOREIGN_CPU
    assert found.text.endswith(", of those that are seen most by python (0.5 %)")


def test_the_kernels_own_threads_are_not_foreign() -> None:
    """Write-back and journal work for mysqld: 6 s of theirs, as a config may cause them."""
    busier = replace(END, cpu_sys_s=17.0)
    processes = replace(PROCESSES, kernel_cpu_s=6.5)
    assert find_disturbances(conditions(busier, processes), LIMITS) == []


def test_the_share_is_of_all_cpus() -> None:
    """One busy process is half of 2 CPUs and nothing much of 64."""
    processes = replace(PROCESSES, foreign=(ForeignProgram("perl", 20.0, 0),))
    large = replace(END, cpu_total_s=64 * SECONDS)
    assert only(conditions(processes=processes)).value == pytest.approx(50.0)
    assert find_disturbances(conditions(large, processes), LIMITS) == []


DD = DiskCounters(300, 20_000, 150_000_000, 6_200_000_000, busy_s=9.0)


def test_foreign_writes_on_the_same_disk() -> None:
    processes = replace(PROCESSES, foreign=(ForeignProgram("dd", 1.0, 4_800_000_000),))
    found = only(conditions(replace(END, data=DD), processes))
    assert found.kind is Kind.FOREIGN_IO
    assert found.value == pytest.approx(100 * (9 / 20) * 4.8e9 / 6.35e9)
    assert "other programs moved 240 MB/s" in found.text
    assert "most by dd (240.0 MB/s)" in found.text


def test_foreign_writes_on_another_disk_are_none() -> None:
    processes = replace(PROCESSES, foreign=(ForeignProgram("dd", 1.0, 4_800_000_000),))
    seen = conditions(END, processes)
    assert seen.foreign_io_mb_s == pytest.approx(71_000_000 / 1e6 / SECONDS)  # the journal's
    assert find_disturbances(seen, LIMITS) == []


def test_no_program_is_named_with_more_than_all_moved() -> None:
    """As a shell is charged with what its children moved long before."""
    processes = replace(PROCESSES, foreign=(ForeignProgram("bash", 0.1, 90_000_000_000),))
    seen = conditions(replace(END, data=DD), processes)
    assert seen.foreign_io_mb_s == pytest.approx((6.35e9 - 1.479e9) / 1e6 / SECONDS)
    assert dict(seen.by_io)["bash"] == pytest.approx(seen.foreign_io_mb_s)


def test_the_journal_and_write_back_are_not_foreign() -> None:
    """Three times what mysqld wrote, and no foreign process that wrote anything."""
    journal = replace(END, data=DiskCounters(300, 90_000, 150_000_000, 4_000_000_000, busy_s=15))
    assert find_disturbances(conditions(journal), LIMITS) == []


def test_without_a_look_at_others_only_what_no_journal_explains_is_foreign() -> None:
    blind = replace(PROCESSES, foreign=(), sees_io=False)
    own = replace(END, data=DiskCounters(300, 90_000, 150_000_000, 3_900_000_000, busy_s=15))
    assert find_disturbances(conditions(own, blind), LIMITS) == []
    reading = replace(END, data=DiskCounters(9_000, 20_000, 2_150_000_000, 1_400_000_000, 15.0))
    assert only(conditions(reading, blind)).kind is Kind.FOREIGN_IO
    writing = replace(END, data=DiskCounters(300, 90_000, 150_000_000, 9_000_000_000, 15.0))
    assert only(conditions(writing, blind)).kind is Kind.FOREIGN_IO


def test_the_log_disk_counts_as_well() -> None:
    start = replace(START, log=DiskCounters(0, 0, 0, 0, busy_s=0.0))
    end = replace(END, log=DiskCounters(0, 50_000, 0, 4_800_000_000, busy_s=18.0))
    processes = replace(PROCESSES, foreign=(ForeignProgram("dd", 1.0, 4_800_000_000),))
    assert only(conditions(end, processes, start)).value > 50


def test_little_foreign_io_on_a_slow_disk_is_let_pass() -> None:
    slow = replace(END, data=DiskCounters(10, 2000, 0, 12_000_000, busy_s=20.0))
    processes = replace(
        PROCESSES,
        own_read_bytes=0,
        own_write_bytes=6_000_000,
        foreign=(ForeignProgram("rsyslogd", 0.1, 6_000_000),),
    )
    seen = conditions(slow, processes)
    assert seen.foreign_io_pct == pytest.approx(50.0)
    assert find_disturbances(seen, LIMITS) == []


@pytest.mark.parametrize("data", [None, DD])
def test_without_counters_foreign_io_is_not_watched(data: DiskCounters | None) -> None:
    start, end = replace(START, data=None), replace(END, data=data)
    seen = conditions(end, start=start)
    assert seen.foreign_io_pct is None
    assert "foreign I/O: not reported by this host" in unwatched(seen, LIMITS)


def test_a_host_that_stood_still() -> None:
    times = [100.0, 101.0, 104.2, 105.0, *(106.0 + n for n in range(15))]
    found = only(conditions(times=times))
    assert found.kind is Kind.STALL
    assert found.value == pytest.approx(2.2)
    assert found.text == "the host stalled for 2.2 of 20 s (limit 1 s)"


def test_late_samples_of_a_busy_host_are_no_stall() -> None:
    late = [100.0 + second + 0.4 * (second % 2) for second in range(21)]
    assert conditions(times=late).stalled_s == 0
    once = [100.0, 101.0, 102.9, 103.0]
    assert find_disturbances(conditions(times=once), LIMITS) == []


def test_a_short_stall_does_not_void_an_hour() -> None:
    hour = replace(END, t=100.0 + 3600, cpu_total_s=7200.0)
    times = [100.0, 105.0, *(106.0 + second for second in range(3594))]
    assert conditions(hour, times=times).stalled_s == pytest.approx(4.0)
    assert find_disturbances(conditions(hour, times=times), LIMITS) == []
    assert only(conditions(times=[100.0, 105.0])).kind is Kind.STALL


@pytest.mark.parametrize(
    ("counters", "kind", "text"),
    [
        (
            HostCounters(swap_bytes=100_000_000),
            Kind.SWAP,
            "the host swapped 5.0 MB/s (limit 1 MB/s)",
        ),
        (
            HostCounters(asleep_s=30.0),
            Kind.SUSPENDED,
            "the machine was suspended for 30.0 s (limit 1 s)",
        ),
        (
            HostCounters(throttled_s={"cpu0": 60.0, "cpu1": 3.0}),
            Kind.THROTTLED,
            "a CPU was throttled because of its temperature for 15.0 % of the time (limit 1 %)",
        ),
    ],
)
def test_counters_of_the_host(counters: HostCounters, kind: Kind, text: str) -> None:
    start = replace(START, host=HostCounters(0, 0.0, 0.0, 0.0, {"cpu0": 60.0, "cpu1": 0.0}, 0.0))
    found = only(conditions(replace(END, host=counters), start=start))
    assert (found.kind, found.text) == (kind, text)


def test_a_clock_that_falls_and_one_that_rises() -> None:
    found = only(conditions(processes=replace(PROCESSES, clock_ratio=0.7)))
    assert (found.kind, found.text) == (
        Kind.SLOWER_CLOCK,
        "the CPU clock rate fell by 30 % (limit 15 %)",
    )
    for ratio in (0.9, 1.0, 1.4):
        assert not find_disturbances(
            conditions(processes=replace(PROCESSES, clock_ratio=ratio)), LIMITS
        )


def test_what_is_switched_off_is_said_and_not_judged() -> None:
    off = Limits(0, 0, 0, 0, 0, 0, 0)
    worst = replace(
        conditions(times=[100.0, 110.0]),
        steal_pct=50.0,
        foreign_cpu_pct=50.0,
        foreign_io_pct=50.0,
        foreign_io_mb_s=100.0,
        asleep_s=50.0,
        swap_mb_s=50.0,
        slower_clock_pct=50.0,
        throttled_pct=50.0,
    )
    assert find_disturbances(worst, off) == []
    assert len(find_disturbances(worst, LIMITS)) == 8
    assert len(unwatched(worst, off)) == 7
    assert all(line.endswith(": switched off") for line in unwatched(worst, off))


def test_all_that_was_found_is_one_line_and_one_document() -> None:
    seen = conditions(replace(END, cpu_steal_s=4.0), times=[100.0, 105.0])
    found = find_disturbances(seen, LIMITS)
    assert [disturbance.kind for disturbance in found] == [Kind.STALL, Kind.STEAL]
    assert reason(found) == f"{found[0].text}; {found[1].text}"
    assert "\n" not in reason(found)
    document = json.loads(json.dumps(conditions_document(seen, LIMITS)))
    assert document["steal_pct"] == 10.0
    assert document["by_cpu"] == [["sshd", 0.25]]
    assert document["limits"]["steal_pct"] == 5.0
    assert json.loads(json.dumps(found[1].as_document())) == {
        "kind": "steal",
        "value": 10.0,
        "limit": 5.0,
        "unit": "%",
        "text": found[1].text,
    }


def test_a_setting_that_was_changed_meanwhile() -> None:
    before = {"cpu_governor": "performance", "kernel": "6.1"}
    assert host_changed(before, dict(before)) is None
    found = host_changed(before, {**before, "cpu_governor": "powersave"})
    assert found is not None
    assert found.text == "the host changed while measuring: cpu_governor performance -> powersave"


@pytest.mark.parametrize(
    ("measured_s", "seen_s"), [(10.0, 8.5), (10.0, 11.5), (1.0, 0.001), (1.0, 1.6), (600.0, 608.0)]
)
def test_snapshots_of_another_interval_void_the_run(measured_s: float, seen_s: float) -> None:
    found = wrong_interval(measured_s, seen_s)
    assert found is not None
    assert found.kind is Kind.INTERVAL
    assert found.value == pytest.approx(abs(seen_s - measured_s))
    assert found.text == (
        f"telemetry covers {seen_s:.1f} s of a measured interval of {measured_s:.1f} s"
    )


@pytest.mark.parametrize(
    ("measured_s", "seen_s"), [(10.0, 10.0), (10.0, 11.1), (10.0, 8.9), (1.0, 1.5), (600.0, 606.5)]
)
def test_a_second_more_or_less_is_the_same_interval(measured_s: float, seen_s: float) -> None:
    assert wrong_interval(measured_s, seen_s) is None
