"""Say in one sentence why a config was not faster, by the telemetry of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.counted import percent
from tuning.results.document import RunFacts

# With CPUs busier than this transactions wait for a CPU; below _IDLE_PCT for something else.
_BUSY_PCT = 85.0
_IDLE_PCT = 60.0
# A driver with this share of the CPU time in use takes what the server could use.
_DRIVER_SHARE = 0.25
# The device is the limit if requests wait for it during this share of the unused CPU time.
_WAITING_SHARE = 0.25
# With less redo log than this among the bytes written, most writes are those of pages.
_REDO_SHARE = 0.3


def limit_sentence(runs: Sequence[RunFacts], load_host: str = "") -> str:
    """Return what limited these runs of a config; "" without telemetry.

    load_host: the name of the host that drove them; "": the driver ran beside the server.
    """
    busy = _median(runs, "cpu_user_pct", "cpu_sys_pct")
    waiting = _median(runs, "cpu_iowait_pct")
    if busy is None or waiting is None:
        return ""
    cpus = f"CPUs {busy:.0f} % busy"
    driver = None if load_host else _driver_share(runs)
    if busy >= _BUSY_PCT and driver is not None and driver >= _DRIVER_SHARE:
        return (
            f"CPU of the driver: {cpus}, {percent(driver)} of that by the driver on the server's "
            "own host. A load host would show what the server can do."
        )
    if busy >= _BUSY_PCT:
        beside = f"; the driver ran on {load_host}" if load_host else ""
        return f"CPU of the server: {cpus}{beside}."
    if waiting >= _WAITING_SHARE * (100 - busy):
        return f"{_of_the_device(runs)} ({cpus}, {waiting:.0f} % waiting for the device)."
    if busy < _IDLE_PCT:
        return f"Locks or too few connections: {cpus}, and the device is hardly waited for."
    return f"No single thing: {cpus}, and the device is hardly waited for."


def _of_the_device(runs: Sequence[RunFacts]) -> str:
    reads, writes = _median(runs, "data_read_iops"), _median(runs, "data_write_iops")
    if reads is None or writes is None:
        return "The device"
    figures = f"{reads:,.0f} reads and {writes:,.0f} writes per second"
    if reads >= writes:
        return f"Reads: {figures}"
    redo, written = _median(runs, "redo_mb_s"), _median(runs, "data_write_mb_s")
    if redo is not None and written and redo >= _REDO_SHARE * written:
        return f"Commit latency: {figures}, most of them for the redo log"
    return f"Writes of pages: {figures}"


def _driver_share(runs: Sequence[RunFacts]) -> float | None:
    """Return the driver's share of the CPU time that server and driver used."""
    shares = []
    for run in runs:
        per_s = (run.figures.throughput or 0.0) / 60
        if run.server_cores and run.driver_cpu_ms_per_transaction is not None:
            cores = per_s * run.driver_cpu_ms_per_transaction / 1000
            shares.append(cores / (cores + run.server_cores))
    return median(shares) if shares else None


def _median(runs: Sequence[RunFacts], *names: str) -> float | None:
    """Return the median over the runs of the sum of these figures; None without any."""
    rows = ([getattr(run, name) for name in names] for run in runs)
    sums = [sum(row) for row in rows if None not in row]
    return median(sums) if sums else None
