"""The aim of a study: the metric to be best in, and the limits to keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.counted import counted
from benchmarks.documents import Document
from tuning.statistics.data import Metric, Observation


@dataclass(frozen=True)
class Aim(Document):
    """`objective` decides what wins; `keep` has the bound of every metric that is limited.

    A bound is the least of throughput and the most of the other metrics, in their units.
    `max_recovery_s`: seconds after which a server that was killed under load must serve again.
    """

    objective: Metric = Metric.THROUGHPUT
    keep: Mapping[Metric, float] = field(default_factory=dict)
    max_recovery_s: float | None = None

    @property
    def limits(self) -> list[str]:
        """Every limit in words, as `p95 <= 50 ms`."""
        texts = [limit_text(metric, bound) for metric, bound in self.keep.items()]
        if self.max_recovery_s is not None:
            texts.append(recovery_limit_text(self.max_recovery_s))
        return texts

    def missed(self, runs: Iterable[Observation]) -> dict[Metric, float | None]:
        """The limits that one candidate's runs miss, each with their median figure.

        A limit is also missed, with None, if successful runs have no such figure: nothing shows
        that it is kept. Without a successful run nothing is missed.
        """
        seen = [run for run in runs if run.counts]
        found: dict[Metric, float | None] = {}
        for metric, bound in self.keep.items() if seen else ():
            figures = [value for run in seen if (value := run.figure(metric)) is not None]
            middle = median(figures) if figures else None
            if middle is None or metric.is_better(bound, middle):
                found[metric] = middle
        return found


def missed_texts(aim: Aim, runs: Sequence[Observation]) -> tuple[str, ...]:
    """The limits that these runs of one candidate miss, as `p95 <= 50 ms: 61.2 ms in 3 runs`."""
    count = sum(run.counts for run in runs)
    return tuple(
        f"{limit_text(metric, aim.keep[metric])}: {figure_text(metric, middle)} in "
        f"{counted(count, 'run')}"
        for metric, middle in aim.missed(runs).items()
    )


def limit_text(metric: Metric, bound: float) -> str:
    """Return `p95 <= 50 ms`."""
    name, unit, scale = _SHOWN[metric]
    sign = ">=" if metric.more_is_better else "<="
    return f"{name} {sign} {bound / scale:,.6g}{unit}"


def recovery_limit_text(seconds: float) -> str:
    """Return `recovery <= 60 s`."""
    return f"recovery <= {seconds:,.6g} s"


def limit_scale(metric: Metric) -> float:
    """How much of a stored figure is one unit of its limit, in which charts show it too."""
    return _SHOWN[metric][2]


def metric_name(metric: Metric) -> str:
    """Return the name of a metric in a limit: `p95`."""
    return _SHOWN[metric][0]


def figure_text(metric: Metric, value: float | None) -> str:
    """Return `61.2 ms`."""
    if value is None:
        return "no figure"
    _, unit, scale = _SHOWN[metric]
    return f"{value / scale:,.4g}{unit}"


# How a metric is called in a limit, its unit and what of the stored figure makes one of that unit.
_SHOWN = {
    Metric.THROUGHPUT: ("throughput", "", 1.0),
    Metric.P95: ("p95", " ms", 1.0),
    Metric.SERVER_PATH_LENGTH: ("path length", " Mcycles per transaction", 1e6),
}

#: Names of metrics in sentences about their change.
FULL_NAMES = {
    Metric.THROUGHPUT: "throughput",
    Metric.P95: "p95 response time",
    Metric.SERVER_PATH_LENGTH: "server path length",
}
