"""More blocks for a study that has ended: the form on its page."""

from __future__ import annotations

from django import forms

from tuning.studies.request import MAX_SIZES


class ExtendForm(forms.Form):
    """How many more blocks; the service has the last word."""

    blocks = forms.IntegerField(
        label="More blocks",
        min_value=1,
        max_value=MAX_SIZES["blocks"],
        widget=forms.NumberInput(attrs={"autocomplete": "off"}),
        help_text="Each runs every candidate that is still in the race once, the baseline twice.",
    )
