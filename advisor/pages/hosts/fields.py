"""The choice of hosts in a form; it is shown only where there are several.

Django renders a template for each choice, which takes a tenth of a second for hundreds of hosts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from django import forms
from django.forms.utils import flatatt
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString

from benchmarks.errors import ExpectedError
from benchmarks.inventory.host import HostInventory
from tuning.creation.hosts import host_for, what_host_has
from tuning.hosts.known import hosts

_NOTHING = SafeString()


class _HostSelect(forms.Select):
    """One of many names."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        options = (
            (text, SafeString(" selected" if text == str(value) else ""))
            for text, _ in self.choices
        )
        return format_html(
            "<select{}>{}</select>",
            flatatt(self.build_attrs(self.attrs, {"name": name, **(attrs or {})})),
            format_html_join("", '<option value="{0}"{1}>{0}</option>', options),
        )


class HostField(forms.ChoiceField):
    """A host that is in use, by name; "" is the usual one."""

    widget = _HostSelect

    def __init__(self, *, help_text: str = "") -> None:
        super().__init__(
            label="Host",
            required=False,
            choices=_names,
            initial=_usual,
            help_text=help_text,
            error_messages={"invalid_choice": "There is no host of that name: %(value)s."},
        )


def host_boxes(name: str, hosts: Iterable[tuple[str, str]], chosen: Collection[str]) -> SafeString:
    """Checkboxes of the field `name`, one for each host by its name and a badge or ""."""
    field = escape(name)
    return format_html_join(
        "\n",
        '<label class="choice" for="id_{0}_{1}"><input type="checkbox" name="{0}" value="{2}" '
        'id="id_{0}_{1}"{3}><span class="wraps">{2}{4}</span></label>',
        # Each text is escaped once, not wherever it stands.
        (
            (
                *(field, SafeString(number), escape(host)),
                SafeString(" checked" if host in chosen else ""),
                format_html(' <span class="badge warn">{}</span>', badge) if badge else _NOTHING,
            )
            for number, (host, badge) in enumerate(hosts)
        ),
    )


def inventory_in_form(form: forms.Form) -> HostInventory | None:
    """What the form's host has; None while that is not known."""
    try:
        return what_host_has(str(form["host"].value() or ""))
    except ExpectedError:
        return None


def _names() -> list[tuple[str, str]]:
    names = hosts().filter(retired_at=None).values_list("name", flat=True)
    return [(name, name) for name in names]


def _usual() -> str:
    """Without a usual one the browser shows the first."""
    try:
        return host_for().name
    except ExpectedError:
        return ""
