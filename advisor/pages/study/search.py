"""The part of a study's page that is about its search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from advisor.wording.importance import KnobLine, importance_note, knob_lines
from advisor.wording.searches import missed_before_text, phase_of, tried_text, warm_start_text
from advisor.wording.spaces import SpaceLine, knob_text, knobs_text, space_lines
from tuning.results.knob_importance import knob_importance
from tuning.results.searched import SearchResult, Tried, search_result
from tuning.results.slot_rows import SlotRow
from tuning.results.study_result import StudyResult
from tuning.scale_model.model import ScaleModel
from tuning.statistics.data import Metric
from tuning.statistics.rounds import mean_ratio
from tuning.strategy.search.space import Dimension, Space
from tuning.studies.earlier_studies import stored_missed_before, warm_start


@dataclass(frozen=True)
class TriedLine:
    """A row of the table of tried configs."""

    tried: Tried
    knobs: str
    is_on_front: bool

    @property
    def tpmP(self) -> float | None:
        """Ratio to the baseline, like the others."""
        return self.tried.ratios.get(Metric.TPMP)

    @property
    def p95(self) -> float | None:
        return self.tried.ratios.get(Metric.P95)

    @property
    def path_length(self) -> float | None:
        return self.tried.ratios.get(Metric.SERVER_PATH_LENGTH)


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
class SearchView:
    """The search as the page shows it."""

    found: SearchResult
    space: list[SpaceLine]
    pinned: dict[str, str]
    limits: list[str]
    lines: list[TriedLine]
    now: CurrentConfig | None
    knobs: list[KnobLine]
    importance: str
    tried: str
    begins: str
    missed: str
    values: list[ValueLine]
    model: ScaleModel | None

    @property
    def has_figures(self) -> bool:
        """Whether any config can be compared with the baseline."""
        return any(look.ratio is not None for look in self.found.looks)


def search_view(result: StudyResult) -> SearchView | None:
    """None for a study that does not search."""
    found, stored = search_result(result), result.study.search
    if found is None or stored is None:
        return None
    space, learned = Space.from_json(stored["space"]), knob_importance(result)
    return SearchView(
        found=found,
        space=space_lines(space),
        pinned=dict(space.pinned),
        limits=result.aim.limits,
        lines=_tried_lines(found),
        now=_now(result),
        knobs=knob_lines(learned) if learned else [],
        importance=importance_note(learned) if learned else "",
        tried=tried_text(found, is_finished=result.study.is_finished),
        begins=warm_start_text(warm_start(stored)),
        missed=missed_before_text(stored_missed_before(stored)),
        values=list(_value_lines(found, space)),
        model=ScaleModel.from_json(result.study.scale_model),
    )


def _tried_lines(found: SearchResult) -> list[TriedLine]:
    costs = Metric.P95, Metric.SERVER_PATH_LENGTH
    front = {one.candidate.pk for cost in costs for one in found.front(cost)}
    return [
        TriedLine(one, knobs_text(one.candidate.config.knobs), one.candidate.pk in front)
        for one in found.tried
    ]


def _value_lines(found: SearchResult, space: Space) -> Iterator[ValueLine]:
    """What the chart of one knob at a time shows, as a table."""
    for one in space.dimensions:
        seen: dict[str, list[float]] = {}
        for look in found.looks:
            value = look.candidate.config.knobs.get(one.name) or one.default
            if value and look.ratio is not None:
                seen.setdefault(value, []).append(look.ratio)
        for value, ratios in sorted(seen.items(), key=lambda item: _position(one, item[0])):
            text = knob_text(one.name, value)
            yield ValueLine(one.name, text, len(ratios), mean_ratio(ratios))


def _position(one: Dimension, value: str) -> tuple[float, str]:
    """Numbers by size, words by the alphabet."""
    try:
        return (float(value), "") if one.is_number else (0.0, value)
    except ValueError:
        return 0.0, value


def _now(result: StudyResult) -> CurrentConfig | None:
    """The current run, else the next one."""
    if result.study.is_finished:
        return None
    current = next((slot for slot in result.slots if not slot.run.is_finished), None)
    if current is None:
        return None
    phase = phase_of(current, _was_measured(result, current))
    source = current.candidate.source if current.candidate.found_by_search else ""
    return CurrentConfig(phase.word, current.candidate.name, phase.why, source)


def _was_measured(result: StudyResult, current: SlotRow) -> bool:
    """Whether the candidate has an earlier run."""
    earlier = (slot for slot in result.slots if slot.order < current.order)
    return any(slot.candidate_id == current.candidate_id for slot in earlier)
