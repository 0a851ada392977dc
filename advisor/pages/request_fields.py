"""Form fields from the fields of a request, and the request from what a form was given.

The label, help, bounds and choices of a form field are those of the request's field. The request
itself reads the texts that are typed in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django import forms
from pydantic.fields import FieldInfo

from benchmarks.errors import ExpectedError
from tuning.errors import InvalidRequest
from tuning.requests.fields import Kind, Request, shape_of

MAX_TEXT = 4000
_YES_NO = [("", "As in the template"), ("yes", "Yes"), ("no", "No")]


def request_fields(
    kind: type[Request], names: Iterable[str] = (), *, prefix: str = ""
) -> dict[str, forms.Field]:
    """A form field for each of these fields of a request, by default for all, by name."""
    return {
        prefix + name: form_field(name, kind.model_fields[name])
        for name in names or kind.model_fields
    }


def form_field(
    name: str, field: FieldInfo, choices: Sequence[tuple[str, str]] = ()
) -> forms.Field:
    """The form field for a field of a request; `choices`: its words with what they mean."""
    shape = shape_of(name, field)
    texts: dict[str, Any] = {
        "label": field.title,
        "help_text": field.description or "",
        "required": False,
    }
    words = [(word, word) for word in shape.choices]
    if shape.kind is Kind.FLAG and shape.is_optional:
        return forms.TypedChoiceField(
            **texts, choices=_YES_NO, coerce=lambda text: text == "yes", empty_value=None
        )
    if shape.kind is Kind.FLAG:
        return forms.BooleanField(**texts, initial=field.default)
    if shape.kind is Kind.NUMBER:
        bounds: dict[str, Any] = {"min_value": shape.low, "max_value": shape.high}
        is_whole = isinstance(shape.low, int)
        return (forms.IntegerField if is_whole else forms.FloatField)(**texts, **bounds)
    if shape.kind is Kind.CHOICE:
        return forms.ChoiceField(**texts, choices=choices or words, initial=field.default)
    if shape.kind is Kind.CHOICES:
        return forms.MultipleChoiceField(
            **texts, choices=words, widget=forms.CheckboxSelectMultiple
        )
    if shape.kind is Kind.TEXTS and "," not in shape.metavar:
        area = forms.Textarea(attrs={"rows": 2, "spellcheck": "false"})
        texts["help_text"] += " One per line."
        return forms.CharField(**texts, max_length=MAX_TEXT, widget=area)
    return forms.CharField(**texts, max_length=MAX_TEXT)


def given(kind: type[Request], cleaned: Mapping[str, Any], *, prefix: str = "") -> dict[str, Any]:
    """The fields of a request that were filled in."""
    return {
        name: cleaned[prefix + name]
        for name in kind.model_fields
        if cleaned.get(prefix + name) not in (None, "", [])
    }


def faults_of(error: ExpectedError) -> Sequence[tuple[str, str]]:
    """The path of each field that an error is about, with the reason."""
    return error.faults if isinstance(error, InvalidRequest) else [(error.field, str(error))]


def field_of(path: str, fields: Collection[str]) -> str | None:
    """The form's field for the path of a request's field, such as `search.pinned.some_knob`."""
    name = path.partition("[")[0]
    if name.startswith("search."):
        name = f"search_{name.split('.')[1]}"
    name = name.partition(".")[0]
    return name if name in fields else None
