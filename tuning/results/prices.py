"""The price of a New-Order with a config: CPU cycles of the host and bytes written."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from tuning.results.document import Price

#: Of a run: cycles of the host per New-Order, % of the CPUs in user and in system code, and bytes
#: written per New-Order.
Costs = tuple[float | None, float | None, float | None, float | None]


def price_of(runs: Iterable[Costs]) -> Price:
    """Return the medians over these runs; cycles are split as the CPU time is."""
    users, systems, written = [], [], []
    for cycles, user, system, bytes_written in runs:
        if bytes_written is not None:
            written.append(bytes_written / 1e3)
        if cycles is None or user is None or system is None or user + system <= 0:
            continue
        share = user / (user + system)
        users.append(cycles / 1e6 * share)
        systems.append(cycles / 1e6 * (1 - share))
    return Price(
        user_megacycles=median(users) if users else None,
        sys_megacycles=median(systems) if systems else None,
        written_kb=median(written) if written else None,
    )
