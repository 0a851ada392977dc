"""Fields of forms as HTML, without templates: the same as Django's own.

Django has a template for each widget and includes another one for the attributes of each element.
The fields of one recommendation took a fifteenth of a study's page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.forms.renderers import DjangoTemplates
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString

Widget = Mapping[str, Any]


class PlainRenderer(DjangoTemplates):
    """Widgets that are not in `_MADE` have Django's template."""

    def render(self, template_name: str, context: Any, request: Any = None) -> str:
        make = _MADE.get(template_name)
        if make is None:
            return super().render(template_name, context, request)
        return SafeString(make(context["widget"]))


def _attributes(widget: Widget) -> str:
    return "".join(
        f" {name}" if value is True else f' {name}="{conditional_escape(value)}"'
        for name, value in widget["attrs"].items()
        if value is not False
    )


def _input(widget: Widget) -> str:
    value = widget["value"]
    shown = "" if value is None else f' value="{conditional_escape(value)}"'
    kind, name = widget["type"], conditional_escape(widget["name"])
    return f'<input type="{kind}" name="{name}"{shown}{_attributes(widget)}>'


def _textarea(widget: Widget) -> str:
    text = conditional_escape(widget["value"] or "")
    name = conditional_escape(widget["name"])
    return f'<textarea name="{name}"{_attributes(widget)}>\n{text}</textarea>'


def _select(widget: Widget) -> str:
    groups = []
    for title, options, _ in widget["optgroups"]:
        shown = "".join(
            f'\n  <option value="{conditional_escape(one["value"])}"{_attributes(one)}>'
            f"{conditional_escape(one['label'])}</option>\n"
            for one in options
        )
        if title:
            label = conditional_escape(title)
            shown = f'\n  <optgroup label="{label}">{shown}\n  </optgroup>'
        groups.append(shown)
    name = conditional_escape(widget["name"])
    return f'<select name="{name}"{_attributes(widget)}>{"".join(groups)}\n</select>'


_INPUTS = "text", "number", "password", "hidden", "email", "url", "checkbox"
_MADE: Final[dict[str, Callable[[Widget], str]]] = {
    f"django/forms/widgets/{name}.html": make
    for name, make in (
        ("textarea", _textarea),
        ("select", _select),
        *((name, _input) for name in _INPUTS),
    )
}
