"""Conditions of a run against its limits: quiet runs pass, each disturbance is named."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

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
    switched_off,
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
    host=HostCounters(0, None, 0.0),
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
    host=HostCounters(0, None, 0.0),
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
    stalled_s: float = 0.0,
) -> Conditions:
    return conditions_between(
        start, end, stalled_s=stalled_s, processes=processes, driver_cpu_s=DRIVER_CPU_S
    )


def only(seen: Conditions, limits: Limits = LIMITS) -> Disturbance:
    (found,) = find_disturbances(seen, limits)
    return found


def using(*foreign: ForeignProgram, **more: Any) -> ProcessUsage:
    return replace(PROCESSES, foreign=foreign, **more)


def moving(read: int, written: int, busy_s: float) -> Snapshot:
    return replace(END, data=DiskCounters(300, 20_000, read, written, busy_s=busy_s))


DD = moving(150_000_000, 6_200_000_000, busy_s=9.0)
ANOTHERS_DD = ForeignProgram("dd", 1.0, 4_800_000_000)
BLIND = replace(PROCESSES, foreign=(), sees_io=False)


def test_a_busy_run_on_a_quiet_host_is_not_disturbed() -> None:
    seen = conditions()
    assert find_disturbances(seen, LIMITS) == []
    assert seen.foreign_cpu_pct == pytest.approx(0.25)  # sshd alone
    assert seen.foreign_io_pct == pytest.approx(100 * (3.5 / 20) * 40_000 / 1.55e9)
    assert unwatched(seen, LIMITS) == ["throttling: not reported by this host"]


SSHD = ForeignProgram("sshd", 0.1, 0)
# 7 s more than mysqld, driver and ourselves used
BUSIER = replace(END, cpu_user_s=29.0)


@pytest.mark.parametrize(
    ("seen", "kind", "value", "text"),
    [
        pytest.param(
            conditions(replace(END, cpu_steal_s=4.0)),
            *(Kind.STEAL, 10.0),
            "steal time: the hypervisor took 10.0 % of the CPU time (limit 5 %)",
            id="steal",
        ),
        pytest.param(
            conditions(processes=using(ForeignProgram("make", 8.0, 0), SSHD)),
            *(Kind.FOREIGN_CPU, 20.25),
            "used 20.2 % of the host's CPU time (limit 10 %), most by make (20.0 %)",
            id="a process is named",
        ),
        pytest.param(
            conditions(BUSIER),
            *(Kind.FOREIGN_CPU, 100 * (36 - 30.6) / 40),
            "",
            id="all used less ours, where the count met nobody",
        ),
        pytest.param(
            # From inside of a container only what is beside us there is seen.
            conditions(BUSIER, replace(BLIND, foreign=(SSHD,), kernel_cpu_s=0.0)),
            *(Kind.FOREIGN_CPU, 14.75),
            ", of the programs counted, most by sshd (0.2 %)",
            id="in a container",
        ),
        pytest.param(
            conditions(DD, using(ANOTHERS_DD)),
            *(Kind.FOREIGN_IO, 100 * (9 / 20) * 4.8e9 / 6.35e9),
            "other programs moved 240 MB/s, which kept the disk busy 34 % of the time "
            "(limit 10 %), most by dd (240.0 MB/s)",
            id="writes on the disk",
        ),
        pytest.param(
            conditions(
                replace(END, log=DiskCounters(0, 50_000, 0, 4_800_000_000, busy_s=18.0)),
                using(ANOTHERS_DD),
                replace(START, log=DiskCounters(0, 0, 0, 0, busy_s=0.0)),
            ),
            *(Kind.FOREIGN_IO, 100 * (18 / 20) * 4.8e9 / 6.35e9),
            "",
            id="writes on the disk of the logs",
        ),
        pytest.param(
            conditions(moving(2_150_000_000, 1_400_000_000, 15.0), BLIND),
            *(Kind.FOREIGN_IO, 42.28),
            "",
            id="reads that are not ours, others unseen",
        ),
        pytest.param(
            conditions(moving(150_000_000, 9_000_000_000, 15.0), BLIND),
            *(Kind.FOREIGN_IO, 41.07),
            "",
            id="more than a journal explains, others unseen",
        ),
        pytest.param(
            conditions(stalled_s=2.2),
            *(Kind.STALL, 2.2),
            "the host stalled for 2.2 of 20 s (limit 1 s)",
            id="stall",
        ),
        pytest.param(
            conditions(replace(END, host=HostCounters(swap_bytes=100_000_000))),
            *(Kind.SWAP, 5.0),
            "the host swapped 5.0 MB/s (limit 1 MB/s)",
            id="swap",
        ),
        pytest.param(
            conditions(replace(END, host=HostCounters(asleep_s=30.0))),
            *(Kind.SUSPENDED, 30.0),
            "the machine was suspended for 30.0 s (limit 1 s)",
            id="suspended",
        ),
        pytest.param(
            conditions(
                replace(END, host=HostCounters(throttled_s={"cpu0": 60.0, "cpu1": 3.0})),
                start=replace(START, host=HostCounters(throttled_s={"cpu0": 60.0, "cpu1": 0.0})),
            ),
            *(Kind.THROTTLED, 15.0),
            "a CPU was throttled because of its temperature for 15.0 % of the time (limit 1 %)",
            id="throttled",
        ),
    ],
)
def test_each_disturbance_is_found_alone_and_named(
    seen: Conditions, kind: Kind, value: float, text: str
) -> None:
    found = only(seen)
    assert found.kind is kind
    assert found.value == pytest.approx(value, abs=0.01)
    assert found.text.endswith(text)


SLOW_DISK = moving(0, 12_000_000, busy_s=20.0)
RSYSLOGD = ForeignProgram("rsyslogd", 0.1, 6_000_000)
HOUR = replace(END, t=100.0 + 3600, cpu_total_s=7200.0)


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(
            conditions(replace(END, cpu_sys_s=17.0), replace(PROCESSES, kernel_cpu_s=6.5)),
            id="write-back by the kernel's threads works for mysqld",
        ),
        pytest.param(
            conditions(
                replace(END, cpu_total_s=64 * SECONDS), using(ForeignProgram("perl", 20.0, 0))
            ),
            id="one busy process is nothing much of 64 CPUs",
        ),
        pytest.param(conditions(processes=using(ANOTHERS_DD)), id="writes on another disk"),
        pytest.param(
            conditions(moving(150_000_000, 4_000_000_000, 15.0)),
            id="three times mysqld's bytes, by the journal: no process wrote them",
        ),
        pytest.param(
            conditions(moving(150_000_000, 3_900_000_000, 15.0), BLIND),
            id="what a journal explains, others unseen",
        ),
        pytest.param(
            conditions(SLOW_DISK, using(RSYSLOGD, own_read_bytes=0, own_write_bytes=6_000_000)),
            id="little I/O on a slow disk",
        ),
        pytest.param(conditions(stalled_s=0.9), id="a stall of less than a second"),
        pytest.param(
            conditions(HOUR, stalled_s=4.0),
            id="a short stall in an hour",
        ),
    ],
)
def test_what_a_run_does_to_its_host_is_no_disturbance(seen: Conditions) -> None:
    assert find_disturbances(seen, LIMITS) == []


def test_no_program_is_named_with_more_than_all_moved() -> None:
    """As a shell is charged with what its children moved long before."""
    seen = conditions(DD, using(ForeignProgram("bash", 0.1, 90_000_000_000)))
    assert seen.foreign_io_mb_s == pytest.approx((6.35e9 - 1.479e9) / 1e6 / SECONDS)
    assert dict(seen.by_io)["bash"] == pytest.approx(seen.foreign_io_mb_s)


@pytest.mark.parametrize("data", [None, DD.data])
def test_without_counters_foreign_io_is_not_watched(data: DiskCounters | None) -> None:
    seen = conditions(replace(END, data=data), start=replace(START, data=None))
    assert seen.foreign_io_pct is None
    assert "foreign I/O: not reported by this host" in unwatched(seen, LIMITS)


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


def test_what_is_switched_off_is_said_and_not_judged() -> None:
    off = Limits(0, 0, 0, 0, 0, 0)
    worst = replace(
        conditions(stalled_s=9.0),
        steal_pct=50.0,
        foreign_cpu_pct=50.0,
        foreign_io_pct=50.0,
        foreign_io_mb_s=100.0,
        asleep_s=50.0,
        swap_mb_s=50.0,
        throttled_pct=50.0,
    )
    assert find_disturbances(worst, off) == []
    assert len(find_disturbances(worst, LIMITS)) == 7
    assert len(unwatched(worst, off)) == 6
    assert len(switched_off(unwatched(worst, off))) == 6


def test_all_that_was_found_is_one_line_and_one_document() -> None:
    seen = conditions(replace(END, cpu_steal_s=4.0), stalled_s=4.0)
    found = find_disturbances(seen, LIMITS)
    assert [disturbance.kind for disturbance in found] == [Kind.STALL, Kind.STEAL]
    assert reason(found) == f"{found[0].text}; {found[1].text}"
    document = json.loads(json.dumps(conditions_document(seen, LIMITS)))
    assert document["steal_pct"] == 10.0
    assert document["by_cpu"] == [["sshd", 0.25]]
    assert document["limits"]["steal_pct"] == 5.0
    stored = json.loads(json.dumps(found[1].as_document()))
    assert stored == {**asdict(found[1]), "kind": "steal", "value": 10.0}


def test_a_setting_that_was_changed_meanwhile() -> None:
    before = {"cpu_governor": "performance", "kernel": "6.1"}
    assert host_changed(before, dict(before)) is None
    found = host_changed(before, {**before, "cpu_governor": "powersave"})
    assert found is not None
    assert found.text == "the host changed while measuring: cpu_governor performance -> powersave"


@pytest.mark.parametrize(
    ("measured_s", "seen_s", "is_wrong"),
    [
        *((10.0, 8.5, True), (10.0, 11.5, True), (1.0, 0.001, True), (1.0, 1.6, True)),
        *((600.0, 608.0, True), (10.0, 10.0, False), (10.0, 11.1, False), (10.0, 8.9, False)),
        *((1.0, 1.5, False), (600.0, 606.5, False)),
    ],
)
def test_snapshots_of_another_interval_void_the_run(
    measured_s: float, seen_s: float, is_wrong: bool
) -> None:
    found = wrong_interval(measured_s, seen_s)
    assert (found is not None) == is_wrong
    if found is not None:
        assert (found.kind, found.value) == (Kind.INTERVAL, abs(seen_s - measured_s))
