"""Picks the workload driver of a study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.drivers.protocol import LocalDriver
from benchmarks.drivers.sysbench import Sysbench, find_sysbench
from benchmarks.drivers.tpcc_mysql import TpccMysql, find_tpcc_start
from benchmarks.errors import NoDriver
from benchmarks.processes.child import may
from benchmarks.processes.users import server_user

AUTO = "auto"

_GET_TPCC_MYSQL = (
    "Get tpcc-mysql: build it from https://github.com/Percona-Lab/tpcc-mysql and put tpcc_start on"
    " PATH, or name its directory in TPCC_MYSQL_HOME"
)
_GET_SYSBENCH = "Get sysbench: install the package sysbench (1.0 or later)"

#: Each driver, where its program is, and how to get it; the first that can be used is taken.
_PREFERRED: tuple[tuple[type[TpccMysql | Sysbench], Callable[[], Path | None], str], ...] = (
    (TpccMysql, find_tpcc_start, _GET_TPCC_MYSQL),
    (Sysbench, find_sysbench, _GET_SYSBENCH),
)
DRIVERS = tuple(driver.name for driver, _, _ in _PREFERRED)


def find_driver(name: str = AUTO) -> LocalDriver:
    """The driver called `name`; with "auto" tpcc-mysql where it is installed, else sysbench.

    Raises `NoDriver` when it is not installed or nothing is called that.
    """
    if name not in (AUTO, *DRIVERS):
        choices = ", ".join((AUTO, *DRIVERS))
        raise NoDriver(f"There is no workload driver {name!r}; there are: {choices}.")
    reasons = []
    for driver, find, how_to_get in _PREFERRED:
        if name in (AUTO, driver.name):
            program = find()
            refusal = _refusal(program) if program else how_to_get
            if program and not refusal:
                return driver(program)
            reasons.append(refusal)
    what = "No workload driver can" if name == AUTO else f"The workload driver {name} cannot"
    raise NoDriver(f"{what} be used. {'; or '.join(reasons)}.")


def _refusal(program: Path) -> str:
    """Why the user that drivers run as cannot run a program; "" if that user can."""
    user = server_user()
    if user is None or may("-x", program.resolve()):
        return ""
    return (
        f"{program}: the user {user.name}, which drivers run as, cannot run it; every directory "
        "on the way to it must let that user pass (chmod o+x)"
    )
