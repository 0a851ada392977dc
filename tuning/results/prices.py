"""The price of a New-Order with a config: CPU cycles of the host and bytes written."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.models import Run
from tuning.results.document import Price
from tuning.results.run_lines import RunRow


def price_of(runs: Sequence[Run | RunRow]) -> Price:
    """Return the medians over these runs."""
    halves = [half for run in runs if (half := _halves(run)) is not None]
    written = [
        run.bytes_written_per_new_order / 1e3
        for run in runs
        if run.bytes_written_per_new_order is not None
    ]
    return Price(
        user_megacycles=median(user for user, _ in halves) if halves else None,
        sys_megacycles=median(system for _, system in halves) if halves else None,
        written_kb=median(written) if written else None,
    )


def _halves(run: Run | RunRow) -> tuple[float, float] | None:
    """Split the host's path length as its CPU time is split into user and system code."""
    whole = run.host_path_length
    # Columns that follow from the usage figures, which mypy does not see.
    user, system = (getattr(run, name) for name in ("cpu_user_pct", "cpu_sys_pct"))
    if whole is None or user is None or system is None or user + system <= 0:
        return None
    share = user / (user + system)
    return whole / 1e6 * share, whole / 1e6 * (1 - share)
