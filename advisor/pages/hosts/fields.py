"""The choice of a host in a form, and whether pages name hosts: only where there are several."""

from __future__ import annotations

from django import forms
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from benchmarks.errors import ExpectedError
from benchmarks.inventory.host import HostInventory
from benchmarks.models import Host
from tuning.creation.hosts import host_for, what_host_has
from tuning.hosts.known import hosts


class HostField(forms.ChoiceField):
    """A host that is in use, by name; "" is the usual one."""

    def __init__(self, *, help_text: str = "") -> None:
        super().__init__(
            label="Host",
            required=False,
            choices=_names,
            initial=_usual,
            help_text=help_text,
            error_messages={"invalid_choice": "There is no host of that name: %(value)s."},
        )


def inventory_in_form(form: forms.Form) -> HostInventory | None:
    """Return the inventory of the form's host; None while it is not known."""
    try:
        return what_host_has(str(form["host"].value() or ""))
    except ExpectedError:
        return None


def _names() -> list[tuple[str, str]]:
    names = hosts().filter(retired_at=None).values_list("name", flat=True)
    return [(name, name) for name in names]


def _usual() -> str:
    """Return the usual host; without one the browser shows the first."""
    try:
        return host_for().name
    except ExpectedError:
        return ""


def several_hosts(request: HttpRequest) -> dict[str, object]:
    """A context processor; the database is asked only by a page that needs the answer."""
    return {"several_hosts": SimpleLazyObject(lambda: Host.objects.count() > 1)}
