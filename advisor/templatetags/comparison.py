"""Filters of the device comparison's tables, in addition to `readable`."""

from __future__ import annotations

from django.template import Library

from tuning.comparison.devices import Cell
from tuning.statistics.ratios import Spread

register = Library()


@register.filter
def middle(cell: Cell | None, name: str) -> float | None:
    """The median of one of a cell's figures; None where it was not measured."""
    found: Spread | None = getattr(cell, name) if cell else None
    return found.median if found else None
