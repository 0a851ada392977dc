"""The revision of a study: rises with every change of what is shown of it.

Whoever changes a row of a study calls `bump` in the same transaction, as its first statement. So
everybody locks the study's row before any other of its rows, and no two writers wait for each
other. Heartbeats, steps and live figures of a job do not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import F, QuerySet

from tuning.models import ACTIVE_STUDY_STATES, Study


def bump(studies: Iterable[int] | QuerySet[Any]) -> None:
    """Raise the revision of these studies, given by primary key or as a query."""
    Study.objects.filter(pk__in=studies).update(revision=F("revision") + 1)


def bump_host(host_id: int) -> None:
    """Raise the revision of each study of a host that has not ended."""
    bump(Study.objects.filter(host=host_id, state__in=ACTIVE_STUDY_STATES))
