"""Describe the course of a figure over months, in a sentence."""

from __future__ import annotations

from advisor.wording.formatting import change_range, megacycles, percent_change, significant
from tuning.statistics.data import Metric
from tuning.statistics.ratios import NEWEST, Recent

#: Unit of a metric beside its figures.
UNITS = {
    Metric.THROUGHPUT: "transactions per minute",
    Metric.P95: "ms",
    Metric.SERVER_PATH_LENGTH: "Mcycles per transaction",
}


def figure_text(metric: Metric, value: float | None) -> str:
    """A figure in the metric's unit, without it."""
    return (megacycles if metric is Metric.SERVER_PATH_LENGTH else significant)(value)


def recent_sentence(figure: str, unit: str, found: Recent | None) -> str:
    """As "throughput of the last 5 studies: -12.1 % from the median of the 14 before,
    outside of the range in which those lay (-1.0 to +0.8 %)."; `unit`: "studies" or "gates".
    """
    if found is None:
        return f"Too few {unit} to compare: the last {NEWEST} need {NEWEST} before them."
    where = "outside of" if found.is_outside else "within"
    return (
        f"{figure} of the last {NEWEST} {unit}: {percent_change(found.ratio)} from the median of "
        f"the {found.before} before, {where} the range in which those lay "
        f"({change_range(found.low, found.high)})."
    )
