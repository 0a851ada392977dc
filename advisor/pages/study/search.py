"""The part of a study's page that is about its search."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.wording.searches import WHY, phase_of
from advisor.wording.spaces import SpaceLine, knobs_text, space_lines
from tuning.models import Slot
from tuning.results.searched import SearchResult, Tried, search_result
from tuning.results.study_result import StudyResult
from tuning.statistics.aim import limit_text
from tuning.strategy.search.space import Space


@dataclass(frozen=True)
class TriedLine:
    """A row of the table of tried configs."""

    tried: Tried
    knobs: str


@dataclass(frozen=True)
class Now:
    """The config being measured, and why; `source` is the origin of its values."""

    phase: str
    candidate: str
    why: str
    source: str


@dataclass(frozen=True)
class SearchView:
    """The search as the page shows it."""

    found: SearchResult
    space: list[SpaceLine]
    pinned: dict[str, str]
    limits: list[str]
    lines: list[TriedLine]
    now: Now | None


def search_view(result: StudyResult) -> SearchView | None:
    """None for a study that does not search."""
    found, stored = search_result(result), result.study.search
    if found is None or stored is None:
        return None
    space = Space.from_json(stored["space"])
    return SearchView(
        found=found,
        space=space_lines(space),
        pinned=dict(space.pinned),
        limits=[limit_text(metric, bound) for metric, bound in result.aim.keep.items()],
        lines=[TriedLine(one, knobs_text(one.candidate.config.knobs)) for one in found.tried],
        now=_now(result),
    )


def _now(result: StudyResult) -> Now | None:
    """The current run, else the next one."""
    if result.study.is_finished:
        return None
    current = next((slot for slot in result.slots if not slot.run.is_finished), None)
    if current is None:
        return None
    phase = phase_of(current, _was_measured(result, current))
    source = current.candidate.source if current.candidate.found_by_search else ""
    return Now(phase, current.candidate.name, WHY[phase], source)


def _was_measured(result: StudyResult, current: Slot) -> bool:
    """Whether the candidate has an earlier run."""
    earlier = (slot for slot in result.slots if slot.order < current.order)
    return any(slot.candidate_id == current.candidate_id for slot in earlier)
