"""The forms of the device pages; the services do the final checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django import forms

from advisor.pages.fleet.fields import HostField, inventory_in_form
from advisor.wording.words import KIND_OF_EMULATED
from benchmarks.emulation.shipped import shipped_profiles
from benchmarks.errors import ExpectedError
from benchmarks.inventory.device_lookup import DeviceRequest, throttles
from benchmarks.inventory.host import FoundDirectory
from benchmarks.storage.kinds import DeviceKind, kind_words
from tuning.studies.named_devices import MAX_MEMORY_MB, MB, MIN_MEMORY_MB

# Twice the fastest array sold, and far below the overflow of a chart or a product.
MAX_FIGURE = 1e9

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


class DeviceFields(PlainForm):
    """The fields that new devices and new studies have in common."""

    log_dir = forms.CharField(
        label="Redo log directory",
        required=False,
        max_length=1024,
        help_text="On another device. If empty, the redo logs are stored with the data.",
    )
    kind = forms.TypedChoiceField(
        label="Device kind",
        required=False,
        choices=[("", "As detected"), *KINDS],
        coerce=DeviceKind,
        empty_value=None,
        help_text="Set this only if the kind cannot be detected, as for virtual disks.",
    )

    def clean_log_dir(self) -> Path | None:
        text = self.cleaned_data["log_dir"]
        return directory(text) if text else None


class AddDeviceForm(DeviceFields):
    """A directory on a device of a host, perhaps with limits."""

    host = HostField()
    path = forms.CharField(
        label="Data directory",
        max_length=1024,
        help_text="It must exist and be writable. The advisor stores all its files below it.",
    )
    emulate = forms.ChoiceField(
        label="Emulate a slower device",
        required=False,
        choices=[
            ("", "No: the real device, without limits"),
            *((name, f"{name}: {profile.title}") for name, profile in shipped_profiles().items()),
        ],
        help_text="Limits the I/O of mysqld. Probe the real device first, so that the limits can "
        "be scaled to it.",
    )
    memory_mb = forms.IntegerField(
        label="Memory limit, MB",
        required=False,
        min_value=MIN_MEMORY_MB,
        max_value=MAX_MEMORY_MB,
        help_text="Limits mysqld including its page cache. If empty: no limit, or on an emulated "
        "device one that suits a small dataset.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("path", "log_dir"):
            self.fields[name].widget.attrs["list"] = "known-directories"

    @property
    def directories(self) -> list[FoundDirectory]:
        """What the host found and may be measured."""
        inventory = inventory_in_form(self)
        return list(inventory.directories) if inventory else []

    def clean_path(self) -> Path:
        return directory(self.cleaned_data["path"])

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("kind") and throttles(data.get("emulate")):
            self.add_error("kind", KIND_OF_EMULATED)
        return data

    def device_request(self) -> DeviceRequest:
        """The request of the cleaned fields."""
        data = self.cleaned_data
        memory_mb = data["memory_mb"]
        return DeviceRequest(
            path=data["path"],
            log_dir=data["log_dir"],
            emulate=data["emulate"],
            memory_bytes=None if memory_mb is None else memory_mb * MB,
            kind=data["kind"],
            host=data["host"],
        )

    def add_refusal(self, error: ExpectedError) -> None:
        """Show a service's error beside the field it is about, or above the form."""
        self.add_error(error.field if error.field in self.fields else None, str(error))


class OneDiskForm(PlainForm):
    """Figures of a single disk of an array, if there is no probe of such a disk."""

    random_read_iops = forms.FloatField(label="Random read, IOPS", required=False)
    random_write_iops = forms.FloatField(label="Random write, IOPS", required=False)
    sequential_read_mb_s = forms.FloatField(label="Sequential read, MB/s", required=False)
    sequential_write_mb_s = forms.FloatField(label="Sequential write, MB/s", required=False)

    def clean(self) -> dict[str, Any]:
        for name in self.fields:
            value = self.cleaned_data.get(name)
            if value is not None and not 0 < value <= MAX_FIGURE:
                self.add_error(name, f"Enter a number above zero, at most {MAX_FIGURE:,.0f}.")
        return self.cleaned_data


def directory(text: str) -> Path:
    """The directory, as on its host: nothing of this machine, such as a home, goes into it."""
    path = Path(text)
    if not path.is_absolute():
        raise forms.ValidationError("Enter an absolute path, such as /srv/mysql.")
    return path


def set_choices(form: forms.Form, name: str, choices: list[tuple[str, str]]) -> None:
    """Give a field of the form its choices."""
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)  # noqa: S101  # for the type checker
    field.choices = choices
