"""Picks the workload driver of a study."""

from __future__ import annotations

from benchmarks.drivers.protocol import Driver
from benchmarks.drivers.sysbench import Sysbench, find_sysbench
from benchmarks.drivers.tpcc_mysql import TpccMysql, find_tpcc_start
from benchmarks.errors import NoDriver

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
        return TpccMysql(tpcc_start)
    if name in (AUTO, Sysbench.name) and (sysbench := find_sysbench()):
        return Sysbench(sysbench)
    missing = {TpccMysql.name: _GET_TPCC_MYSQL, Sysbench.name: _GET_SYSBENCH}
    ways = [way for driver, way in missing.items() if name in (AUTO, driver)]
    raise NoDriver("No workload driver is installed. Get " + "; or ".join(ways) + ".")
