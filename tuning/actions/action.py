"""The types of the table of actions, its subjects, and `perform`, which every surface calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from django.db.models import Model, QuerySet
from pydantic import Field

from benchmarks.errors import ExpectedError
from benchmarks.models import Device, Host, Probe
from tuning.models import ServerProfile, Study, StudyGroup
from tuning.requests.fields import Request, read_request
from tuning.requests.study import MAX_PAUSE_REASON


class Fields(Request):
    """The parameters of an action; an action without parameters uses this class itself."""


class ReasonFields(Fields):
    reason: str = Field(
        "", max_length=MAX_PAUSE_REASON, title="Reason", description="shown with what it stops"
    )


@dataclass(frozen=True)
class Actor:
    """Who performs an action. `user` is None on the command line."""

    name: str
    user: Any = None


@dataclass(frozen=True)
class Subject:
    """A kind of row that has actions.

    route: the path of a row's page. key: the column by which a command names a row.
    noun: the word before a row in sentences, such as "Study" in "Study 7 is paused".
    """

    name: str
    route: str
    rows: Callable[[], QuerySet[Any]]
    noun: str
    key: str = "pk"

    @property
    def model(self) -> type[Model]:
        return self.rows().model

    def title(self, row: Any) -> str:
        return f"{self.noun} {getattr(row, self.key)}"


STUDY = Subject("study", "studies/<int:pk>", Study.objects.select_related("host").all, "Study")
GROUP = Subject("group", "groups/<int:pk>", StudyGroup.objects.all, "Study group")
GATE = Subject("gate", "gates/<int:pk>", Study.objects.exclude(gate=None).all, "Gate")
HOST = Subject("host", "hosts/<int:pk>", Host.objects.all, "Host", key="name")
#: Its row is the host that has the datasets: a dataset is a directory, not a row.
DATASET = Subject("dataset", "hosts/<int:pk>/datasets", Host.objects.all, "Host", key="name")
DEVICE = Subject("device", "devices/<int:pk>", Device.objects.select_related("host").all, "Device")
PROBE = Subject(
    "probe", "probes/<int:pk>", Probe.objects.select_related("device__host").all, "Probe"
)
PROFILE = Subject("profile", "profiles/<int:pk>", ServerProfile.objects.all, "Profile")


@dataclass(frozen=True)
class Action:
    """One change of state.

    role: the least role that may perform it. is_own: an operator needs to have started the row.
    label: the text of the button. help: what the action does, as a sentence.
    done: the end of the sentence "Study 7 ..." once the action is performed; it may name fields.
    check: raises ExpectedError where the action is impossible.
    offered: whether pages show the button, by columns of the row alone, so that a page asks
    nothing more of the database; None: they show it where `check` passes.
    run: performs the action; returns a row if it made one, such as a probe.
    asks: whether the page asks for confirmation first. tone: the look of the button.
    """

    subject: Subject
    name: str
    role: Literal["operator", "administrator"]
    label: str
    help: str
    done: str
    check: Callable[[Any], None]
    run: Callable[[Any, Actor, Any], Any]
    fields: type[Fields] = Fields
    offered: Callable[[Any], bool] | None = None
    is_own: bool = False
    asks: bool = False
    tone: Literal["", "primary", "danger"] = ""

    @property
    def url_name(self) -> str:
        return f"{self.subject.name}-{self.name}"

    @property
    def route(self) -> str:
        return f"{self.subject.route}/actions/{self.name}/"

    def is_offered(self, row: Any) -> bool:
        """Whether a page shows the button of the action for this row."""
        if self.offered is not None:
            return self.offered(row)
        return not self.reason_against(row)

    def reason_against(self, row: Any) -> str:
        """Return why the action is impossible for the row now; "" if it is possible."""
        try:
            self.check(row)
        except ExpectedError as error:
            return str(error)
        return ""


@dataclass(frozen=True)
class Done:
    """The result of an action: a sentence for people, and the row that the action made."""

    sentence: str
    made: Any = None


def perform(action: Action, row: Any, actor: Actor, fields: Fields) -> Done:
    """Perform the action. Raises ExpectedError if it is impossible."""
    action.check(row)
    made = action.run(row, actor, fields)
    sentence = f"{action.subject.title(row)} {action.done.format(**dict(fields))}."
    return Done(sentence, made)


def read_fields(action: Action, values: dict[str, Any]) -> Fields:
    """Return the fields of typed values. Raises InvalidRequest with the fields at fault."""
    return read_request(action.fields, values)
