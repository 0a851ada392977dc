"""The live part of the study page: state, progress, events and the run that is measured now."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404

from advisor.charts.live import live_curves
from benchmarks.models import Host, Run
from benchmarks.telemetry.live import LiveSecond
from tuning.models import EventKind, Study
from tuning.studies.current_jobs import current_throughput
from tuning.studies.progress import StudyProgress, study_progress
from tuning.studies.revision import with_steps
from tuning.studies.scheduler import is_under_way
from tuning.studies.waiting import drain_text, pause_text

# How many events are seen at once, and how many are listed at all.
SHOWN_EVENTS, LISTED_EVENTS = 5, 100
TONES = {
    EventKind.CLAIMED: "busy",
    EventKind.MEASURED: "ok",
    EventKind.DISTURBED: "warn",
    EventKind.LOST: "warn",
    EventKind.CUT_SHORT: "warn",
    EventKind.LEFT_THE_RACE: "warn",
    EventKind.FAILED: "bad",
    EventKind.PAUSED: "warn",
}


def live_context(study: Study, mark: str) -> dict[str, Any]:
    """Return what changes with every step; `mark`: from before the rows are read.

    Of a study that has ended only the events are read.
    """
    progress = None
    if not study.is_finished:
        progress = study_progress(study)
        study.waits = bool(progress.waits_for)
    drain = "" if study.is_finished else drain_text(study.host)
    found = list(study.events.all()[: LISTED_EVENTS + 1])
    events = [(one, TONES.get(EventKind(one.kind), "")) for one in found[:LISTED_EVENTS]]
    return {
        "mark": mark,
        "study": study,
        "progress": progress,
        "percent": round(progress.fraction * 100) if progress else 100,
        "took_s": _took_s(study),
        "pause": pause_text(study),
        "drain": drain,
        # Said of what waits for the current run to end.
        "is_under_way": (study.is_paused or bool(drain)) and is_under_way(study),
        "announcement": _announcement(study, progress),
        "events": events[:SHOWN_EVENTS],
        "older_events": events[SHOWN_EVENTS:],
        "has_more_events": len(found) > LISTED_EVENTS,
    }


def now_context(now: Run | None) -> dict[str, Any]:
    """Return the run that is driven now, with the seconds of its last minute, oldest first."""
    if now is None:
        return {"now": None}
    seconds = [LiveSecond(*second) for second in now.live or ()]
    return {
        "now": now,
        "newest": seconds[-1],
        "throughput": current_throughput(seconds),
        "curves": live_curves(seconds),
    }


def _took_s(study: Study) -> float | None:
    if study.started_at is None or study.finished_at is None:
        return None
    return (study.finished_at - study.started_at).total_seconds()


def _announcement(study: Study, progress: StudyProgress | None) -> str:
    label = study.shown_state
    if progress is None:
        return f"Study {label.lower()}."
    if not progress.candidate:
        return f"{label}."
    what = progress.text.rpartition(",")[0]
    if progress.runs_done < progress.runs_total:
        return f"Run {progress.runs_done + 1} of {progress.runs_total}, {what}."
    return f"{what.capitalize()}."


def studies_to_show() -> QuerySet[Study]:
    """Return all studies with what stands on their page beside the result document.

    now: by the database's clock. has_other_hosts: whether pages name hosts. Devices and workloads
    are in the document.
    """
    there = Study.objects.select_related("server", "host", "created_by")
    others = Host.objects.exclude(pk=OuterRef("host"))
    return with_steps(there.annotate(now=Now(), has_other_hosts=Exists(others)))


def study_to_show(pk: int) -> Any:
    """Return one of them. Raises Http404."""
    return get_object_or_404(studies_to_show(), pk=pk)
