"""What belongs to several studies, read at once."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Prefetch, prefetch_related_objects

from tuning.models import Recommendation, Study


def know(studies: Collection[Study], *names: str) -> None:
    """Have the studies know their `devices`, `workloads` or `recommendations`, these with their
    candidates: each of what is named in one query.
    """
    answers = Recommendation.objects.select_related("candidate").defer(
        *(f"candidate__{name}" for name in ("notes", "lines", "checks", "without", "source"))
    )
    lookups = [Prefetch(one, answers) if one == "recommendations" else one for one in names]
    prefetch_related_objects(list(studies), *lookups)
