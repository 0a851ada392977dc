"""Looks at a study that cost next to nothing: has anything changed that is shown of it?

Pages and terminals ask every second or two, for hours, on the host that is being measured. What
they show is worked out again only when a look differs.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import Count, Max, QuerySet

from benchmarks.models import CrashTest, Device, JobState, Workload
from tuning.models import ACTIVE_STUDY_STATES, Slot, Study

#: The time left, and whatever else follows from the clock, is worked out this often, in seconds.
REFRESH_S = 30.0

_STUDY = (
    "created_at",
    "state",
    "stop_request",
    "claimed_by",
    "paused_at",
    "pause_reason",
    "resumed_at",
    "concluded_at",
    "extended_by",
    "preparing_fraction",
    "preparing_text",
    "reason",
    "host__drained_at",
    "host__drain_reason",
)
_RESULTS = "created_at", "state", "concluded_at", "extended_by", "conclusions"
# Stands for the study in queries that are made once.
_ANY_STUDY = -4711

Sql = tuple[str, tuple[Any, ...]]


def glance(study_id: int) -> str:
    """A word that differs whenever the study's progress does, and every REFRESH_S seconds."""
    return f"{progress_word(study_id)}.{int(time.time() // REFRESH_S)}"


def progress_word(study_id: int) -> str:
    """A word that differs whenever the study's progress does, whatever time it is."""
    return _word(_progress_queries(), study_id)


def final_word(study_id: int) -> str | None:
    """A word that differs whenever anything does that is said of a study that has ended.

    None while it goes on. A study that has ended can be extended or taken apart; its host renamed,
    its devices corrected.
    """
    queries = _final_queries()
    with connection.cursor() as cursor:
        text, parameters = _of_study(queries[0], study_id)
        cursor.execute(text, parameters)
        row = cursor.fetchone()
    if row is None or row[0] in ACTIVE_STUDY_STATES:
        return None
    return _word(queries, study_id)


def results_glance(study_id: int) -> str:
    """A word that differs whenever the results of a study that goes on do."""
    return _word(_results_queries(), study_id)


# To have Django make a query takes several times as long as the database needs to answer it.
@cache
def _progress_queries() -> tuple[Sql, ...]:
    tests = CrashTest.objects.filter(slot__study_id=_ANY_STUDY, state=JobState.RUNNING)
    return (
        _sql(_study().values_list(*_STUDY)),
        _sql(_states(Max("run__step"))),
        _sql(tests.values_list("pk", "step")),
        _sql(_study().values_list(Max("recommendations"))),
    )


@cache
def _results_queries() -> tuple[Sql, ...]:
    return (
        _sql(_study().values_list(*_RESULTS)),
        # Counted apart: joined with each other, each would multiply the others.
        _sql(_study().values_list(Count("candidates"), Max("candidates"))),
        _sql(_study().values_list(Count("eliminations"))),
        _sql(_study().values_list(Count("crash_slots"), Max("crash_slots__test__finished_at"))),
        _sql(_study().values_list(Max("recommendations"))),
        _sql(_states()),
    )


@cache
def _final_queries() -> tuple[Sql, ...]:
    names = "state", "created_at", "finished_at", "conclusions", "name", "group_id", "host__name"
    devices = "pk", "kind", "kind_correction", "retired_at", "emulation_label", "model"
    return (
        _sql(_study().values_list(*names, Max("recommendations"))),
        _sql(_states()),
        _sql(Device.objects.filter(studies=_ANY_STUDY).order_by("pk").values_list(*devices)),
        _sql(
            Workload.objects.filter(studies=_ANY_STUDY)
            .order_by("pk")
            .values_list("load_host__name")
        ),
    )


def _study() -> QuerySet[Study]:
    return Study.objects.filter(pk=_ANY_STUDY)


def _states(*more: Max) -> QuerySet[Any, Any]:
    """Of the newest runs in each state: how many, the last of them and when that ended."""
    slots = Slot.objects.filter(study_id=_ANY_STUDY).values_list("run__state")
    facts = Count("pk"), Max("run_id"), Max("run__finished_at"), *more
    return slots.order_by("run__state").annotate(*facts)


def _sql(query: QuerySet[Any, Any]) -> Sql:
    text, parameters = query.query.sql_with_params()
    return text, tuple(parameters)


def _of_study(query: Sql, study_id: int) -> tuple[str, list[Any]]:
    text, parameters = query
    return text, [study_id if one == _ANY_STUDY else one for one in parameters]


def _word(queries: Iterable[Sql], study_id: int) -> str:
    seen = []
    with connection.cursor() as cursor:
        for query in queries:
            cursor.execute(*_of_study(query, study_id))
            seen.append(cursor.fetchall())
    return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]
