"""Rows of a ranking in responses: tpmP in New-Orders per minute, times in ms, path lengths in CPU
cycles per New-Order; null if there is no figure.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import CLASSES, FiniteField, NamedDeviceSerializer, computed
from advisor.api.serializers.shown import all_shown
from benchmarks.models import RunState
from tuning.results.boards import Board
from tuning.results.study_result import StudyResult
from tuning.statistics.data import Metric


class MetricRankSerializer(serializers.Serializer[Any]):
    """A candidate in the ranking by one metric; for times and path lengths lower is better."""

    rank = serializers.IntegerField(allow_null=True)
    ratio_to_baseline = serializers.FloatField(allow_null=True)
    interval_low = FiniteField(source="interval.low")
    interval_high = FiniteField(source="interval.high")
    tied_with = serializers.ListField(child=serializers.CharField())
    better = serializers.BooleanField()
    worse = serializers.BooleanField()


class MetricRanksSerializer(serializers.Serializer[Any]):
    tpmP = MetricRankSerializer()
    p95_ms = MetricRankSerializer()
    server_path_length = MetricRankSerializer()


class RankingFiguresSerializer(serializers.Serializer[Any]):
    rank = serializers.IntegerField(allow_null=True, help_text="Null if no run succeeded.")
    config = serializers.CharField(source="candidate", help_text="The candidate's name.")
    outcome = serializers.CharField(
        help_text=f"One of {', '.join(RunState.values)}; empty if not run yet."
    )
    tpmP = serializers.FloatField(
        allow_null=True, help_text="Median over the blocks, in New-Orders per minute; not tpmC."
    )
    ratio_to_baseline = serializers.FloatField(
        allow_null=True, help_text="Ratio of tpmP within blocks; 1.1 is 10 % more."
    )
    p95_ms = serializers.FloatField(allow_null=True)
    p99_ms = serializers.FloatField(allow_null=True)
    max_ms = serializers.FloatField(allow_null=True)
    server_path_length = serializers.FloatField(
        allow_null=True, help_text="CPU cycles of mysqld per New-Order."
    )
    host_path_length = serializers.FloatField(
        allow_null=True, help_text="CPU cycles of the whole host per New-Order."
    )
    runs = serializers.IntegerField(help_text="Successful runs.")
    connections = serializers.IntegerField(source="board.workload.connections")
    device = serializers.CharField(
        source="device.data_dir", help_text="The device's data directory."
    )
    durability = serializers.ChoiceField(
        source="board.durability",
        choices=CLASSES,
        help_text="Class of the board; the baseline is on every board.",
    )
    interval_low = FiniteField(
        source="interval.low",
        help_text="95 % interval of `ratio_to_baseline`, for all rows of a board at once.",
    )
    interval_high = FiniteField(
        source="interval.high", help_text="Null also if there is no upper bound."
    )
    tied_with = serializers.ListField(
        child=serializers.CharField(), help_text="The candidates that share its rank."
    )
    better = serializers.BooleanField(help_text="Measurably better than the baseline.")
    worse = serializers.BooleanField(help_text="Measurably worse than the baseline.")
    at_most = serializers.FloatField(
        allow_null=True, help_text="Upper bound of the ratio of a candidate that was cut short."
    )
    cut_short = serializers.IntegerField(help_text="Runs that were stopped early as too slow.")
    failures = serializers.IntegerField(
        help_text="Runs without a result: failed, lost or disturbed ones."
    )
    left_after_block = serializers.IntegerField(
        source="left.after_block",
        allow_null=True,
        help_text="After which block it left the race; null if it did not.",
    )
    left_reason = computed(
        serializers.CharField, lambda row: row["left"].reason if row["left"] else ""
    )(help_text="Why it left the race; otherwise empty.")
    on_pareto_front = computed(
        serializers.BooleanField, lambda row: row["candidate"] in row["board"].pareto
    )(help_text="Whether it is on the Pareto front of the three rankings.")
    by = MetricRanksSerializer(help_text="Its rank in each of the three rankings.")
    device_id = serializers.IntegerField(source="device.pk")


class RankingRowSerializer(RankingFiguresSerializer, NamedDeviceSerializer):
    """A candidate on one board."""


def ranking_of(
    result: StudyResult,
    *,
    metric: str = Metric.TPMP.value,
    device: int | None = None,
    connections: int | None = None,
    durability: str | None = None,
    max_p95_ms: float | None = None,
    pareto: bool = False,
) -> list[dict[str, Any]]:
    """One row per candidate, device, number of connections and durability class, best first by
    `metric` within each of these; the baseline is in every one.

    Without arguments all of them. max_p95_ms: only rows with a p95, and none above that. pareto:
    only the Pareto front.
    """
    boards = [
        board
        for board in result.boards
        if device in (None, board.device.pk)
        and connections in (None, board.workload.connections)
        and durability in (None, board.durability)
    ]
    found = []
    for board in boards:
        rows = all_shown(RankingRowSerializer, _rows(board))
        if metric != Metric.TPMP.value:
            rows.sort(key=lambda row: row["by"][metric]["rank"] or inf)
        found += rows
    return [
        row
        for row in found
        if (row["on_pareto_front"] or not pareto)
        and (max_p95_ms is None or (row["p95_ms"] is not None and row["p95_ms"] <= max_p95_ms))
    ]


def _rows(board: Board) -> Iterator[dict[str, Any]]:
    by = {
        metric.value: {line.candidate: line for line in judgement.ranked}
        for metric, judgement in board.judgements.items()
    }
    for row in board.rows:
        name = row.candidate.name
        ranks = {metric: lines[name] for metric, lines in by.items()}
        where = {"board": board, "device": board.device, "left": row.left, "by": ranks}
        yield vars(row.ranked) | where
