"""One operation for each action of the table of actions.

Annotations are values in this module: Ninja reads the class of an operation's body from them.
"""

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, Router, Schema

from tuning.actions.action import Action, Actor, perform
from tuning.actions.table import ACTIONS

router = Router(tags=["actions"])


class ActionDone(Schema):
    """The result of an action."""

    message: str = Field(description="One sentence for people.")
    made: int | None = Field(description="Id of the probe or inspection that it made.")


def _add(action: Action) -> None:
    fields_class = action.fields

    @router.post(
        action.route.replace("<int:pk>", "{int:pk}"),
        response=ActionDone,
        operation_id=f"{action.name}_{action.subject.name}",
        url_name=action.url_name,
        description=action.help,
    )
    def operation(
        request: HttpRequest,
        pk: int,
        fields: fields_class,  # type: ignore[valid-type]
    ) -> Any:
        row = get_object_or_404(action.subject.rows(), pk=pk)
        actor = Actor(request.user.get_username(), request.user)
        done = perform(action, row, actor, fields)
        return {"message": done.sentence, "made": done.made.pk if done.made else None}


for _action in ACTIONS:
    _add(_action)
