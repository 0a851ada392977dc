"""Fields of forms look as Django makes them."""

from __future__ import annotations

import pytest
from django import forms
from django.forms.renderers import DjangoTemplates
from django.utils.safestring import SafeString

from advisor.pages.widgets import _MADE, PlainRenderer

CHOICES = [
    ("", "None"),
    ("<1>", 'a "quoted" & <b>bold</b> one'),
    ("Group <&>", [(2, "two"), (3, SafeString("<i>three</i>"))]),
]
WIDGETS = [
    forms.TextInput({"maxlength": 20, "required": True, "disabled": False}),
    forms.NumberInput({"step": "any"}),
    forms.PasswordInput(render_value=True),
    forms.HiddenInput(),
    forms.EmailInput(),
    forms.URLInput(),
    forms.Textarea({"rows": "6", "spellcheck": "false", "title": 'a "<b>"'}),
    forms.CheckboxInput(),
    forms.Select({"aria-label": "<it>"}, CHOICES),
    forms.SelectMultiple(choices=CHOICES),
    forms.RadioSelect(choices=CHOICES),
    forms.ClearableFileInput(),
]


@pytest.mark.parametrize("value", [None, "", 2, "<1>", '"\n<script>&', True, "ü 1,5"])
def test_a_widget_is_the_same_without_its_template(value: object) -> None:
    for widget in WIDGETS:
        known = widget.render("a&b", value, {"id": "x"}, DjangoTemplates())
        assert widget.render("a&b", value, {"id": "x"}, PlainRenderer()) == known
        assert isinstance(known, SafeString)


def test_the_common_widgets_have_no_template(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("django.forms.renderers.EngineMixin.get_template")
    made = [widget for widget in WIDGETS if widget.template_name in _MADE]
    assert {widget.template_name for widget in made} == _MADE.keys()
    for widget in made:
        assert widget.render("name", "", renderer=PlainRenderer())
