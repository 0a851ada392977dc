"""A search before its start: the checks of its request, its space, what it begins with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import ceil
from typing import Any

from benchmarks.inventory.host import HostInventory
from tuning.catalogue.loader import load_catalogue
from tuning.configs.candidates import PlannedCandidate, plan_preset
from tuning.configs.notes import Action, Note
from tuning.configs.proposed import plan_proposed
from tuning.configs.situation import Situation
from tuning.configs.values import readable_value
from tuning.errors import BadRequest
from tuning.requests.search import SearchRequest
from tuning.requests.sizes import Sizes
from tuning.requests.study import StudyRequest
from tuning.scale_model.model import ScaleModel
from tuning.search_space.build import build_space
from tuning.search_space.space_request import BadSpace, SpaceRequest
from tuning.statistics.aim import Aim
from tuning.statistics.confirmation import MIN_PAIRS
from tuning.statistics.data import Metric
from tuning.strategy.search.grid import Grid
from tuning.strategy.search.plan import PREFIX, SearchPlan
from tuning.strategy.search.space import Space
from tuning.studies.arrangement import Arrangement, arrange
from tuning.studies.earlier_studies import (
    MissedBefore,
    SearchConditions,
    WarmStart,
    earlier_measured,
    missed_before,
    read_earlier,
    stored_earlier,
    warm_start,
)
from tuning.studies.forecast import APART_SHARE, ASSUMED_OVERHEAD_S
from tuning.studies.modelling import bounds_in_model, fitted, pinned_in_model
from tuning.study_templates.loader import StudyTemplate

# The least that is a search: one round of new configs, and three blocks of a race
# between the baseline, which runs twice, and one config.
_NEW_RUNS = 6
_RACE_RUNS = 9
_USUAL_MINUTES = 45


@dataclass(frozen=True)
class PlannedSearch:
    """A search that can be begun: for so many minutes, and as it is stored with its study."""

    minutes: int
    document: dict[str, Any]
    request: SearchRequest
    space: Space


def plan_search(
    request: StudyRequest, arranged: Arrangement, measured: Sequence[PlannedCandidate]
) -> PlannedSearch | None:
    """The search of a study that begins with the candidates `measured`, the baseline first.

    None for a study that does not search. Raises BadRequest or BadSpace.
    """
    template = arranged.template
    search = _search_of(request, template)
    if search is None:
        return None
    _check_request(request, template, arranged.sizes)
    _check_aim(search.aim, arranged.inventory)
    minutes = request.budget_minutes or template.budget_minutes or _USUAL_MINUTES
    share = 0.0 if request.takes_apart is False else APART_SHARE
    _check_minutes(minutes, arranged.sizes, len(measured), share)
    space = _space_for(search, arranged.situation, measured[0], arranged.model)
    conditions = arranged.search_conditions(measured[0].knobs)
    document = {
        **search.aim.as_json(),
        "space": space.as_json(),
        "bounded": list(search.bounds),
    }
    document["earlier"] = _earlier(search, conditions, space)
    document["missed_before"] = asdict(missed_before(conditions, search.aim))
    return PlannedSearch(minutes, document, search, space)


@dataclass(frozen=True)
class SearchHere:
    """What a search would change and begin with; sizes are those of the `model`.

    missed_before: the limits that the baseline itself missed in an earlier study.
    """

    space: Space
    warm_start: WarmStart | None
    model: ScaleModel | None = None
    missed_before: MissedBefore = field(default_factory=MissedBefore)


def search_here(request: StudyRequest) -> SearchHere:
    """What a search would get on the host of the request; nothing is stored or measured.

    Raises TuningError or BenchmarkError as creating the study would.
    """
    arranged = arrange(request)
    template, model, situation = arranged.template, arranged.model, arranged.situation
    search = _search_of(request, template) or SearchRequest()
    _check_request(request, template, arranged.sizes)
    _check_aim(search.aim, arranged.inventory)
    baseline = plan_preset(
        template.baseline,
        situation.target,
        resources=situation.resources,
        durability=situation.durability,
        host=situation.host,
    )
    first = fitted(baseline, model, situation)
    space = _space_for(search, situation, first, model)
    conditions = arranged.search_conditions(first.knobs)
    begins = warm_start({"earlier": _earlier(search, conditions, space)})
    return SearchHere(space, begins, model, missed_before(conditions, search.aim))


def plan_of(stored: Mapping[str, Any]) -> SearchPlan:
    """What the strategy goes by, of a search as it is stored."""
    return SearchPlan(
        Space.from_json(stored["space"]), Aim.from_json(stored), earlier=read_earlier(stored)
    )


def _earlier(
    search: SearchRequest, conditions: SearchConditions, space: Space
) -> list[dict[str, Any]]:
    """What the search begins with, as it is stored."""
    if not search.warm_start:
        return []
    return stored_earlier(earlier_measured(conditions, space, search.aim.objective))


def _search_of(request: StudyRequest, template: StudyTemplate) -> SearchRequest | None:
    return request.search or (SearchRequest() if template.searches else None)


def _check_request(request: StudyRequest, template: StudyTemplate, sizes: Sizes) -> None:
    """Refuse what does not go with a search; raises BadRequest."""
    if template.durability > request.durability:
        raise BadRequest(
            f"template {template.name!r} has candidates of durability {template.durability}: a "
            f"search that begins with them needs durability {template.durability}, not "
            f"{request.durability}",
            field="template",
        )
    if len(request.devices) > 1:
        raise BadRequest("a search is for one device", field="devices")
    if len(sizes.connections) > 1:
        raise BadRequest("a search is for one number of connections", field="connections")
    if request.blocks is not None:
        raise BadRequest("a search ends by its minutes, not by blocks", field="blocks")
    for name in ("races", "confirms"):
        if getattr(request, name) is False:
            reason = "a search must race and confirm its finds, because their figures are too high"
            raise BadRequest(reason, field=name)
    if taken := [one.name for one in request.configs if one.name.startswith(PREFIX)]:
        raise BadRequest(
            f"{taken[0]}: names with {PREFIX!r} are those of the search itself", field="configs"
        )


def _check_aim(aim: Aim, inventory: HostInventory) -> None:
    """Refuse an aim without figures on that host; raises BadRequest."""
    path = Metric.SERVER_PATH_LENGTH
    field = "objective" if aim.objective is path else "keep" if path in aim.keep else ""
    if field and inventory.cpu_hz is None:
        raise BadRequest(
            "path-length cannot be measured here: this host does not report its CPU frequency",
            field=f"search.{field}",
        )


def _check_minutes(minutes: int, sizes: Sizes, candidates: int, apart_share: float) -> None:
    """Refuse minutes in which nothing can be found; `candidates` are given, with the baseline.

    `apart_share` of the minutes is kept for taking the winner apart.
    """
    run_s = sizes.warmup_s + sizes.measure_s + ASSUMED_OVERHEAD_S
    needed = (candidates + _NEW_RUNS + _RACE_RUNS + 2 * MIN_PAIRS) * run_s
    needed /= 1 - apart_share
    if minutes * 60 < needed:
        raise BadRequest(
            f"budget_minutes {minutes} is too little for a search with runs of this length: it "
            f"needs at least {ceil(needed / 60)} minutes",
            field="budget_minutes",
        )


def _space_for(
    search: SearchRequest,
    situation: Situation,
    baseline: PlannedCandidate,
    model: ScaleModel | None,
) -> Space:
    """The space of a search that begins at the baseline; raises BadSpace.

    Values of the user's are for the real server; in a scale model they are sized down.
    """
    knobs = search.knobs
    request = SpaceRequest(
        count=knobs if isinstance(knobs, int) else None,
        names=knobs if isinstance(knobs, tuple) else (),
        free=search.free,
        pinned=pinned_in_model(search.pinned, model, situation),
        bounds=bounds_in_model(search.bounds, model, situation),
        base=baseline.knobs,
    )
    try:
        return build_space(request, situation)
    except BadSpace as error:
        if model is None:
            raise
        name = error.field.rpartition(".")[2]
        given = search.pinned.get(name) or " to ".join(search.bounds.get(name, ()))
        text = f"{error} (all sizes as in the {model.title}"
        text += f"; {given} on the real server)" if given else ")"
        raise BadSpace(error.code, text, field=error.field) from None


def held_to(
    request: SearchRequest, plan: PlannedCandidate, space: Space, situation: Situation
) -> PlannedCandidate:
    """A template's candidate with the pins and within the bounds: it may be recommended.

    Left out where the gate refuses the result. The baseline and the user's own files stay.
    """
    if plan.is_baseline or plan.left_out or plan.lines:
        return plan
    changes = {note.name: (note, value) for note, value in _changes(request, plan, space)}
    if not changes:
        return plan
    found = plan_proposed(
        plan.name,
        {**plan.knobs, **{name: value for name, (_, value) in changes.items()}},
        situation.target,
        source=plan.source,
        durability=situation.durability,
        host=situation.host,
    )
    if found.left_out:
        why = f"not possible with what is pinned and bounded ({found.left_out})"
        return replace(plan, knobs={}, checks=(), left_out=why)
    notes = [note for note in plan.notes if note.name not in changes]
    notes += [note for note, _ in changes.values()]
    return replace(plan, knobs=found.knobs, notes=(*notes, *found.notes), checks=found.checks)


def _changes(
    request: SearchRequest, plan: PlannedCandidate, space: Space
) -> Iterator[tuple[Note, str]]:
    for name in request.pinned:
        value = space.pinned.get(name)
        if value is not None and plan.knobs.get(name) != value:
            yield _note(name, value, "pinned in this search"), value
    point, here = Grid(space).nearest(plan.knobs), space.values(plan.knobs)
    for one, index, value in zip(space.dimensions, point, here, strict=True):
        if one.name not in request.bounds or one.low <= float(value) <= one.high:
            continue
        moved = one.levels[int(index)]
        if moved != value:  # 0 may be a value of its own
            yield _note(one.name, moved, "within the bounds of this search"), moved


def _note(name: str, value: str, why: str) -> Note:
    return Note(
        name, Action.ADJUSTED, f"{readable_value(load_catalogue().knobs[name], value)}: {why}"
    )
