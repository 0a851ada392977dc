"""The form fields that decide how a my.cnf is read."""

from __future__ import annotations

from django import forms

from advisor.pages.devices.forms import PlainForm
from advisor.wording.words import STUDY_MAY_HAVE, origin_choices
from tuning.catalogue.knob import Durability


class ConfigFields(PlainForm):
    """The fields that new studies and checks have in common."""

    durability = forms.TypedChoiceField(
        label="Least safe class to accept",
        required=False,
        choices=STUDY_MAY_HAVE,
        coerce=Durability,
        empty_value=Durability.D0,
        initial=Durability.D0.value,
        widget=forms.RadioSelect,
    )
    translate_from = forms.ChoiceField(
        label="My files were written for",
        required=False,
        choices=origin_choices,
        help_text="Translation renames, converts or drops lines that changed since then. "
        "Without it, lines that this server does not support are refused.",
    )
