"""What belongs to several studies, read at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from django.db.models import F

from benchmarks.models import Device, Workload
from benchmarks.ready_query import ANY, ReadyObjects, know_all_related
from tuning.models import Recommendation, Study


def know(studies: Collection[Study], *names: str) -> None:
    """Have the studies know their `devices`, `workloads` or `recommendations`, these with their
    candidates: each of what is named in one query.
    """
    for name in names:
        know_all_related(studies, name, _of_studies()[name], "of_study")


@cache
def _of_studies() -> Mapping[str, ReadyObjects[Any]]:
    answers = Recommendation.objects.filter(study__in=[ANY]).select_related("candidate")
    long = "notes", "lines", "checks", "without", "source"
    rows = {
        "devices": Device.objects.filter(studies__in=[ANY]).annotate(of_study=F("studies")),
        "workloads": Workload.objects.filter(studies__in=[ANY]).annotate(of_study=F("studies")),
        "recommendations": answers.defer(*(f"candidate__{one}" for one in long)).annotate(
            of_study=F("study")
        ),
    }
    return {name: ReadyObjects(found) for name, found in rows.items()}
