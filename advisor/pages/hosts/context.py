"""Contexts of the pages of hosts, gathered from the rows; the templates only lay them out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from advisor.wording.hosts import STATE_WORDS, TONES
from advisor.wording.words import certainty
from benchmarks.inventory.host import FoundDirectory
from benchmarks.models import Device
from tuning.comparison.devices import device_names
from tuning.hosts.known import HostProblem, KnownHost
from tuning.models import Recommendation
from tuning.studies.waiting import drain_text, retire_text


@dataclass(frozen=True)
class DeviceVerdict:
    """A device in use and the newest answer for it; `why` says how certain that is."""

    device: Device
    name: str
    best: Recommendation | None
    why: str
    is_current: bool


@dataclass(frozen=True)
class HostView:
    """A host as its card and its page show it."""

    known: KnownHost
    devices: list[DeviceVerdict]

    @property
    def directories(self) -> list[tuple[FoundDirectory, Device | None]]:
        """Each directory that it has with the device that is registered for it as it is."""
        registered = {
            one.device.data_dir: one.device
            for one in self.devices
            if one.device.emulation is None and not one.device.log_dir
        }
        found = self.known.inventory.directories if self.known.inventory else ()
        return [(one, registered.get(str(one.identity.path))) for one in found]

    @property
    def label(self) -> str:
        return STATE_WORDS[self.known.state]

    @property
    def tone(self) -> str:
        return TONES[self.known.state]

    @property
    def drain(self) -> str:
        """Since when, by whom and why it takes nothing; "" unless it is drained."""
        return drain_text(self.known.host)

    @property
    def retirement(self) -> str:
        """When, by whom and why it was retired; "" unless it is retired."""
        return retire_text(self.known.host)

    @property
    def problems(self) -> list[HostProblem]:
        return self.known.problems


def host_view(known: KnownHost) -> HostView:
    """The host with its devices by name."""
    names = device_names(line.device for line in known.devices)
    current = known.job.device if known.job else None
    devices = [
        DeviceVerdict(
            device=line.device,
            name=names[line.device.pk],
            best=line.best,
            why=certainty(line.best) if line.best else "",
            is_current=line.device.pk == current,
        )
        for line in known.devices
    ]
    return HostView(known, devices)


def summary(views: list[HostView]) -> str:
    """Return how many hosts are in each state, as "2 measuring, 1 idle"."""
    counted = Counter(view.label for view in views)
    words = STATE_WORDS.values()
    return ", ".join(f"{counted[word]} {word.lower()}" for word in words if counted[word])
