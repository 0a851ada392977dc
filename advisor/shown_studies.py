"""Studies as pages and the API read them."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404

from benchmarks.models import Host
from tuning.models import Study
from tuning.studies.revision import with_steps


def studies_to_show() -> QuerySet[Study]:
    """Return all studies with what stands on their page beside the result document.

    now: by the database's clock. has_other_hosts: whether pages name hosts. Devices and workloads
    are in the document.
    """
    there = Study.objects.select_related("server", "host", "created_by")
    others = Host.objects.exclude(pk=OuterRef("host"))
    return with_steps(there.annotate(now=Now(), has_other_hosts=Exists(others)))


def study_to_show(pk: int) -> Any:
    """Return one of them. Raises Http404."""
    return get_object_or_404(studies_to_show(), pk=pk)
