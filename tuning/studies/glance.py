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
from django.db.models import Count, Max, OuterRef, QuerySet, Subquery

from benchmarks.models import CrashTest, JobState
from tuning.models import ACTIVE_STUDY_STATES, Recommendation, Slot, Study

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
    return _word(_rows(query, study_id) for query in _progress_queries())


def final_word(study_id: int) -> str | None:
    """A word that differs whenever anything does that is said of a study that has ended.

    None while it goes on. A study that has ended can be extended or taken apart; its host renamed,
    its devices corrected.
    """
    study, states = _final_queries()
    rows = _rows(study, study_id)
    if not rows or rows[0][0] in ACTIVE_STUDY_STATES:
        return None
    return _word([rows, _rows(states, study_id)])


def results_glance(study_id: int) -> str:
    """A word that differs whenever the results of a study that goes on do."""
    return _word(_rows(query, study_id) for query in _results_queries())


# To have Django make a query takes several times as long as the database needs to answer it.
@cache
def _progress_queries() -> tuple[Sql, ...]:
    running = CrashTest.objects.filter(slot__study=OuterRef("pk"), state=JobState.RUNNING)
    test = (Subquery(running.order_by("pk").values(name)[:1]) for name in ("pk", "step"))
    return (
        _sql(_study().values_list(*_STUDY, _newest_recommendation(), *test)),
        _sql(_states(Max("run__step"))),
    )


@cache
def _results_queries() -> tuple[Sql, ...]:
    return (
        _sql(_study().values_list(*_RESULTS, _newest_recommendation())),
        # Counted apart: joined with each other, each would multiply the others.
        _sql(_study().values_list(Count("candidates"), Max("candidates"))),
        _sql(_study().values_list(Count("eliminations"))),
        _sql(_study().values_list(Count("crash_slots"), Max("crash_slots__test__finished_at"))),
        _sql(_states()),
    )


@cache
def _final_queries() -> tuple[Sql, Sql]:
    """The study, whose state comes first, with each of its devices and workloads; its runs."""
    names = "state", "created_at", "finished_at", "conclusions", "name", "group_id", "host__name"
    devices = "pk", "kind", "kind_correction", "retired_at", "emulation_label", "model"
    columns = *names, *(f"devices__{name}" for name in devices), "workloads__load_hosts__name"
    places = _study().order_by("devices__pk", "workloads__pk", "workloads__load_hosts__pk")
    return _sql(places.values_list(*columns, _newest_recommendation())), _sql(_states())


def _study() -> QuerySet[Study]:
    return Study.objects.filter(pk=_ANY_STUDY)


def _newest_recommendation() -> Subquery:
    there = Recommendation.objects.filter(study=OuterRef("pk"))
    return Subquery(there.order_by("-pk").values("pk")[:1])


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


def _rows(query: Sql, study_id: int) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(*_of_study(query, study_id))
        return list(cursor.fetchall())


def _word(seen: Iterable[list[Any]]) -> str:
    return hashlib.sha256(repr(list(seen)).encode()).hexdigest()[:16]
