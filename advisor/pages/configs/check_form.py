"""The form of a check."""

from __future__ import annotations

from django import forms

from advisor.pages.devices.forms import PlainForm
from advisor.pages.hosts.fields import HostField
from advisor.wording.words import origin_choices, target_choices
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import parse_traits
from tuning.requests.configs import MAX_CONNECTIONS


class FilesForm(PlainForm):
    """The server that files were written for."""

    translate_from = forms.ChoiceField(
        label="My files were written for",
        required=False,
        choices=origin_choices,
        help_text="Lines that changed since then are renamed, converted or removed.",
    )


class CheckForm(FilesForm):
    """The server that a my.cnf is checked for, and its load."""

    target = forms.TypedChoiceField(
        label="Target server",
        required=False,
        choices=lambda: [("", "The host's own server"), *target_choices()],
        coerce=parse_traits,
        empty_value=None,
        help_text="Memory and CPU rules are only checked for the host's own server.",
    )
    host = HostField(help_text="Whose server and rules count where no other target is chosen.")
    connections = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_CONNECTIONS,
        help_text="Maximum number of concurrent connections, for rules on max_connections and "
        "memory. Optional.",
    )
    # The accepted class; its field is shown with a result that needs it.
    acknowledge = forms.CharField(required=False)
    field_order = ["target", "host", "translate_from", "connections"]

    def clean_acknowledge(self) -> Durability:
        text = self.cleaned_data["acknowledge"]
        return Durability(text) if text in list(Durability) else Durability.D0
