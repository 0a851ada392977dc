"""Contexts of the device pages, gathered from the rows; the templates only lay them out."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from benchmarks.emulation.shipped import NATIVE
from benchmarks.models import Device
from benchmarks.storage.identity import DeviceIdentity
from tuning.models import Study
from tuning.studies.waiting import mark_waiting


@dataclass(frozen=True)
class Layer:
    """One layer between file system and disk, with details."""

    name: str
    detail: str = ""


def studies_on(device: Device) -> list[Study]:
    """All studies that measure on the device, newest first."""
    studies = list(device.studies.select_related("server").order_by("-id"))
    mark_waiting(studies)
    return studies


def layers_of(identity: DeviceIdentity) -> list[Layer]:
    """From the file system down to the disk."""
    layers = [Layer(identity.file_system or "file system unknown")]
    layers += [Layer(name) for name in identity.layers]
    if identity.block_device:
        layers.append(Layer(identity.block_device, identity.model or "model unknown"))
    elif identity.model:
        layers.append(Layer(identity.model))
    return layers


def advise_command(device: Device) -> str:
    """The shell command that starts a study on the device."""
    words = ["--device", device.data_dir]
    if device.log_dir:
        words += ["--log-dir", device.log_dir]
    if profile := device.profile:
        # A memory limit alone needs no profile.
        if profile.name != NATIVE:
            words += ["--emulate", profile.name]
        if profile.memory_bytes is not None:
            words += ["--memory-limit", f"{profile.memory_bytes / 1e6:.0f}"]
    return f".venv/bin/python manage.py advise {shlex.join(words)}"
