"""The variables that a run's config requested, with their effective values."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.wording.spaces import knob_text
from benchmarks.models import Run
from tuning.catalogue.target import traits_of
from tuning.configs.effective.readback import differences, effective_values


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
