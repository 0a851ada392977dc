"""A look at what devices and configs are compared by: has anything changed?"""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Max, QuerySet

from benchmarks.models import Device, Host, Run, RunState
from tuning.models import Recommendation, Slot, Study, StudyState
from tuning.strategy.racing import FAULTS


def comparison_glance() -> tuple[Any, ...]:
    """Differs whenever a comparison of devices does, and seldom else; reads no run's figures.

    Runs that have ended never change.
    """
    hosts = Host.objects.order_by("pk").values_list("pk", "name", "imported__isnull")
    devices = Device.objects.order_by("pk").values_list(
        *("pk", "kind", "model", "data_dir", "log_dir", "emulation_label")
    )
    return (
        *_rows(Run.objects.filter(state=RunState.OK)),
        # One that is to be measured again counts no longer.
        *_rows(Run.objects.filter(host__in=Host.objects.all(), state__in=FAULTS, retries=None)),
        *_rows(Slot.objects.all()),
        *_rows(Recommendation.objects.all()),
        *_rows(Study.objects.filter(state=StudyState.FINISHED), "created_at"),
        *hosts,
        *devices,
    )


def _rows(found: QuerySet[Any], moment: str = "pk") -> tuple[Any, ...]:
    """How many, and the newest."""
    return tuple(found.order_by().aggregate(count=Count("pk"), newest=Max(moment)).values())
