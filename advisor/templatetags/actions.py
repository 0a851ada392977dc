"""Rights of the caller, and the buttons of a row from the table of actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.template import Context, Library
from django.urls import reverse

from advisor.access import callers
from tuning.actions.action import Action
from tuning.actions.table import actions_of

register = Library()


@dataclass(frozen=True)
class Button:
    """A possible action of a row. `takes_focus`: a button of the row has just been used.

    id: by it the focus stays on the button while the page is fetched anew.
    title: the label with the values that the page fixed, such as "Delete" with a dataset's name.
    inputs: name and JSON schema of each field, the value that the page fixed (None: none), and
    what the row has now in the column that the field changes.
    """

    action: Action
    id: str
    url: str
    title: str
    inputs: list[tuple[str, dict[str, Any], Any, str]]
    takes_focus: bool


@register.inclusion_tag("_actions.html", takes_context=True)
def action_buttons(
    context: Context, subject: str, row: Any, *names: str, **given: Any
) -> dict[str, Any]:
    """`{% action_buttons "host" host %}`; with names only those, as in `"device" device "probe"`.

    Shows the actions that are possible now and that the caller may perform. `given` fixes fields.
    """
    caller = callers.caller_of(context["request"])
    possible = [
        action
        for action in actions_of(subject)
        if (not names or action.name in names)
        and callers.may(caller, action.url_name, row)
        and action.is_offered(row)
    ]
    used = _used_actions(context)
    was_used = any(f"{subject}-{name}" in used for name in names or _names_of(subject))
    buttons = [
        Button(
            action,
            "-".join([action.url_name, str(row.pk), *map(str, given.values())]),
            reverse(action.url_name, args=[row.pk]),
            " ".join([action.label, *map(str, given.values())]),
            [
                (name, field, given.get(name), getattr(row, field.get("column", ""), ""))
                for name, field in _schemas(action).items()
            ],
            takes_focus=was_used and number == 0,
        )
        for number, action in enumerate(possible)
    ]
    return {"buttons": buttons, "row": row, "csrf_token": context.get("csrf_token")}


def _schemas(action: Action) -> dict[str, Any]:
    found: dict[str, Any] = action.fields.model_json_schema()["properties"]
    return found


def _names_of(subject: str) -> list[str]:
    return [action.name for action in actions_of(subject)]


def _used_actions(context: Context) -> set[str]:
    """Return the actions that the page's messages are about."""
    # A fragment would take the messages away from the page that is loading.
    said = () if context["request"].htmx else context["messages"]
    return {message.extra_tags for message in said}


@register.simple_tag(takes_context=True)
def may(context: Context, view_name: str, thing: Any = None, method: str = "POST") -> bool:
    """`{% may "study-cancel" study as may_change %}`."""
    return callers.may(callers.caller_of(context["request"]), view_name, thing, method)
