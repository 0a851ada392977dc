"""The forms of the device pages; the services do the final checks."""

from __future__ import annotations

from typing import Any

from django import forms

from advisor.pages.hosts.fields import HostField, inventory_in_form
from advisor.pages.request_fields import faults_of, field_of, form_field, given
from benchmarks.emulation.profile import shipped_profiles
from benchmarks.errors import ExpectedError
from benchmarks.inventory.host import FoundDirectory
from benchmarks.storage.kinds import DeviceKind, kind_words
from tuning.requests.device import DeviceRequest
from tuning.requests.fields import read_request

_MEANS = {
    DeviceKind.HDD: ": hard disk",
    DeviceKind.RAID: ": an array",
    DeviceKind.TMPFS: ": memory",
    DeviceKind.NETWORK: ": a network file system",
}
KINDS = [(kind.value, f"{kind_words(kind)}{_MEANS.get(kind, '')}") for kind in DeviceKind]


class PlainForm(forms.Form):
    """A form whose fields the browser does not fill in by itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs.setdefault("autocomplete", "off")

    def add_refusal(self, error: ExpectedError) -> None:
        """Show a service's error beside the fields it is about, or above the form."""
        for path, reason in faults_of(error):
            self.add_error(field_of(path, self.fields), reason)


_FIELDS = DeviceRequest.model_fields


class DeviceFields(PlainForm):
    """The fields that new devices and new studies have in common."""

    path = form_field("path", _FIELDS["path"])
    log_dir = form_field("log_dir", _FIELDS["log_dir"])
    kind = form_field("kind", _FIELDS["kind"], [("", "As detected"), *KINDS])
    memory_mb = form_field("memory_mb", _FIELDS["memory_mb"])

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("path", "log_dir"):
            self.fields[name].widget.attrs["list"] = "known-directories"


class AddDeviceForm(DeviceFields):
    """A directory on a device of a host, perhaps with limits."""

    host = HostField()
    emulate = form_field(
        "emulate",
        _FIELDS["emulate"],
        [
            ("", "No: the real device, without limits"),
            *((name, f"{name}: {profile.title}") for name, profile in shipped_profiles().items()),
        ],
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["path"].required = True

    @property
    def directories(self) -> list[FoundDirectory]:
        """Choices: the directories that the host found and that may be measured."""
        inventory = inventory_in_form(self)
        return list(inventory.directories) if inventory else []

    def device_request(self) -> DeviceRequest:
        """The request of the cleaned fields. Raises InvalidRequest."""
        return read_request(DeviceRequest, given(DeviceRequest, self.cleaned_data))


def set_choices(form: forms.Form, name: str, choices: list[tuple[str, str]]) -> None:
    """Give a field of the form its choices."""
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)  # noqa: S101  # for the type checker
    field.choices = choices
