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
from django.db.models import Aggregate, Count, Max, OuterRef, QuerySet, Subquery

from benchmarks.models import CrashTest, JobState
from tuning.models import (
    ACTIVE_STUDY_STATES,
    Candidate,
    CrashSlot,
    Elimination,
    Recommendation,
    Slot,
    Study,
)

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
    "host__name",
    "host__drained_at",
    "host__drain_reason",
)
_RESULTS = "created_at", "state", "concluded_at", "extended_by", "conclusions"
# Stands for the study, or the group of studies, in queries that are made once.
_ANY = -4711

Sql = tuple[str, tuple[Any, ...]]


def glance(study_id: int) -> str:
    """A word that differs whenever the study's progress does, and every REFRESH_S seconds."""
    return f"{progress_word(study_id)}.{int(time.time() // REFRESH_S)}"


def group_glances(group_id: int) -> dict[int, str]:
    """The same of each study of a group, by its primary key, in as many queries as of one."""
    tick = int(time.time() // REFRESH_S)
    words = _words(_progress_queries("group"), group_id)
    return {study_id: f"{word}.{tick}" for study_id, word in words.items()}


def progress_word(study_id: int) -> str:
    """A word that differs whenever the study's progress does, whatever time it is."""
    return _words(_progress_queries(), study_id).get(study_id, "")


def final_word(study_id: int) -> str | None:
    """A word that differs whenever anything does that is said of a study that has ended.

    None while it goes on. A study that has ended can be extended or taken apart; its host renamed,
    its devices corrected.
    """
    study, states = _final_queries()
    rows = _rows(study, study_id)
    if not rows or rows[0][0] in ACTIVE_STUDY_STATES:
        return None
    return _digest([rows, _rows(states, study_id)])


def results_glance(study_id: int) -> str:
    """A word that differs whenever the results of a study do, whether it goes on or has ended."""
    return _words(_results_queries(), study_id).get(study_id, "")


def group_results_glances(group_id: int) -> dict[int, str]:
    """The same of each study of a group, in as many queries as of one."""
    return _words(_results_queries("group"), group_id)


# To have Django make a query takes several times as long as the database needs to answer it.
@cache
def _progress_queries(of: str = "pk") -> tuple[Sql, ...]:
    """The first column is the primary key of a study; `of` is "pk" or "group"."""
    tests = CrashTest.objects.filter(slot__study=OuterRef("pk"), state=JobState.RUNNING)
    return (
        _sql(
            _studies(of).values_list(
                "pk",
                *_STUDY,
                _of(tests, "state", Max("pk")),
                _of(tests, "state", Max("step")),
                _of_rows(Recommendation, Max("pk")),
            )
        ),
        _sql(_states(Max("run__step"), of=of)),
    )


@cache
def _results_queries(of: str = "pk") -> tuple[Sql, ...]:
    return (
        _sql(
            _studies(of).values_list(
                "pk",
                *_RESULTS,
                _of_rows(Candidate, Count("pk")),
                _of_rows(Candidate, Max("pk")),
                _of_rows(Elimination, Count("pk")),
                _of_rows(CrashSlot, Count("pk")),
                _of_rows(CrashSlot, Max("test__finished_at")),
                _of_rows(Recommendation, Max("pk")),
            )
        ),
        _sql(_states(of=of)),
    )


@cache
def _final_queries() -> tuple[Sql, Sql]:
    """The study, whose state comes first, with each of its devices and workloads; its runs."""
    names = "state", "created_at", "finished_at", "conclusions", "name", "group_id", "host__name"
    devices = "pk", "kind", "kind_correction", "retired_at", "emulation_label", "model"
    columns = *names, *(f"devices__{name}" for name in devices), "workloads__load_hosts__name"
    places = _studies().order_by("devices__pk", "workloads__pk", "workloads__load_hosts__pk")
    newest = _of_rows(Recommendation, Max("pk"))
    return _sql(places.values_list(*columns, newest)), _sql(_states())


def _studies(of: str = "pk") -> QuerySet[Study]:
    return Study.objects.order_by("pk").filter(**{of: _ANY})


def _of_rows(
    model: type[Candidate | CrashSlot | Elimination | Recommendation], what: Aggregate
) -> Subquery:
    """An aggregate over the study's rows of that kind."""
    return _of(model.objects.filter(study=OuterRef("pk")), "study", what)


def _of(rows: QuerySet[Any, Any], same: str, what: Aggregate) -> Subquery:
    """An aggregate as a column; `same` has one value in all the rows.

    Joined with the study, rows of several kinds would multiply each other.
    """
    return Subquery(rows.order_by().values(same).annotate(found=what).values("found"))


def _states(*more: Max, of: str = "pk") -> QuerySet[Any, Any]:
    """Of the newest runs in each state: how many, the last of them and when that ended."""
    slots = Slot.objects.filter(**{f"study__{of}": _ANY}).values_list("study_id", "run__state")
    facts = Count("pk"), Max("run_id"), Max("run__finished_at"), *more
    return slots.order_by("study_id", "run__state").annotate(*facts)


def _sql(query: QuerySet[Any, Any]) -> Sql:
    text, parameters = query.query.sql_with_params()
    return text, tuple(parameters)


def _asked(query: Sql, pk: int) -> tuple[str, list[Any]]:
    text, parameters = query
    return text, [pk if one == _ANY else one for one in parameters]


def _words(queries: Iterable[Sql], pk: int) -> dict[int, str]:
    """By study, of queries whose first column is a study's primary key."""
    found: dict[int, list[Any]] = {}
    for query in queries:
        for study_id, *facts in _rows(query, pk):
            found.setdefault(study_id, []).append(facts)
    return {study_id: _digest(facts) for study_id, facts in found.items()}


def _rows(query: Sql, pk: int) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(*_asked(query, pk))
        return list(cursor.fetchall())


def _digest(seen: list[Any]) -> str:
    return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]
