"""The form that adds blocks to a finished study."""

from __future__ import annotations

from django import forms

from tuning.studies.request import MAX_SIZES


class ExtendForm(forms.Form):
    """How many blocks to add; the service does the final check."""

    blocks = forms.IntegerField(
        label="More blocks",
        min_value=1,
        max_value=MAX_SIZES["blocks"],
        widget=forms.NumberInput(attrs={"autocomplete": "off"}),
        help_text="Each block runs every remaining candidate once and the baseline twice.",
    )
