"""The table of all actions. Buttons, addresses, access rules and subcommands follow from it."""

from __future__ import annotations

from tuning.actions.action import Action
from tuning.actions.of_hosts import OF_DATASETS, OF_DEVICES, OF_HOSTS, OF_PROBES
from tuning.actions.of_studies import OF_GATES, OF_GROUPS, OF_PROFILES, OF_STUDIES

ACTIONS: tuple[Action, ...] = (
    *OF_STUDIES,
    *OF_GROUPS,
    *OF_GATES,
    *OF_HOSTS,
    *OF_DATASETS,
    *OF_DEVICES,
    *OF_PROBES,
    *OF_PROFILES,
)


def actions_of(subject: str) -> list[Action]:
    """Return the actions of a subject such as "study", in the order of the table."""
    return [action for action in ACTIONS if action.subject.name == subject]


def find_action(subject: str, name: str) -> Action:
    """Return one action. Raises LookupError if the table has no such action."""
    for action in actions_of(subject):
        if action.name == name:
            return action
    raise LookupError(f"no action {name!r} of a {subject}")
