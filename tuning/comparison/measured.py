"""Which runs of years of studies count when devices, configs and baselines are compared.

Whoever compares runs of several studies begins with one of these queries, so that a run counts
everywhere or nowhere.
"""

from __future__ import annotations

from django.db.models import F, QuerySet

from benchmarks.models import RunState
from tuning.models import Slot, SlotPurpose

#: The newest studies of a baseline that are compared.
MAX_STUDIES = 300


def measured_slots() -> QuerySet[Slot]:
    """Return the slots whose run has figures and lasted as long as the study's blocks.

    A slot has its newest run, so that a run that was measured again does not count. Longer pairs
    do not count: a config with write debt has other figures in them.
    """
    return Slot.objects.filter(
        run__state=RunState.OK, run__tpmP__gt=0, run__workload=F("workload")
    )


def ranked_slots() -> QuerySet[Slot]:
    """Return the measured slots of blocks, which are the runs by which a study ranks.

    Other runs are of configs that were chosen because they were fast.
    """
    return measured_slots().filter(purpose=SlotPurpose.BLOCK)


def baseline_slots() -> QuerySet[Slot]:
    """Return the measured slots of baselines; of any purpose, since nobody chose the best ones."""
    known = measured_slots().exclude(run__comparability_key="")
    return known.filter(candidate__is_baseline=True, run__finished_at__isnull=False)


def of_newest_studies(slots: QuerySet[Slot]) -> QuerySet[Slot]:
    """Return the slots of the newest MAX_STUDIES studies that have any."""
    newest = slots.order_by("-study_id").values_list("study", flat=True).distinct()[:MAX_STUDIES]
    return slots.filter(study__in=list(newest))
