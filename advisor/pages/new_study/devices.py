"""Which devices a new study measures: kept ones, one more directory, limits around either."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.forms.boundfield import BoundWidget

from advisor.ids import MAX_ID
from advisor.pages.device.forms import (
    KINDS,
    directory,
    set_choices,
)
from advisor.wording.words import OF_ITS_OWN_KIND
from benchmarks.emulation.shipped import ShippedProfile, shipped_profiles
from benchmarks.inventory.devices import NATIVE, DeviceRequest, throttles
from benchmarks.models import Device
from benchmarks.storage.kinds import DeviceKind
from tuning.studies.devices import MAX_MEMORY_MB, MB, MIN_MEMORY_MB, request_for
from tuning.studies.request import MAX_DEVICES

# Below the fold of the page, which opens when one of them was used or is wrong.
FOLDED = ("log_dir", "kind", "emulate", "memory_mb")


@dataclass(frozen=True)
class KeptDevice:
    """A device as it can be ticked."""

    widget: BoundWidget
    device: Device
    is_usual: bool


class StudyDevicesForm(forms.Form):
    """The devices of a study. Nothing chosen and nothing named is the host's usual one."""

    devices = forms.MultipleChoiceField(
        label="Devices of this host",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"invalid_choice": "A device that was chosen cannot be measured here."},
    )
    path = forms.CharField(
        label="Another directory",
        required=False,
        max_length=1024,
        help_text="On the device to be measured; all data goes below it.",
    )
    log_dir = forms.CharField(
        label="Redo logs at",
        required=False,
        max_length=1024,
        help_text="A directory on another device. Empty: the redo logs are with the data.",
    )
    kind = forms.ChoiceField(
        label="Kind of the device",
        required=False,
        help_text="Only if you know better than what is found, as with virtual disks.",
    )
    emulate = forms.MultipleChoiceField(
        label="Measure under limits",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Each one ticked is a device of its own, with rankings of its own. Applies to "
        "every device chosen above that is not emulated itself.",
    )
    memory_mb = forms.IntegerField(
        label="Memory limit, MB",
        required=False,
        min_value=MIN_MEMORY_MB,
        max_value=MAX_MEMORY_MB,
        help_text="All memory of mysqld with its page cache, else the cache hides the device. "
        "Empty: what the server and half of the data take on emulated devices, and no limit on "
        "the device as it is.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._kept = {
            str(device.pk): device
            for device in Device.objects.select_related("host")
            .filter(host__name=settings.HOST_NAME, retired_at=None)
            .order_by("data_dir", "pk")
        }
        set_choices(self, "devices", [(pk, str(device)) for pk, device in self._kept.items()])
        set_choices(self, "kind", [("", "As it is found"), *KINDS])
        profiles = [(name, one.title) for name, one in shipped_profiles().items()]
        set_choices(self, "emulate", [(NATIVE, "The device as it is"), *profiles])

    @property
    def kept_devices(self) -> list[KeptDevice]:
        usual = str(settings.DEFAULT_DEVICE)
        return [
            KeptDevice(widget, device, is_usual=_is_plain(device) and device.data_dir == usual)
            for widget, device in zip(self["devices"], self._kept.values(), strict=True)
        ]

    @property
    def profiles(self) -> list[tuple[BoundWidget, str]]:
        """What can be emulated, each with what it means."""
        words = [_WITHOUT, *(limits_text(one) for one in shipped_profiles().values())]
        return list(zip(self["emulate"], words, strict=True))

    @property
    def is_unfolded(self) -> bool:
        return any(self[name].value() or self[name].errors for name in FOLDED)

    def clean_path(self) -> Path | None:
        return _directory_or_none(self.cleaned_data["path"])

    def clean_log_dir(self) -> Path | None:
        return _directory_or_none(self.cleaned_data["log_dir"])

    def clean_kind(self) -> DeviceKind | None:
        text = self.cleaned_data["kind"]
        return DeviceKind(text) if text else None

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("devices") and not data.get("path") and "path" in data:
            for name in ("log_dir", "kind"):
                if data.get(name):
                    self.add_error(
                        name, "Goes with another directory: name that above, or leave this empty."
                    )
        asked = data.get("emulate") or [""]
        if data.get("kind") and all(throttles(name) for name in asked):
            self.add_error("kind", OF_ITS_OWN_KIND)
        if not self.errors and all(place.emulate for place in self._places()):
            for name in ("emulate", "memory_mb"):
                if data.get(name):
                    self.add_error(
                        name, "All chosen devices are emulated already: leave this empty."
                    )
        if not self.errors and len(self._places()) * len(self._limits()) > MAX_DEVICES:
            self.add_error("devices", f"At most {MAX_DEVICES} devices fit into one study.")
        return data

    def device_requests(self) -> list[DeviceRequest]:
        """What was asked for; empty for the host's usual device."""
        requests = [request for place in self._places() for request in self._under_limits(place)]
        return [] if requests == [DeviceRequest()] else requests

    def field_of_device(self, field: str) -> str | None:
        """The form's field for that of a request, "devices[1].path"; None for other fields."""
        found = re.fullmatch(r"devices\[(\d+)\]\.?(\w*)", field)
        if found is None:
            return None
        name = found[2] or "path"
        if name in ("emulate", "memory_mb") and self.cleaned_data.get(name):
            return name
        is_kept = [
            place < len(self.cleaned_data["devices"])
            for place, one in enumerate(self._places())
            for _ in self._under_limits(one)
        ]
        return "devices" if is_kept[int(found[1])] else name

    def _under_limits(self, place: DeviceRequest) -> list[DeviceRequest]:
        if place.emulate:
            return [place]
        return [
            replace(
                place,
                emulate=name,
                memory_bytes=memory,
                kind=None if throttles(name) else place.kind,
            )
            for name, memory in self._limits()
        ]

    def _places(self) -> list[DeviceRequest]:
        data = self.cleaned_data
        places = [request_for(self._kept[pk]) for pk in data["devices"]]
        if data["path"] or not places:
            places.append(
                DeviceRequest(path=data["path"], log_dir=data["log_dir"], kind=data["kind"])
            )
        return places

    def _limits(self) -> list[tuple[str, int | None]]:
        data = self.cleaned_data
        memory = None if data["memory_mb"] is None else data["memory_mb"] * MB
        return [(name, memory) for name in data["emulate"] or [""]]


