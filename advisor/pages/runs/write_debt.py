"""A run's write debt as its page shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from advisor.wording.formatting import byte_size, decimals
from benchmarks.models import Run
from benchmarks.telemetry.write_debt import Debt


@dataclass(frozen=True)
class DebtLine:
    """One kind of debt: its size at both ends, and what share of the writes was put off."""

    name: str
    start: str
    end: str
    put_off: str


@dataclass(frozen=True)
class DebtView:
    """`redo` says how much of its redo log the run filled, "" if that is unknown."""

    is_marked: bool
    lines: list[DebtLine]
    redo: str


def _number(value: float | None) -> str:
    return decimals(value, 0)


_KINDS: tuple[tuple[str, str, Debt, Callable[[float | None], str], str], ...] = (
    ("Checkpoint age", "checkpoint_age_bytes", Debt.REDO, byte_size, "of the redo written"),
    ("Dirty pages", "dirty_bytes", Debt.PAGES, byte_size, "of the pages to be written"),
    ("History list", "history_length", Debt.PURGE, _number, "of the commits"),
)


def debt_of(run: Run) -> DebtView | None:
    """None for a run without readings."""
    owes = run.owes
    if owes is None:
        return None
    lines = []
    for name, field, kind, form, of in _KINDS:
        share = owes.put_off.get(kind)
        said = owes.missing.get(field, "") if share is None else f"{share * 100:.0f} % {of}"
        start, end = getattr(owes.start, field), getattr(owes.end, field)
        lines.append(DebtLine(name, form(start), form(end), said))
    redo = ""
    if owes.fills is not None:
        redo = (
            f"The run wrote {byte_size(owes.redo_bytes)} of redo, {owes.fills:.2f} times the "
            f"{byte_size(owes.redo_capacity_bytes)} of its redo log."
        )
    return DebtView(owes.is_marked, lines, redo)
