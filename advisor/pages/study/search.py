"""The part of a study's page that is about its search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any

from advisor.wording.importance import KnobLine, importance_note, knob_lines
from advisor.wording.searches import phase_of, tried_text, warm_start_text
from advisor.wording.spaces import SpaceLine, knob_text, knobs_text, space_lines
from tuning.results.document import CandidateFacts, Search, StudyDocument, TriedConfig
from tuning.scale_model.model import ScaleModel
from tuning.statistics.aim import FULL_NAMES
from tuning.statistics.data import Metric
from tuning.strategy.search.space import Dimension, Space

# The best so many are seen at once; as many more come folded.
OPEN_TRIED, MORE_TRIED = 10, 50


@dataclass(frozen=True)
class TriedLine:
    """A row of the table of tried configs; ratios to the baseline."""

    tried: TriedConfig
    candidate: CandidateFacts
    is_on_front: bool

    @property
    def throughput(self) -> float | None:
        return self.tried.ratios.get(Metric.THROUGHPUT)

    @property
    def p95(self) -> float | None:
        return self.tried.ratios.get(Metric.P95)

    @property
    def path_length(self) -> float | None:
        return self.tried.ratios.get(Metric.SERVER_PATH_LENGTH)

    @property
    def settings(self) -> str:
        return knobs_text(self.candidate.knobs)


@dataclass(frozen=True)
class ValueLine:
    """The runs of a search with one value of a knob: their number and mean ratio."""

    knob: str
    value: str
    runs: int
    ratio: float


@dataclass(frozen=True)
class CurrentConfig:
    """The config being measured, and why; `source` is the origin of its values."""

    phase: str
    candidate: str
    why: str
    source: str


@dataclass(frozen=True)
class Part:
    """Some rows of a long table. next: the place of the first row that is left."""

    name: str
    rows: Sequence[Any]
    count: int
    next: int

    @property
    def left(self) -> int:
        return self.count - self.next


@dataclass(frozen=True)
class SearchView:
    """The search as the page shows it."""

    found: Search
    metric: str
    leader: str
    leader_ratio: float | None
    space: list[SpaceLine]
    pinned: dict[str, str]
    limits: tuple[str, ...]
    lines: list[TriedLine]
    now: CurrentConfig | None
    knobs: list[KnobLine]
    importance: str
    tried: str
    begins: str
    values: list[ValueLine]
    model: ScaleModel | None

    @property
    def open_lines(self) -> list[TriedLine]:
        """The best, which are seen at once."""
        return self.lines[:OPEN_TRIED]

    @property
    def hidden(self) -> int:
        return len(self.lines) - OPEN_TRIED

    @property
    def more(self) -> Part:
        """The rows that come folded with the page; what is left follows on request."""
        end = OPEN_TRIED + MORE_TRIED
        return Part("tried", self.lines[OPEN_TRIED:end], len(self.lines), end)


def search_view(document: StudyDocument) -> SearchView | None:
    """Return the search; None for a study that does not search."""
    found = document.search
    if found is None:
        return None
    space, learned = Space.from_json(found.space), found.importance
    leader = found.best[-1] if found.best else None
    return SearchView(
        found=found,
        metric=FULL_NAMES[found.metric],
        leader=document.candidate[leader.candidate_id].name if leader else "",
        leader_ratio=leader.ratio if leader else None,
        space=space_lines(space),
        pinned=dict(space.pinned),
        limits=document.study.limits,
        lines=tried_lines(document, found),
        now=_now(document),
        knobs=knob_lines(learned) if learned else [],
        importance=importance_note(learned) if learned else "",
        tried=tried_text(found, is_finished=document.study.is_finished),
        begins=warm_start_text(found.began_with),
        values=list(_value_lines(document, found, space)),
        model=ScaleModel.from_json(document.study.scale_model),
    )


def tried_lines(document: StudyDocument, found: Search) -> list[TriedLine]:
    """Return the tried configs, the best first."""
    front = {pk for there in found.fronts.values() for pk in there}
    return [
        TriedLine(one, document.candidate[one.candidate_id], one.candidate_id in front)
        for one in found.tried
    ]


def _value_lines(document: StudyDocument, found: Search, space: Space) -> Iterator[ValueLine]:
    """The figures of the chart of one knob at a time, as a table."""
    for one in space.dimensions:
        seen: dict[str, list[float]] = {}
        for run in found.runs:
            value = document.candidate[run.candidate_id].knobs.get(one.name) or one.default
            if value and run.ratio is not None:
                seen.setdefault(value, []).append(run.ratio)
        for value, ratios in sorted(seen.items(), key=lambda item: _position(one, item[0])):
            text = knob_text(one.name, value)
            yield ValueLine(one.name, text, len(ratios), geometric_mean(ratios))


def _position(one: Dimension, value: str) -> tuple[float, str]:
    """Numbers by size, words by the alphabet."""
    try:
        return (float(value), "") if one.is_number else (0.0, value)
    except ValueError:
        return 0.0, value


def _now(document: StudyDocument) -> CurrentConfig | None:
    """The current run, else the next one."""
    current = document.current
    if document.study.is_finished or current is None:
        return None
    candidate = document.candidate[current.candidate_id]
    was_measured = any(
        run.order < current.order and run.candidate_id == candidate.id for run in document.runs
    )
    phase = phase_of(current.purpose, candidate, was_measured)
    source = candidate.source if candidate.found_by_search else ""
    return CurrentConfig(phase.word, candidate.name, phase.why, source)
