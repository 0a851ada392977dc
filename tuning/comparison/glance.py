"""A look at what devices and configs are compared by: has anything changed?"""

from __future__ import annotations

from typing import Any

from django.db.models import Func, IntegerField, QuerySet, Subquery

from benchmarks.models import Device, Host, Run, RunState
from tuning.models import Recommendation, Slot, Study, StudyState
from tuning.strategy.racing import FAULTS


def comparison_glance() -> tuple[Any, ...]:
    """Differs whenever a comparison of devices does, and seldom else; reads no run's figures.

    Runs that have ended never change.
    """
    return tuple(row for query in _queries() for row in query)


def _queries() -> tuple[QuerySet[Any, Any], ...]:
    # One that is to be measured again counts no longer.
    faults = Run.objects.filter(host__in=Host.objects.all(), state__in=FAULTS, retries=None)
    # In one query, as columns that are the same for each host; without a host there are no runs.
    counted = (
        *_rows(Run.objects.filter(state=RunState.OK)),
        *_rows(faults),
        *_rows(Slot.objects.all()),
        *_rows(Recommendation.objects.all()),
        *_rows(Study.objects.filter(state=StudyState.FINISHED), "created_at"),
    )
    hosts = Host.objects.order_by("pk")
    devices = Device.objects.order_by("pk").values_list(
        *("pk", "kind", "model", "data_dir", "log_dir", "emulation_label")
    )
    return hosts.values_list("pk", "name", *counted), devices


def _rows(found: QuerySet[Any], moment: str = "pk") -> tuple[Subquery, Subquery]:
    """How many, and the newest. Each by itself an index may answer, both together it does not."""
    # No aggregates of Django's: those would be grouped by something.
    count = Func(template="COUNT(*)", output_field=IntegerField())
    parts = {"count": count, "newest": Func(moment, function="MAX")}
    first, second = (
        Subquery(found.order_by().annotate(**{f"of_{name}": part}).values(f"of_{name}"))
        for name, part in parts.items()
    )
    return first, second
