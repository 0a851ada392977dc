"""Picks the workload driver of a study."""

from __future__ import annotations

from pathlib import Path

from benchmarks.drivers.protocol import LocalDriver
from benchmarks.drivers.sysbench import Sysbench, find_sysbench
from benchmarks.drivers.tpcc_mysql import TpccMysql, find_tpcc_start
from benchmarks.errors import NoDriver
from benchmarks.processes.child import may

AUTO = "auto"

#: Each driver, where its program is, and how to get it; the first that can be used is taken.
_PREFERRED = (
    (
        TpccMysql,
        find_tpcc_start,
        "Get tpcc-mysql: build it from https://github.com/Percona-Lab/tpcc-mysql and put"
        " tpcc_start on PATH, or name its directory in TPCC_MYSQL_HOME",
    ),
    (Sysbench, find_sysbench, "Get sysbench: install the package sysbench (1.0 or later)"),
)
DRIVERS = tuple(driver.name for driver, _, _ in _PREFERRED)


def find_driver(name: str = AUTO) -> LocalDriver:
    """Return the driver of that name; for "auto" tpcc-mysql where it is installed, else sysbench.

    Raises `NoDriver` when it is not installed, or there is none of that name.
    """
    if name not in (AUTO, *DRIVERS):
        choices = ", ".join((AUTO, *DRIVERS))
        raise NoDriver(f"There is no workload driver {name!r}; there are: {choices}.")
    reasons = []
    for driver, find, how_to_get in _PREFERRED:
        if name not in (AUTO, driver.name):
            continue
        program: Path | None = find()
        if program is None:
            reasons.append(how_to_get)
        elif not may("-x", program.resolve()):
            reasons.append(
                f"{program}: the user which drivers run as cannot run it; every directory on the"
                " way to it must let that user pass (chmod o+x)"
            )
        else:
            return driver(program)
    what = "No workload driver can" if name == AUTO else f"The workload driver {name} cannot"
    raise NoDriver(f"{what} be used. {'; or '.join(reasons)}.")
