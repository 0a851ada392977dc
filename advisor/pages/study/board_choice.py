"""Which of the three rankings is shown, and the filter by response time."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from urllib.parse import urlencode

from django.http import QueryDict

from advisor.pages.study.table_order import COLUMNS, TableOrder, table_order
from tuning.statistics.data import Metric


@dataclass(frozen=True)
class MetricWords:
    """The words of the pages for a metric; `better` is its good direction."""

    metric: Metric
    title: str
    column: str
    what: str
    better: str


METRICS = {
    one.metric: one
    for one in (
        MetricWords(
            Metric.THROUGHPUT, "Throughput", "throughput", "throughput", "higher is better"
        ),
        MetricWords(Metric.P95, "p95", "p95", "95th-percentile response time", "lower is better"),
        MetricWords(
            Metric.SERVER_PATH_LENGTH,
            "Server path length",
            "path length",
            "CPU path length of the server",
            "lower is better",
        ),
    )
}


@dataclass(frozen=True)
class BoardChoice:
    """`p95_ms` keeps only candidates with a median p95 up to that limit; `p95_text` is the text as
    typed, and `error` what is wrong with it.
    """

    metric: Metric = Metric.THROUGHPUT
    p95_ms: float | None = None
    p95_text: str = ""
    error: str = ""
    order: TableOrder = field(default_factory=TableOrder)

    @property
    def words(self) -> MetricWords:
        return METRICS[self.metric]

    @property
    def query(self) -> str:
        """The choice as a query string; "" for the default."""
        return urlencode(self.of_charts | self.order.values)

    @property
    def of_charts(self) -> dict[str, str]:
        """The parameters of the query string that charts depend on too."""
        chosen = {} if self.metric is Metric.THROUGHPUT else {"by": self.metric.value}
        if self.p95_ms is not None:
            chosen["p95"] = f"{self.p95_ms:g}"
        return chosen

    @property
    def chart_query(self) -> str:
        """The query string without the order of the table."""
        return urlencode(self.of_charts)

    @cached_property
    def sorts(self) -> dict[str, tuple[str, str]]:
        """For each column of the table, the query string that sorts by it and its `aria-sort`."""
        return {
            name: (self.order.link(name, self.of_charts), self.order.aria(name))
            for name in COLUMNS
        }

    @property
    def switches(self) -> list[tuple[MetricWords, str, bool]]:
        """The three rankings: words, query string, whether it is the current one."""
        return [
            (
                words,
                BoardChoice(metric, self.p95_ms, order=self.order).query,
                metric is self.metric,
            )
            for metric, words in METRICS.items()
        ]


def board_choice(asked: QueryDict) -> BoardChoice:
    """Read from a query string; unknown values mean the default."""
    by = asked.get("by", "")
    metric = Metric(by) if by in list(Metric) else Metric.THROUGHPUT
    text = asked.get("p95", "").strip()
    order = table_order(asked)
    if not text:
        return BoardChoice(metric, order=order)
    try:
        limit = float(text.replace(",", "."))
    except ValueError:
        limit = 0.0
    if not isfinite(limit) or limit <= 0:
        wrong = "Enter milliseconds above zero, such as 25."
        return BoardChoice(metric, None, text, wrong, order)
    return BoardChoice(metric, limit, text, order=order)
