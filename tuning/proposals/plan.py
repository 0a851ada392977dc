"""From a set of rules to a candidate that has passed the first stages of the gate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tuning.configs.candidates import PlannedCandidate
from tuning.configs.config_check.check import check_knobs
from tuning.configs.config_check.stages import static_stages
from tuning.configs.situation import Situation
from tuning.errors import InvalidConfig
from tuning.proposals.draft import Draft
from tuning.proposals.rules import rule_set


def plan_proposal(name: str, situation: Situation) -> PlannedCandidate:
    """Plan the config that a set of rules advises there, with a reason as a note on each line.

    Raises UnknownProposal. What the gate does not let through is a candidate with `left_out`.
    """
    found = rule_set(name)
    draft = Draft(situation)
    for rule in found.rules:
        rule.apply(draft)
    settings = draft.worth_saying()
    source = f"{found.title}: {found.source}."
    reasons = (*(one.note for one in settings), *draft.left_out)
    try:
        report = check_knobs(
            {one.name: one.value for one in settings},
            situation.target,
            source=name,
            host=situation.host,
            raises_set=True,
        ).accepted()
    except InvalidConfig as refused:
        why = "; ".join(map(str, refused.problems))
        return PlannedCandidate(name, {}, source, notes=reasons, left_out=why)
    return PlannedCandidate(
        name,
        report.knobs,
        source,
        notes=(*reasons, *report.notes),
        checks=static_stages(report),
    )


def plan_proposals(names: Iterable[str], situation: Situation) -> Mapping[str, PlannedCandidate]:
    """Plan several proposals; return them by name."""
    return {name: plan_proposal(name, situation) for name in names}
