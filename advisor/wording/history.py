"""What became of a figure over months, in sentences."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.utils import timezone

from advisor.wording.formatting import (
    NARROW,
    change_range,
    decimals,
    megacycles,
    percent_change,
    significant,
)
from advisor.wording.hosts import compared_memory
from benchmarks.counted import counted
from tuning.comparison.baseline_history import (
    BaselineHistory,
    Difference,
    Figure,
    Series,
    Shift,
    Trend,
)
from tuning.statistics.aim import FULL_NAMES
from tuning.statistics.change_points import MIN_POINTS, Level
from tuning.statistics.data import Metric

_WEEK = timedelta(days=7)
#: Unit of a metric beside its figures.
UNITS = {
    Metric.TPMP: "New-Orders per minute",
    Metric.P95: "ms",
    Metric.SERVER_PATH_LENGTH: "Mcycles per New-Order",
}


def day(moment: datetime) -> str:
    """As "3 March 2026", in the zone of the pages."""
    here = timezone.localtime(moment)
    return f"{here.day} {here:%B %Y}"


def figure_text(metric: Metric, value: float | None) -> str:
    """A figure in the metric's unit, without it."""
    return (megacycles if metric is Metric.SERVER_PATH_LENGTH else significant)(value)


def bounds_text(metric: Metric, found: Figure) -> str:
    """The interval of a figure as "6,012 to 6,113", in the metric's unit; "" without one."""
    if found.low is None or found.high is None:
        return ""
    return f"{figure_text(metric, found.low)} to {figure_text(metric, found.high)}"


def history_sentence(history: BaselineHistory) -> str:
    """The answer of the newest series, as "The host is 12.1 % slower since 3 March 2026: ..."."""
    series = history.newest
    match history.trend:
        case Trend.SLOWER | Trend.FASTER as trend:
            return _changed(history, trend)
        case Trend.OTHER:
            newest = [found[-1] for metric in Metric if (found := series.shifts(metric))]
            changes = "; ".join(f"{shift_text(one)} since {day(one.since.at)}" for one in newest)
            return f"tpmP has not changed {_length(series)}, but {changes}."
        case Trend.UNCHANGED:
            return f"No change found {_length(series)}."
        case Trend.TOO_FEW:
            return (
                f"Too few studies to see a change: {len(series.points)} of at least {MIN_POINTS}"
                f"{_begun(series)}."
            )


def _changed(history: BaselineHistory, trend: Trend) -> str:
    series = history.newest
    shift = series.shifts(Metric.TPMP)[-1]
    size = decimals(abs(shift.level.ratio - 1) * 100)
    text = f"The host is {size} % {trend} since {day(shift.since.at)}: {shift_text(shift)}."
    if history.in_all is None:
        return text
    return (
        f"{text} Since {day(series.points[0].at)} it is {percent_change(history.in_all)} in all."
    )


def shift_text(shift: Shift) -> str:
    """As "tpmP -12.1 % (95 %: -13.0 to -11.2 %), mean of 9 studies against 14 before"."""
    return f"{FULL_NAMES[shift.metric]} {level_text(shift.level)}, {counts_text(shift)}"


def level_text(level: Level) -> str:
    """The change to a level, with its interval where there is one."""
    bounds = level.interval
    low, high = (bounds.low, bounds.high) if bounds else (None, None)
    return change_text(level.ratio, low, high)


def change_text(ratio: float, low: float | None, high: float | None) -> str:
    """As "-11.9 % (95{NARROW}%: -12.3 to -11.6 %)"; without bounds only the first."""
    if low is None or high is None:
        return percent_change(ratio)
    return f"{percent_change(ratio)} (95{NARROW}%: {change_range(low, high)})"


def counts_text(shift: Shift) -> str:
    return f"mean of {shift.level.points} studies against {shift.before} before"


def differences_text(differs: Iterable[Difference]) -> str:
    """As "kernel 6.1.0-37 → 6.1.0-40; swappiness 60 → 1"."""
    found = [f"{one.fact} {_fact(one, one.then)} → {_fact(one, one.now)}" for one in differs]
    return "; ".join(found) or "other data or another driver"


def _fact(one: Difference, text: str) -> str:
    return compared_memory(text) if one.fact == "memory" else text


def _length(series: Series) -> str:
    first, last = series.points[0].at, series.points[-1].at
    weeks = round((last - first) / _WEEK)
    time = counted(weeks, "week") if weeks else "less than a week"
    studies = "1 study" if len(series.points) == 1 else f"{len(series.points)} studies"
    return f"in {studies} over {time}{_begun(series)}"


def _begun(series: Series) -> str:
    """What the series began with, unless it is the first."""
    return f", since {differences_text(series.differs)}" if series.differs else ""
