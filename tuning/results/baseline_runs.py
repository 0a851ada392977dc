"""The runs by which a baseline is followed from study to study."""

from __future__ import annotations

from django.db.models import F, QuerySet

from benchmarks.models import RunState
from tuning.models import Slot

#: The newest studies of a line that are looked at.
MAX_STUDIES = 300


def runs_of_baselines() -> QuerySet[Slot]:
    """Of any purpose: nothing about a baseline is chosen after it was measured.

    Without pairs that were longer than the blocks of their study, and without old runs of which it
    is not known what they may be compared with.
    """
    return Slot.objects.exclude(run__comparability_key="").filter(
        candidate__is_baseline=True,
        run__state=RunState.OK,
        run__tpmP__gt=0,
        run__finished_at__isnull=False,
        run__workload=F("workload"),
    )


def of_newest_studies(runs: QuerySet[Slot], studies: int | None = None) -> QuerySet[Slot]:
    """Those of the newest MAX_STUDIES studies that have such runs; `studies`: how many there are,
    if known.
    """
    if studies is not None and studies <= MAX_STUDIES:
        return runs
    newest = runs.order_by("-study_id").values_list("study", flat=True).distinct()[:MAX_STUDIES]
    return runs.filter(study__in=list(newest))
