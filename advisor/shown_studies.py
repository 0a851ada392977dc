"""Studies as pages and the API read them."""

from __future__ import annotations

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404

from tuning.models import Study


def studies_to_show() -> QuerySet[Study]:
    """All studies, with what their page says of them; `now`: by the database's clock."""
    there = Study.objects.select_related("server", "host", "created_by").annotate(now=Now())
    return there.prefetch_related("devices", "workloads__load_hosts")


def study_to_show(pk: int) -> Study:
    """Return one of them. Raises Http404."""
    return get_object_or_404(studies_to_show(), pk=pk)
