"""The form fields that decide how a my.cnf is read."""

from __future__ import annotations

from typing import Any

from django import forms

from advisor.pages.device.forms import set_choices
from advisor.wording.words import STUDY_MAY_HAVE, origin_choices
from tuning.catalogue.knob import Durability


class ConfigFields(forms.Form):
    """The fields that new studies and checks have in common."""

    durability = forms.ChoiceField(
        label="Least safe class to accept",
        required=False,
        choices=STUDY_MAY_HAVE,
        widget=forms.RadioSelect,
    )
    translate_from = forms.ChoiceField(
        label="My files were written for",
        required=False,
        help_text="Translation renames, converts or drops lines that changed since then. "
        "Without it, lines that this server does not support are refused.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_choices(self, "translate_from", origin_choices())
        self.fields["durability"].initial = Durability.D0.value
        for name in self.fields:
            self.fields[name].widget.attrs.setdefault("autocomplete", "off")

    def clean_durability(self) -> Durability:
        return Durability(self.cleaned_data["durability"] or Durability.D0)
