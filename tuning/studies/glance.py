"""Looks at a study that cost next to nothing: has anything changed that is shown of it?

Pages and terminals ask every second or two, for hours, on the host that is being measured. What
they show is worked out again only when a look differs.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.db.models import Aggregate, Count, Max, OuterRef, QuerySet, Subquery

from benchmarks.models import ACTIVE_RUN_STATES, CrashTest, JobState, RunState
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


def glance(study_id: int) -> str:
    """A word that differs whenever the study's progress does, and every REFRESH_S seconds."""
    return look_at(study_id).word


class Look(NamedTuple):
    """A look at one moment. `word`: its glance; `states`: the newest runs by their state."""

    word: str
    states: Sequence[tuple[Any, ...]]

    @property
    def newest_run(self) -> int | None:
        """The id of the newest of the slots' runs; None without any."""
        return max((newest for _, _, _, newest, *_ in self.states), default=None)

    @property
    def ended(self) -> int:
        """How many of the slots' runs have ended."""
        return sum(n for _, state, n, *_ in self.states if state not in ACTIVE_RUN_STATES)

    @property
    def steps(self) -> dict[int, str]:
        """The step of the current run, by its id; a study has one at most."""
        return {run: step for _, at, _, run, _, step in self.states if at == RunState.RUNNING}


def look_at(study_id: int) -> Look:
    """A glance and what else it has seen, in as many queries."""
    study, states = map(list, _progress_queries(study_id))
    word = _words(study, states).get(study_id, "")
    return Look(f"{word}.{_tick()}", states)


def group_glances(group_id: int) -> dict[int, str]:
    """The same of each study of a group, by its primary key, in as many queries as of one."""
    words = _words(*_progress_queries(group_id, "group"))
    return {study_id: f"{word}.{_tick()}" for study_id, word in words.items()}


def _tick() -> int:
    return int(time.time() // REFRESH_S)


def final_word(study_id: int) -> str | None:
    """A word that differs whenever anything does that is said of a study that has ended.

    None while it goes on. A study that has ended can be extended or taken apart; its host renamed,
    its devices corrected.
    """
    names = "state", "created_at", "finished_at", "conclusions", "name", "group_id", "host__name"
    devices = "pk", "kind", "kind_correction", "retired_at", "emulation_label", "model"
    columns = *names, *(f"devices__{name}" for name in devices), "workloads__load_hosts__name"
    places = Study.objects.filter(pk=study_id).order_by(
        "devices__pk", "workloads__pk", "workloads__load_hosts__pk"
    )
    rows = list(places.values_list(*columns, _of_rows(Recommendation, Max("pk"))))
    if not rows or rows[0][0] in ACTIVE_STUDY_STATES:
        return None
    return _digest([rows, list(_states(study_id))])


def results_glance(study_id: int, seen: Look | None = None) -> str:
    """A word that differs whenever the results of a study do, whether it goes on or has ended.

    `seen`: a look just before, which saves one of two queries.
    """
    # Without the step of the current run.
    runs = _states(study_id) if seen is None else [row[:-1] for row in seen.states]
    return _words(_results_of(study_id), runs).get(study_id, "")


def group_results_glances(group_id: int) -> dict[int, str]:
    """The same of each study of a group, in as many queries as of one."""
    return _words(_results_of(group_id, "group"), _states(group_id, of="group"))


def _progress_queries(pk: int, of: str = "pk") -> tuple[QuerySet[Any, Any], ...]:
    """The first column is the primary key of a study; `of` is "pk" or "group"."""
    tests = CrashTest.objects.filter(slot__study=OuterRef("pk"), state=JobState.RUNNING)
    return (
        Study.objects.filter(**{of: pk})
        .order_by("pk")
        .values_list(
            "pk",
            *_STUDY,
            _of(tests, "state", Max("pk")),
            _of(tests, "state", Max("step")),
            _of_rows(Recommendation, Max("pk")),
        ),
        _states(pk, Max("run__step"), of=of),
    )


def _results_of(pk: int, of: str = "pk") -> QuerySet[Any, Any]:
    return (
        Study.objects.filter(**{of: pk})
        .order_by("pk")
        .values_list(
            "pk",
            *_RESULTS,
            _of_rows(Candidate, Count("pk")),
            _of_rows(Candidate, Max("pk")),
            _of_rows(Elimination, Count("pk")),
            _of_rows(CrashSlot, Count("pk")),
            _of_rows(CrashSlot, Max("test__finished_at")),
            _of_rows(Recommendation, Max("pk")),
        )
    )


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


def _states(pk: int, *more: Max, of: str = "pk") -> QuerySet[Any, Any]:
    """Of the newest runs in each state: how many, the last of them and when that ended."""
    slots = Slot.objects.filter(**{f"study__{of}": pk}).values_list("study_id", "run__state")
    facts = Count("pk"), Max("run_id"), Max("run__finished_at"), *more
    return slots.order_by("study_id", "run__state").annotate(*facts)


def _words(*found: Iterable[tuple[Any, ...]]) -> dict[int, str]:
    """By study, of rows whose first column is a study's primary key."""
    of_study: dict[int, list[Any]] = {}
    for rows in found:
        for study_id, *facts in rows:
            of_study.setdefault(study_id, []).append(facts)
    return {study_id: _digest(facts) for study_id, facts in of_study.items()}


def _digest(seen: list[Any]) -> str:
    return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]
