"""Picks the workload driver of a study."""

from __future__ import annotations

from pathlib import Path

from benchmarks.drivers.protocol import Driver
from benchmarks.drivers.sysbench import Sysbench, find_sysbench
from benchmarks.drivers.tpcc_mysql import TpccMysql, find_tpcc_start
from benchmarks.errors import NoDriver
from benchmarks.servers.privileges import may, server_user

AUTO = "auto"
DRIVERS = (TpccMysql.name, Sysbench.name)

_GET_TPCC_MYSQL = (
    "tpcc-mysql: build it from https://github.com/Percona-Lab/tpcc-mysql and put tpcc_start on"
    " PATH, or name its directory in TPCC_MYSQL_HOME"
)
_GET_SYSBENCH = "sysbench: install the package sysbench (1.0 or later)"


def find_driver(name: str = AUTO) -> Driver:
    """The driver called `name`; with "auto" tpcc-mysql where it is installed, else sysbench.

    Raises `NoDriver` when it is not installed or nothing is called that.
    """
    if name not in (AUTO, *DRIVERS):
        choices = ", ".join((AUTO, *DRIVERS))
        raise NoDriver(f"There is no workload driver {name!r}; there are: {choices}.")
    if name in (AUTO, TpccMysql.name) and (tpcc_start := find_tpcc_start()):
        _check_may_run(tpcc_start)
        return TpccMysql(tpcc_start)
    if name in (AUTO, Sysbench.name) and (sysbench := find_sysbench()):
        _check_may_run(sysbench)
        return Sysbench(sysbench)
    missing = {TpccMysql.name: _GET_TPCC_MYSQL, Sysbench.name: _GET_SYSBENCH}
    ways = [way for driver, way in missing.items() if name in (AUTO, driver)]
    raise NoDriver("No workload driver is installed. Get " + "; or ".join(ways) + ".")


def _check_may_run(program: Path) -> None:
    user = server_user()
    if user is not None and not may(user, "-x", program.resolve()):
        raise NoDriver(
            f"The user {user.name}, which drivers run as, cannot run {program}: every directory "
            "on the way to it must let that user pass (chmod o+x)."
        )
