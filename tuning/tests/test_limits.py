"""One sentence says what kept a config from being faster."""

from __future__ import annotations

from typing import Any

import pytest

from tuning.results.conditions import limit_sentence
from tuning.results.document import Figures, RunFacts

BUSY = {"cpu_user_pct": 80.0, "cpu_sys_pct": 15.0, "cpu_iowait_pct": 1.0}
WAITS = {"cpu_user_pct": 20.0, "cpu_sys_pct": 10.0, "cpu_iowait_pct": 50.0}
LOCKED = {"cpu_user_pct": 20.0, "cpu_sys_pct": 10.0, "cpu_iowait_pct": 2.0}
WRITES = {"data_read_iops": 10.0, "data_write_iops": 900.0, "data_write_mb_s": 40.0}


def run(**values: Any) -> RunFacts:
    nothing: Any = dict.fromkeys(RunFacts.model_fields)
    given: Any = nothing | {"figures": Figures(throughput=6000.0)} | values
    return RunFacts.model_construct(**given)


@pytest.mark.parametrize(
    ("values", "load_host", "said"),
    [
        (
            BUSY | {"server_cores": 1.6, "driver_cpu_ms_per_transaction": 2.0},
            "",
            "CPU of the serv",
        ),
        (
            BUSY | {"server_cores": 1.2, "driver_cpu_ms_per_transaction": 6.0},
            "",
            "CPU of the driv",
        ),
        (BUSY | {"server_cores": 1.2, "driver_cpu_ms_per_transaction": 6.0}, "db2", "ran on db2"),
        (WAITS | {"data_read_iops": 900.0, "data_write_iops": 10.0}, "", "Reads: 900 reads"),
        (WAITS | WRITES | {"redo_mb_s": 20.0}, "", "Commit latency: 10 reads and 900 writes"),
        (WAITS | WRITES | {"redo_mb_s": 2.0}, "", "Writes of pages: "),
        (WAITS, "", "The device (CPUs 30 % busy, 50 % waiting for the device)."),
        (LOCKED, "", "Locks or too few connections: CPUs 30 % busy"),
        (LOCKED | {"cpu_user_pct": 60.0}, "", "No single thing: CPUs 70 % busy"),
        ({}, "", ""),
    ],
)
def test_the_telemetry_names_the_limit(values: dict[str, Any], load_host: str, said: str) -> None:
    found = limit_sentence([run(**values)] * 3, load_host)
    assert said in found
    assert bool(found) == bool(said)


def test_a_driver_that_takes_the_cpus_leads_to_a_load_host() -> None:
    values = BUSY | {"server_cores": 1.2, "driver_cpu_ms_per_transaction": 6.0}
    assert "33 % of that by the driver" in limit_sentence([run(**values)])
    assert "A load host would show" in limit_sentence([run(**values)])
