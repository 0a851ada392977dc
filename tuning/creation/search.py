"""The search of a plan: checks of its request, its space, and its warm start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from tuning.catalogue.loader import load_catalogue
from tuning.configs.candidates import PlannedCandidate, plan_preset, plan_proposed
from tuning.configs.line import Action, Note
from tuning.configs.situation import Situation
from tuning.configs.values import readable_value
from tuning.creation.earlier_studies import (
    MissedBefore,
    earlier_measured,
    missed_before,
    similar_studies,
)
from tuning.creation.plan import Plan
from tuning.creation.preview import check_minutes
from tuning.creation.scale_model import bounds_in_model, fitted, pinned_in_model
from tuning.errors import BadRequest
from tuning.requests.search import SearchRequest
from tuning.results.document import EarlierStudies
from tuning.results.search import began_with
from tuning.scale_model.model import ScaleModel
from tuning.search_space.build import build_space
from tuning.search_space.space_request import BadSpace, SpaceRequest
from tuning.statistics.confirmation import MIN_PAIRS
from tuning.statistics.data import Metric
from tuning.strategy.search.grid import Grid
from tuning.strategy.search.space import Space
from tuning.studies.budget import ABLATION_SHARE, expected_run_s

# The least that is a search: one round of new configs, and three blocks of a race
# between the baseline, which runs twice, and one config.
_NEW_RUNS = 6
_RACE_RUNS = 9


@dataclass(frozen=True)
class PlannedSearch:
    """The search of a plan.

    space: the variables with their ranges; sizes are those of the scale model, if there is one.
    earlier: the configs that it begins with.
    missed_before: the limits that the baseline itself missed in an earlier study.
    """

    request: SearchRequest
    space: Space
    model: ScaleModel | None
    earlier: list[dict[str, Any]]
    missed_before: MissedBefore

    @property
    def warm_start(self) -> EarlierStudies | None:
        """The counts of what it begins with."""
        return began_with({"earlier": self.earlier})

    def as_json(self) -> dict[str, Any]:
        """The form in which a study's row keeps it, so that a restart proposes the same."""
        return {
            **self.request.aim.as_json(),
            "space": self.space.as_json(),
            "bounded": list(self.request.bounds),
            "earlier": self.earlier,
            "missed_before": asdict(self.missed_before),
        }


def search_of(plan: Plan) -> PlannedSearch:
    """Return the search that the plan's host would make from the template's baseline.

    Nothing is stored or measured. Raises TuningError as creating the study would.
    """
    baseline = plan_preset(plan.template.baseline, plan.situation)
    request = plan.request.search or SearchRequest()
    return plan_search(plan, request, fitted(baseline, plan.model, plan.situation))


def plan_search(plan: Plan, search: SearchRequest, baseline: PlannedCandidate) -> PlannedSearch:
    """Return the search that begins at this baseline. Raises BadSpace, BadRequest."""
    if len(plan.sizes.connections) > 1:
        raise BadRequest("a search is for one number of connections", field="connections")
    path, aim = Metric.SERVER_PATH_LENGTH, search.aim
    at_fault = "objective" if aim.objective is path else "keep" if path in aim.keep else ""
    if at_fault and plan.inventory.cpu_hz is None:  # path length is CPU cycles per transaction
        raise BadRequest(
            "path-length cannot be measured here: this host does not report its CPU frequency",
            field=f"search.{at_fault}",
        )
    space = _space_for(plan, search, baseline)
    studies = similar_studies(plan, baseline.knobs)
    earlier = earlier_measured(studies, space, aim.objective) if search.warm_start else []
    return PlannedSearch(
        search,
        space,
        plan.model,
        [asdict(one) for one in earlier],
        missed_before(studies, aim),
    )


def check_search_minutes(plan: Plan, candidates: int) -> None:
    """Raise BadRequest for minutes in which nothing can be found.

    `candidates` are given, the baseline included. A share of the minutes is kept for ablation.
    """
    runs = candidates + _NEW_RUNS + _RACE_RUNS + 2 * MIN_PAIRS
    left = 1 - (ABLATION_SHARE if plan.request.ablates else 0.0)
    needed_s = runs * expected_run_s(plan.sizes) / left
    check_minutes(plan.request.budget_minutes, needed_s, "a search with runs of this length")


def _space_for(plan: Plan, search: SearchRequest, baseline: PlannedCandidate) -> Space:
    """Return the space of a search that begins at the baseline; raises BadSpace.

    Values of the user's are for the real server; in a scale model they are sized down.
    """
    situation, model, knobs = plan.situation, plan.model, search.knobs
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
    search: PlannedSearch, plan: PlannedCandidate, situation: Situation
) -> PlannedCandidate:
    """Return a template's candidate with the pins and within the bounds of the search.

    It is left out where the gate refuses the result. The baseline and the user's own files stay.
    """
    if plan.is_baseline or plan.left_out or plan.lines:
        return plan
    request, space = search.request, search.space
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
