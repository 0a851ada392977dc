"""The form of a check."""

from __future__ import annotations

from typing import Any

from django import forms

from advisor.pages.configs.forms import ConfigFields
from advisor.pages.device.forms import set_choices
from advisor.wording.words import target_choices
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import ServerTraits, parse_traits
from tuning.studies.request import MAX_SIZES


class CheckForm(ConfigFields):
    """Which server a my.cnf is to be checked for, and under what load it will run."""

    target = forms.ChoiceField(
        label="To be used on",
        required=False,
        help_text="Rules on memory and processors know the server of this host only.",
    )
    connections = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_SIZES["connections"],
        help_text="Most at a time; for max_connections and memory. Optional.",
    )
    # The class that is accepted; it is asked for beside the result that needs it.
    acknowledge = forms.CharField(required=False)
    field_order = ["target", "translate_from", "connections", "durability"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_choices(self, "target", [("", "The server of this host"), *target_choices()])

    def clean_acknowledge(self) -> Durability:
        text = self.cleaned_data["acknowledge"]
        return Durability(text) if text in list(Durability) else Durability.D0

    def clean_target(self) -> ServerTraits | None:
        text = self.cleaned_data["target"]
        return parse_traits(text) if text else None
