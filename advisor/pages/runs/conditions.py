"""The conditions of a run: other programs, its write debt, the variables of its server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from advisor.wording.formatting import ABSENT, byte_size, decimals, significant
from advisor.wording.spaces import knob_text
from benchmarks.models import Run
from benchmarks.telemetry.disturbance import MIN_STALL_S
from benchmarks.telemetry.write_debt import Debt
from tuning.catalogue.target import traits_of
from tuning.configs.readback import differences, effective_values


@dataclass(frozen=True)
class Condition:
    """`value` in `unit`; `limit` is None if there is none, 0 if the check is switched off.

    `by` names the programs that used most.
    """

    name: str
    value: float
    limit: float | None
    unit: str
    is_over: bool
    by: str

    @property
    def limit_text(self) -> str:
        if self.limit is None:
            return ABSENT
        return significant(self.limit) if self.limit else "off"


# Name, figure, limit, unit, figure of the programs, and kind of disturbance.
LINES = (
    ("Steal time", "steal_pct", "steal_pct", "%", "", "steal"),
    (
        "CPU use by other programs",
        "foreign_cpu_pct",
        "foreign_cpu_pct",
        "%",
        "by_cpu",
        "foreign_cpu",
    ),
    ("Disk use by other programs", "foreign_io_pct", "foreign_io_pct", "%", "by_io", "foreign_io"),
    ("Disk traffic of other programs", "foreign_io_mb_s", "", "MB/s", "", ""),
    ("Host stalled", "stalled_s", "", "s", "", "stall"),
    ("Suspended", "asleep_s", "", "s", "", "suspended"),
    ("Swapping", "swap_mb_s", "swap_mb_s", "MB/s", "", "swap"),
    ("Thermal throttling", "throttled_pct", "throttled_pct", "%", "", "throttled"),
)


def conditions_of(run: Run) -> list[Condition]:
    """The figures that the host reported; a run from before they were recorded has none."""
    seen: Mapping[str, Any] = run.conditions
    limits: Mapping[str, float] = seen.get("limits", {})
    broken = {found["kind"] for found in run.disturbances}
    return [
        Condition(
            name=name,
            value=seen[figure],
            limit=_limit(figure, limit, limits, seen),
            unit=unit,
            is_over=kind in broken,
            by=", ".join(f"{program} {amount:g}" for program, amount in seen.get(by, [])),
        )
        for name, figure, limit, unit, by, kind in LINES
        if seen.get(figure) is not None
    ]


def _limit(
    figure: str, name: str, limits: Mapping[str, float], seen: Mapping[str, Any]
) -> float | None:
    if figure == "stalled_s" and "stall_pct" in limits:
        # The limit is a share of the interval; less than a second never counts.
        share = limits["stall_pct"] / 100 * seen["seconds"]
        return max(share, MIN_STALL_S) if share else 0.0
    return limits.get(name)


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


@dataclass(frozen=True)
class RequestedVariable:
    """Values for people, bytes as "128M"; `effective` is None if the server does not report the
    variable or never answered.
    """

    name: str
    requested: str
    effective: str | None
    differs: bool


def compare_variables(run: Run) -> tuple[list[RequestedVariable], list[tuple[str, str]]]:
    """The requested variables by name, and all others that were read back."""
    knobs, target = run.config.knobs, traits_of(run.server)
    effective = effective_values(knobs, run.variables, target)
    # If the server never answered, no value is known to differ.
    different = {one.name for one in differences(knobs, run.variables, target)} & set(effective)
    requested = [
        RequestedVariable(
            name,
            knob_text(name, knobs[name]),
            knob_text(name, effective[name]) if name in effective else None,
            name in different,
        )
        for name in sorted(knobs)
    ]
    others = sorted((name, value) for name, value in run.variables.items() if name not in knobs)
    return requested, others