_WITHOUT = "To compare the others with."


def limits_text(shipped: ShippedProfile) -> str:
    """ "100000/90000 IOPS, 550/520 MB/s (read/write) as rated; shrunk ..."."""
    parts = [
        f"{read:,}/{write:,} {unit}"
        for read, write, unit in (
            (shipped.read_iops, shipped.write_iops, "IOPS"),
            (shipped.read_mb_s, shipped.write_mb_s, "MB/s"),
        )
        if read is not None and write is not None
    ]
    limits = f"{', '.join(parts)} (read/write)"
    if not shipped.scaled:
        return f"{limits}. Refused where a probe found the real device slower."
    return f"{limits} as rated, less where a probe found the real device slower than an NVMe SSD."


def choosable(text: str) -> bool:
    """Whether an address's `device` is an id that a device of this host in use has."""
    # The length first: Python itself refuses to read thousands of digits.
    if not (text.isascii() and text.isdecimal()) or len(text) > len(str(MAX_ID)):
        return False
    pk = int(text)
    here = Device.objects.filter(host__name=settings.HOST_NAME, retired_at=None)
    return pk <= MAX_ID and here.filter(pk=pk).exists()


def _is_plain(device: Device) -> bool:
    return not (device.emulation_label or device.log_dir)


def _directory_or_none(text: str) -> Path | None:
    return directory(text) if text else None
