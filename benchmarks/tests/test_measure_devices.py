"""Real runs on emulated devices and with redo logs in a directory of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.drivers.protocol import Load
from benchmarks.drivers.workloads import tpcc
from benchmarks.emulation.device import why_unavailable
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.errors import RunFailed
from benchmarks.measurement.measure import measure
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.outcomes import Outcome
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.storage.layout import DeviceLayout
from benchmarks.tests.conftest import GOLDEN_WAREHOUSES
from benchmarks.tests.quick import unhurried

pytestmark = [pytest.mark.server, pytest.mark.slow]

IOPS = 200
HDD = EmulationProfile(
    "hdd", "hdd", read_iops=IOPS, write_iops=IOPS, memory_bytes=900 * 1000 * 1000
)


@pytest.fixture
def plan(mysql_binary: ServerBinary, plan_on: Callable[[ServerBinary], Plan]) -> Plan:
    load = Load(tpcc(GOLDEN_WAREHOUSES), 4, warmup_s=1, measure_s=4, seed=1)
    return replace(plan_on(mysql_binary), load=load, options={"performance_schema": "OFF"})


def run(plan: Plan, steps: list[str] | None = None) -> Measurement:
    heard = [] if steps is None else steps
    return measure(plan, report=heard.append, should_stop=lambda: False)


@pytest.mark.alone
def test_a_run_under_limits_keeps_to_them_and_says_so(plan: Plan) -> None:
    if reason := why_unavailable(HDD, [plan.layout.data_dir]):
        pytest.skip(f"no emulated devices here: {reason}")
    free = run(replace(plan, load=replace(plan.load, warmup_s=0, measure_s=2)))
    held = run(replace(plan, emulation=HDD))
    assert held.metrics is not None
    assert free.metrics is not None
    assert held.metrics.throughput < free.metrics.throughput / 4
    # Flushes and the file system's journal are not all held back, so somewhat more is possible.
    writes, free_writes = held.metrics.data_write_iops, free.metrics.data_write_iops
    assert writes is not None
    assert free_writes is not None
    assert writes < 3 * IOPS < free_writes
    assert held.fingerprint["emulation"] == HDD.label()
    assert "emulation" not in free.fingerprint
    assert held.comparability_key != free.comparability_key
    assert not list(plan.layout.run_dir("").iterdir())


def test_a_server_that_needs_more_than_the_limit_is_out_of_memory(plan: Plan) -> None:
    tight = EmulationProfile("native", memory_bytes=100 * 1000 * 1000)
    if reason := why_unavailable(tight, [plan.layout.data_dir]):
        pytest.skip(f"no emulated devices here: {reason}")
    with pytest.raises(RunFailed) as failed:
        run(replace(plan, emulation=tight))
    assert failed.value.outcome is Outcome.OUT_OF_MEMORY
    assert not list(plan.layout.run_dir("").iterdir())


def test_redo_logs_go_where_they_are_sent(
    any_server: ServerBinary, plan_on: Callable[[ServerBinary], Plan], server_tmp: Path
) -> None:
    plan = plan_on(any_server)
    logs = server_tmp / "logs"
    logs.mkdir()
    places: list[list[str]] = []
    load = replace(plan.load, warmup_s=0, measure_s=1)
    quick = replace(plan, load=load, options=unhurried(any_server))
    apart = replace(quick, layout=DeviceLayout(plan.layout.data_dir, logs))

    def look(step: str) -> None:
        if step == "measuring":
            redo = [*logs.rglob("#innodb_redo"), *logs.rglob("ib_logfile0")]
            places.append(sorted(path.name for path in redo))

    mariadb = any_server.flavour is Flavour.MARIADB
    # That the option moves nothing is the same with every server.
    for each in (apart, replace(apart, logs_with_data=True))[: 2 if mariadb else 1]:
        found = measure(each, report=look, should_stop=lambda: False)
        # Both ways the log's device is looked at, so that the two can be compared.
        assert found.fingerprint["log_kind"] == found.fingerprint["data_kind"]
    assert places == ([["ib_logfile0"], []] if mariadb else [["#innodb_redo"]])
    assert not list(plan.layout.run_dir("").iterdir())
    assert not [path for path in logs.rglob("*") if path.is_file()]
