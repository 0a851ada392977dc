"""The devices of a new study: registered ones, one more directory, limits on either."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms.boundfield import BoundWidget

from advisor.pages.devices.forms import DeviceFields, set_choices
from advisor.pages.lists import read_id
from advisor.pages.new_study.hosts import ChosenHosts
from benchmarks.emulation.profile import NATIVE, ShippedProfile, shipped_profiles, throttles
from benchmarks.models import Device

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

    def __init__(self, *args: Any, hosts: ChosenHosts, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.hosts = hosts
        rows = Device.objects.filter(host__in=hosts.chosen, retired_at=None)
        rows = rows.select_related("host").order_by("host__name", "data_dir", "pk")
        self.registered = {str(device.pk): device for device in rows}
        if self.registered:
            self.fields["path"].label = "Another directory"
        set_choices(self, "devices", [(pk, str(row)) for pk, row in self.registered.items()])

    @property
    def device_boxes(self) -> list[RegisteredDevice]:
        """A checkbox for each registered device."""
        return [
            RegisteredDevice(widget, device, is_default=self._is_default(device))
            for widget, device in zip(self["devices"], self.registered.values(), strict=True)
        ]

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

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("devices") and not data.get("path") and "path" in data:
            for name in ("log_dir", "kind"):
                if data.get(name):
                    self.add_error(
                        name,
                        "Applies to a directory entered above only: enter one or leave it empty.",
                    )
        if not self.errors and self._chosen and all(one.emulation_label for one in self._chosen):
            for name in ("emulate", "memory_mb"):
                if data.get(name) and not data.get("path"):
                    self.add_error(
                        name, "All selected devices are already emulated: leave this empty."
                    )
        return data

    @property
    def _chosen(self) -> list[Device]:
        """The registered devices that are ticked."""
        return [self.registered[pk] for pk in self.cleaned_data.get("devices", ())]

    def devices_asked(self) -> list[dict[str, Any]]:
        """The devices of the request; none for the host's default device."""
        return [device for device, _ in self._asked()]

    def _asked(self) -> list[tuple[dict[str, Any], str]]:
        """Each device of the request, with the field that names it."""
        data = self.cleaned_data
        entered = {name: data[name] for name in ("path", "log_dir", "kind") if data.get(name)}
        limits = {"memory_mb": data["memory_mb"]} if data.get("memory_mb") is not None else {}
        profiles = data.get("emulate") or ([""] if limits else [])
        asked: list[tuple[dict[str, Any], str]] = []
        for device in self._chosen:
            if device.emulation_label or not profiles:
                asked.append(({"id": device.pk}, "devices"))
                continue
            named = {"host": device.host.name, "path": device.data_dir}
            named |= {"log_dir": device.log_dir} if device.log_dir else {}
            kind = {"kind": device.kind_correction} if device.kind_correction else {}
            asked += [(one, "devices") for one in _limited(named, kind, profiles, limits)]
        if "path" in entered or not self._chosen:
            kind = {"kind": entered.pop("kind")} if "kind" in entered else {}
            asked += [(one, "") for one in _limited(entered, kind, profiles or [""], limits)]
        return [] if asked == [({}, "")] else asked

    def field_of_device(self, path: str) -> str | None:
        """The form's field for that of a request, "devices[1].path"."""
        found = re.fullmatch(r"devices\[(\d+)\]\.?(\w*)", path)
        if found is None:
            return None
        name = found[2] or "path"
        if name in ("emulate", "memory_mb") and self.cleaned_data.get(name):
            return name
        asked = self._asked() or [({}, "")]
        return asked[int(found[1])][1] or name


def _limited(
    named: dict[str, Any], kind: dict[str, Any], profiles: list[str], limits: dict[str, Any]
) -> list[dict[str, Any]]:
    """The device under each profile; an emulated one has the kind that it emulates."""
    return [
        named
        | limits
        | ({"emulate": profile} if profile else {})
        | ({} if throttles(profile) else kind)
        for profile in profiles
    ]


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
