"""The devices of a new study: registered ones, one more directory, limits on either."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django import forms
from django.forms.boundfield import BoundWidget

from advisor.ids import read_id
from advisor.pages.device.forms import DeviceFields, directory, set_choices
from advisor.pages.device.listing import COLUMNS
from advisor.pages.finding import FilteredChoice, with_words
from advisor.pages.new_study.hosts import ChosenHosts
from advisor.wording.words import KIND_OF_EMULATED
from benchmarks.emulation.shipped import ShippedProfile, shipped_profiles
from benchmarks.inventory.device_lookup import NATIVE, DeviceRequest, throttles
from benchmarks.models import Device
from tuning.studies.named_devices import MAX_MEMORY_MB, MB, MIN_MEMORY_MB, request_for
from tuning.studies.request import MAX_DEVICES

# In the folded part of the page, which opens if one of them has a value or an error.
FOLDED = ("log_dir", "kind", "emulate", "memory_mb")


@dataclass(frozen=True)
class RegisteredDevice:
    """A registered device with its checkbox."""

    widget: BoundWidget
    device: Device
    is_default: bool


class StudyDevicesForm(DeviceFields):
    """The devices of a study; the host's default device if none is chosen or entered."""

    devices = forms.MultipleChoiceField(
        label="Registered devices",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"invalid_choice": "A selected device cannot be measured on this host."},
    )
    path = forms.CharField(
        label="Another directory",
        required=False,
        max_length=1024,
        help_text="A directory on the device to measure. All data is stored below it.",
    )
    emulate = forms.MultipleChoiceField(
        label="Emulate devices",
        required=False,
        choices=[
            (NATIVE, "The real device, without limits"),
            *((name, one.title) for name, one in shipped_profiles().items()),
        ],
        widget=forms.CheckboxSelectMultiple,
        help_text="Each choice is measured as a separate device with its own ranking. Applies to "
        "every device chosen above that is not emulated itself.",
    )
    memory_mb = forms.IntegerField(
        label="Memory limit, MB",
        required=False,
        min_value=MIN_MEMORY_MB,
        max_value=MAX_MEMORY_MB,
        help_text="Limits mysqld including its page cache, which would otherwise hide the device. "
        "If empty, an emulated device gets enough for the server and half of the data, and a real "
        "device has no limit.",
    )

    def __init__(self, *args: Any, hosts: ChosenHosts, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.hosts = hosts
        there = Device.objects.filter(host__in=hosts.chosen, retired_at=None)
        self._registered = {
            str(device.pk): device
            for device in there.select_related("host").order_by("host__name", "data_dir", "pk")
        }
        if not self._registered:
            self.fields["path"].label = "Directory"
        for name in ("path", "log_dir"):
            self.fields[name].widget.attrs["list"] = "known-directories"
        set_choices(
            self, "devices", [(pk, str(device)) for pk, device in self._registered.items()]
        )

    @property
    def device_choice(self) -> FilteredChoice:
        """A checkbox for each registered device, as far as its filter has it."""
        find, found = self.hosts.finds.get("find_devices", ""), set(self._registered)
        if find:
            there = with_words(Device.objects.filter(host__in=self.hosts.chosen), find, COLUMNS)
            found &= {str(pk) for pk in there.values_list("pk", flat=True)}
        shown = [
            RegisteredDevice(widget, device, is_default=self._is_default(device))
            for widget, (pk, device) in zip(self["devices"], self._registered.items(), strict=True)
            if pk in found or widget.data["selected"]
        ]
        return FilteredChoice(shown, find, len(found), len(self._registered))

    @property
    def devices_first_chosen(self) -> list[DeviceRequest]:
        """Those that are ticked when the form opens."""
        chosen = self.initial.get("devices", ())
        return [request_for(self._registered[pk]) for pk in chosen if pk in self._registered]

    def _is_default(self, device: Device) -> bool:
        is_plain = not (device.emulation_label or device.log_dir)
        usual = {(name, str(path)) for name, path in self.hosts.default_directories}
        return is_plain and (device.host.name, device.data_dir) in usual

    @property
    def profiles(self) -> list[tuple[BoundWidget, str]]:
        """The choices of `emulate`, each with its limits in words."""
        words = [_WITHOUT, *(limits_text(one) for one in shipped_profiles().values())]
        return list(zip(self["emulate"], words, strict=True))

    @property
    def is_unfolded(self) -> bool:
        return any(self[name].value() or self[name].errors for name in FOLDED)

    def clean_path(self) -> Path | None:
        text = self.cleaned_data["path"]
        return directory(text) if text else None

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("devices") and not data.get("path") and "path" in data:
            for name in ("log_dir", "kind"):
                if data.get(name):
                    self.add_error(
                        name,
                        "Applies to a directory entered above only: enter one or leave it empty.",
                    )
        asked = data.get("emulate") or [""]
        if data.get("kind") and all(throttles(name) for name in asked):
            self.add_error("kind", KIND_OF_EMULATED)
        if not self.errors and all(device.emulate for device in self._requests()):
            for name in ("emulate", "memory_mb"):
                if data.get(name):
                    self.add_error(
                        name, "All selected devices are already emulated: leave this empty."
                    )
        if not self.errors and len(self._requests()) * len(self._limits()) > MAX_DEVICES:
            self.add_error("devices", f"A study can have at most {MAX_DEVICES} devices.")
        return data

    def device_requests(self) -> list[DeviceRequest]:
        """The requested devices; empty for the host's default device."""
        requests = [one for device in self._requests() for one in self._under_limits(device)]
        return [] if requests == [DeviceRequest()] else requests

    def field_of_device(self, field: str) -> str | None:
        """The form's field for that of a request, "devices[1].path"; None for other fields."""
        found = re.fullmatch(r"devices\[(\d+)\]\.?(\w*)", field)
        if found is None:
            return None
        name = found[2] or "path"
        if name in ("emulate", "memory_mb") and self.cleaned_data.get(name):
            return name
        is_registered = [
            index < len(self.cleaned_data["devices"])
            for index, one in enumerate(self._requests())
            for _ in self._under_limits(one)
        ]
        return "devices" if is_registered[int(found[1])] else name

    def _under_limits(self, device: DeviceRequest) -> list[DeviceRequest]:
        if device.emulate:
            return [device]
        return [
            replace(
                device,
                emulate=name,
                memory_bytes=memory,
                kind=None if throttles(name) else device.kind,
            )
            for name, memory in self._limits()
        ]

    def _requests(self) -> list[DeviceRequest]:
        data = self.cleaned_data
        devices = [request_for(self._registered[pk]) for pk in data["devices"]]
        if data["path"] or not devices:
            devices.append(
                DeviceRequest(path=data["path"], log_dir=data["log_dir"], kind=data["kind"])
            )
        return devices

    def _limits(self) -> list[tuple[str, int | None]]:
        data = self.cleaned_data
        memory = None if data["memory_mb"] is None else data["memory_mb"] * MB
        return [(name, memory) for name in data["emulate"] or [""]]


_WITHOUT = "For comparison with the emulated devices."


def limits_text(shipped: ShippedProfile) -> str:
    """ "100000/90000 IOPS, 550/520 MB/s (read/write) as rated; scaled down if ..."."""
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
        return f"{limits}. Refused if a probe found the device slower."
    return f"{limits} as rated; scaled down if a probe found the device slower than an NVMe SSD."


def choosable(text: str) -> bool:
    """Whether `device` in an address is the id of a device that is in use."""
    pk = read_id(text)
    return pk is not None and Device.objects.filter(pk=pk, retired_at=None).exists()
