"""What a search begins with, held to what its user pinned and bounded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tuning.catalogue.loader import load_catalogue
from tuning.configs.candidates import PlannedCandidate
from tuning.configs.notes import Action, Note
from tuning.configs.proposed import plan_proposed
from tuning.configs.situation import Situation
from tuning.configs.values import readable_value
from tuning.requests.search import SearchRequest
from tuning.strategy.search.grid import Grid
from tuning.strategy.search.space import Space


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
