"""The form of a new gate, and the request that it makes."""

from __future__ import annotations

from typing import Any

from django import forms

from advisor.pages.devices.forms import PlainForm
from advisor.pages.hosts.fields import HostField
from advisor.pages.request_fields import faults_of, form_field, given, request_fields
from benchmarks.errors import ExpectedError
from tuning.requests.configs import config_of
from tuning.requests.device import DeviceRequest
from tuning.requests.fields import read_request
from tuning.requests.gate import GateRequest, GateSide

_OF_GATE = ("name", "limits", "budget_minutes", "max_pairs", "measure_s", "connections")
_SIDES = {"candidate": "The new my.cnf", "baseline": "The my.cnf of today"}
_HELP = {
    "name": "The gate's page lists all gates of this name, such as those of a pipeline.",
    "budget_minutes": "The gate ends after this time instead of after a number of pairs.",
}
_LABELS = {
    "stored": (
        "Or a stored config",
        "study:ID or the name of a study for what it recommends, "
        "the hash of a config, or default.",
    ),
    "knobs": ("Changed variables", "One per line."),
    "server": ("Server program", "Its path on the host, if the change is another server."),
}


class GateForm(PlainForm):
    """The fields of a gate's request; an empty field is as in the usual template."""

    host = HostField()
    path = form_field("path", DeviceRequest.model_fields["path"])

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        made = request_fields(GateRequest, [*_OF_GATE, "durability"])
        for side, label in _SIDES.items():
            made |= request_fields(GateSide, prefix=f"{side}_")
            area = forms.Textarea(attrs={"rows": 6, "spellcheck": "false"})
            made[f"{side}_config"] = forms.CharField(
                label=label, required=False, strip=False, widget=area
            )
            for name, texts in _LABELS.items():
                made[f"{side}_{name}"].label, made[f"{side}_{name}"].help_text = texts
        for name, text in _HELP.items():
            made[name].help_text = text
        self.fields = made | self.fields

    def gate_request(self) -> GateRequest:
        """Return the request. Raises InvalidRequest, and InvalidConfig for what is no text."""
        content = given(GateRequest, self.cleaned_data)
        if limits := content.pop("limits", ""):
            content["limits"] = limits.splitlines()
        if path := self.cleaned_data["path"]:
            content["device"] = {"path": path}
        for side in _SIDES:
            content[side] = given(GateSide, self.cleaned_data, prefix=f"{side}_")
            if text := content[side].pop("config", "").strip():
                content[side]["config"] = config_of(side, text.encode())
        return read_request(GateRequest, content)

    def add_refusal(self, error: ExpectedError) -> None:
        """Show a service's error beside the field it is about, or above the form."""
        for path, reason in faults_of(error):
            whole = path.removeprefix("device.").replace(".", "_")
            near = [name for name in (whole, f"{path}_config") if name in self.fields]
            self.add_error(near[0] if near else None, reason)
