"""The search of a plan: its space, what it begins with, and given configs held to both."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from tuning.catalogue.loader import load_catalogue
from tuning.configs.candidates import PlannedCandidate, plan_preset, plan_proposed
from tuning.configs.line import Action, Note
from tuning.configs.situation import Situation
from tuning.configs.values import readable_value
from tuning.configs.variables import FLUSH_METHOD
from tuning.creation.plan import Plan
from tuning.creation.warm_start import earlier_configs
from tuning.errors import BadRequest
from tuning.requests.search import SearchRequest
from tuning.results.document import EarlierStudies
from tuning.results.search import began_with
from tuning.scale_model.model import ScaleModel, fitted, value_in_model
from tuning.search_space.build import build_space
from tuning.search_space.space_request import BadSpace, SpaceRequest
from tuning.statistics.data import Metric
from tuning.strategy.search.grid import Grid
from tuning.strategy.search.space import Space


@dataclass(frozen=True)
class PlannedSearch:
    """The search of a plan.

    space: the variables with their ranges; sizes are those of the scale model, if there is one.
    earlier: the configs that it begins with.
    """

    request: SearchRequest
    space: Space
    model: ScaleModel | None
    earlier: list[dict[str, Any]]

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
        }


def search_of(plan: Plan) -> PlannedSearch:
    """Return the search that the study of the plan would make, to show it before it starts.

    Raises BadSpace and BadRequest for what no search can be made of.
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
    found = (
        earlier_configs(plan, baseline.knobs, space, aim.objective) if search.warm_start else []
    )
    return PlannedSearch(search, space, plan.model, [asdict(one) for one in found])


def _space_for(plan: Plan, search: SearchRequest, baseline: PlannedCandidate) -> Space:
    """Return the space of a search that begins at the baseline; raises BadSpace.

    Values of the user's are for the real server; in a scale model they are sized down.
    """
    situation, model, knobs = plan.situation, plan.model, search.knobs

    def sized(name: str, text: str) -> str:
        return value_in_model(name, text, model, situation)

    held = {FLUSH_METHOD: "O_DIRECT"} if model and not model.limits_memory else {}
    request = SpaceRequest(
        count=knobs if isinstance(knobs, int) else None,
        names=knobs if isinstance(knobs, tuple) else (),
        free=search.free,
        pinned=held | {name: sized(name, text) for name, text in search.pinned.items()},
        bounds={
            name: (sized(name, low), sized(name, high))
            for name, (low, high) in search.bounds.items()
        },
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
    changes = _changes(search.request, plan, search.space)
    if not changes:
        return plan
    values = {name: value for name, (value, _) in changes.items()}
    found = plan_proposed(
        plan.name,
        {**plan.knobs, **values},
        situation.target,
        source=plan.source,
        durability=situation.durability,
        host=situation.host,
    )
    if found.left_out:
        why = f"not possible with what is pinned and bounded ({found.left_out})"
        return replace(plan, knobs={}, checks=(), left_out=why)
    known = load_catalogue().knobs
    notes = [note for note in plan.notes if note.name not in changes]
    for name, (value, why) in changes.items():
        detail = f"{readable_value(known[name], value)}: {why} this search"
        notes.append(Note(name, Action.ADJUSTED, detail))
    return replace(plan, knobs=found.knobs, notes=(*notes, *found.notes), checks=found.checks)


def _changes(
    request: SearchRequest, plan: PlannedCandidate, space: Space
) -> dict[str, tuple[str, str]]:
    """Return the values that pins and bounds change, each with its reason."""
    changes = {
        name: (space.pinned[name], "pinned in")
        for name in request.pinned
        if name in space.pinned and plan.knobs.get(name) != space.pinned[name]
    }
    nearest = Grid(space).nearest(plan.knobs)
    for one, index, value in zip(space.dimensions, nearest, space.values(plan.knobs), strict=True):
        is_within = one.name not in request.bounds or one.low <= float(value) <= one.high
        moved = one.levels[int(index)]
        if not is_within and moved != value:  # 0 may be a value of its own
            changes[one.name] = moved, "within the bounds of"
    return changes
