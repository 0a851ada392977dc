"""What lists and rankings can be asked for by parameters of their addresses."""

from __future__ import annotations

from math import isfinite
from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from advisor.api.listing import Pages
from advisor.api.serializers.common import CLASSES, HOST_NAME, ROW, QuerySerializer
from tuning.models import Recommendation, Study, StudyState
from tuning.statistics.data import Metric

MAX_TEXT = 200
ORDERS = {
    "created_at": "pk",
    "name": "name",
    "state": "state",
    "host": "host__name",
    "finished_at": "finished_at",
}
ORDERINGS = [sign + name for name in ORDERS for sign in ("-", "")]
#: Times are stored in the order of the ids.
_NEWEST, _OLDEST = "-created_at", "created_at"


class _OfHost(QuerySerializer):
    host = serializers.CharField(
        **HOST_NAME, help_text="Name of a host: only what is on it. An unknown one is refused."
    )


class StudyListQuery(_OfHost):
    state = serializers.ListField(
        child=serializers.ChoiceField(choices=StudyState.values),
        required=False,
        help_text="Only in this state; may be repeated.",
    )
    template = serializers.CharField(max_length=64, required=False)
    name = serializers.CharField(
        max_length=MAX_TEXT, required=False, help_text="Part of the name, in any case."
    )
    device = serializers.IntegerField(**ROW, help_text="Only those that measure this device.")
    group = serializers.IntegerField(
        **ROW, help_text="Only those of this study over several hosts."
    )
    searches = serializers.BooleanField(
        required=False, help_text="Only those that make configs of their own, or only the others."
    )
    ordering = serializers.ChoiceField(
        choices=ORDERINGS, default=_NEWEST, help_text="Cursors go with the time of creation only."
    )


def listed_studies(rows: QuerySet[Study], query: dict[str, Any]) -> tuple[QuerySet[Study], Pages]:
    """Those that are asked for, and their pages."""
    if states := query.get("state"):
        rows = rows.filter(state__in=states)
    if template := query.get("template"):
        rows = rows.filter(template=template)
    if name := query.get("name"):
        rows = rows.filter(name__icontains=name)
    if (device := query.get("device")) is not None:
        rows = rows.filter(devices=device)
    if (group := query.get("group")) is not None:
        rows = rows.filter(group=group)
    if (searches := query.get("searches")) is not None:
        rows = rows.filter(search__isnull=not searches)
    order = query["ordering"]
    column = ORDERS[order.removeprefix("-")]
    key = f"-{column}" if order.startswith("-") else column
    return rows, Pages(key, is_unique=order in (_NEWEST, _OLDEST))


class GateListQuery(_OfHost):
    name = serializers.CharField(
        max_length=MAX_TEXT, required=False, help_text="Only gates of this name: its history."
    )


class RecommendationListQuery(QuerySerializer):
    host = serializers.CharField(
        **HOST_NAME, help_text="Name of a host: only what was measured there."
    )
    study = serializers.IntegerField(**ROW)
    device = serializers.IntegerField(**ROW)
    durability = serializers.ChoiceField(choices=CLASSES, required=False)
    confirmed = serializers.BooleanField(
        required=False, help_text="Only winners that fresh pairs confirmed, or only the others."
    )


def listed_recommendations(
    rows: QuerySet[Recommendation], query: dict[str, Any]
) -> QuerySet[Recommendation]:
    """Those that are asked for."""
    for name in ("study", "device", "durability"):
        if (wanted := query.get(name)) is not None:
            rows = rows.filter(**{name: wanted})
    if (confirmed := query.get("confirmed")) is not None:
        is_so = {"confirmation": "confirmed"}
        rows = rows.filter(**is_so) if confirmed else rows.exclude(**is_so)
    return rows


class RankingQuery(QuerySerializer):
    metric = serializers.ChoiceField(
        choices=[one.value for one in Metric],
        default=Metric.TPMP.value,
        help_text="What puts the rows of a board in order.",
    )
    device = serializers.IntegerField(**ROW)
    connections = serializers.IntegerField(**ROW)
    durability = serializers.ChoiceField(choices=CLASSES, required=False)
    max_p95_ms = serializers.FloatField(
        min_value=0, required=False, help_text="Only rows with a p95 that is no higher."
    )
    pareto = serializers.BooleanField(
        default=False, help_text="Only the Pareto front of the three rankings."
    )

    def validate_max_p95_ms(self, value: float) -> float:
        if not isfinite(value):
            raise serializers.ValidationError("A number is required.")
        return value
