"""The revision of a study: rises with every change of what is shown of it.

A transaction that changes a row of a study calls `bump` as its first statement. So each of them
locks the study's row before any other of its rows, and no two writers wait for each
other. Heartbeats, steps and live figures of a job do not count.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from django.db.models import F, OuterRef, QuerySet, Subquery

from benchmarks.models import CrashTest, JobState, Run, RunState
from tuning.models import ACTIVE_STUDY_STATES, Study

#: The time left, and whatever else follows from the clock, is shown anew this often, in seconds.
REFRESH_S = 30.0


def bump(studies: Iterable[int] | QuerySet[Any]) -> None:
    """Raise the revision of these studies, given by primary key or as a query."""
    Study.objects.filter(pk__in=studies).update(revision=F("revision") + 1)


def bump_host(host_id: int) -> None:
    """Raise the revision of each study of a host that has not ended."""
    bump(Study.objects.filter(host=host_id, state__in=ACTIVE_STUDY_STATES))


def with_steps(studies: QuerySet[Study]) -> QuerySet[Study]:
    """Annotate studies with the steps of their current jobs, which `mark_of` needs."""
    runs = Run.objects.filter(slot__study=OuterRef("pk"), state=RunState.RUNNING)
    tests = CrashTest.objects.filter(slot__study=OuterRef("pk"), state=JobState.RUNNING)
    return studies.annotate(
        run_step=Subquery(runs.values("step")[:1]), test_step=Subquery(tests.values("step")[:1])
    )


def mark_of(study: Any) -> str:
    """Return a word that differs whenever the study's progress does, and every REFRESH_S seconds.

    It is made of the revision and the step of the current job, as the study was read.
    """
    tick = int(time.time() // REFRESH_S)
    return "-".join(map(str, (study.revision, study.run_step, study.test_step, tick)))


def progress_marks(studies: QuerySet[Study]) -> dict[int, str]:
    """Return the marks of several studies by primary key, in one query."""
    return {study.pk: mark_of(study) for study in with_steps(studies).only("revision")}


def progress_mark(study_id: int) -> str:
    """Return the mark of one study; "" if there is no such study."""
    return progress_marks(Study.objects.filter(pk=study_id)).get(study_id, "")
