"""The plan of a run: everything that must be known before it begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path

from benchmarks.datasets.source import DatasetSource
from benchmarks.drivers.protocol import Driver, Load
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.measurement.early_stop import CutRule
from benchmarks.measurement.fingerprint import host_fingerprint
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.reach import Reach
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.layout import DeviceLayout
from benchmarks.telemetry.disturbance import Limits
from benchmarks.telemetry.live import LiveSecond


def nobody_watches(_: list[LiveSecond]) -> None:
    """Do nothing: nobody watches this measurement."""


@dataclass(frozen=True)
class Plan:
    """The plan of one run.

    `source` is where the data of the load comes from. `options` are the candidate's knobs,
    `limits` those of disturbances that make the run void; `cut_rule` decides when it is not worth
    finishing. `emulation` limits the server to the speed of a slower device. `logs_with_data`
    leaves the redo log with the data although the layout has a directory for it, whose device is
    still monitored. `expected` are the devices that must still store the data and the redo log,
    None for any. With a load host, `reach` is how it reaches the server, `load_facts` what it adds
    to the fingerprint, and `driver` is a RemoteDriver. `applied` is the part of `options` that all
    runs of the study have.
    `tell_live` is given the last minute about once a second while the run is driven.
    """

    name: str
    binary: ServerBinary
    driver: Driver
    load: Load
    source: DatasetSource
    options: Mapping[str, str | None]
    layout: DeviceLayout
    limits: Limits = field(default_factory=Limits)
    cut_rule: CutRule | None = None
    emulation: EmulationProfile | None = None
    logs_with_data: bool = False
    expected: tuple[DeviceIdentity | None, DeviceIdentity | None] = (None, None)
    reach: Reach | None = None
    load_facts: Mapping[str, str] = field(default_factory=dict)
    applied: Mapping[str, str] = field(default_factory=dict)
    tell_live: Callable[[list[LiveSecond]], None] = nobody_watches

    @property
    def log_dir(self) -> Path | None:
        """The run's own directory for its redo log; None if that is with the data."""
        return None if self.logs_with_data else self.layout.run_log_dir(self.name)

    def lasting(self, seconds: float) -> Load:
        """Return this load with another measured time."""
        return replace(self.load, measure_s=ceil(seconds))

    def fingerprint(self, data: DeviceIdentity, log: DeviceIdentity | None) -> dict[str, str]:
        """The fingerprint of the host, with the limits of the run's device."""
        limits = self.emulation.facts() if self.emulation else {}
        return host_fingerprint(data, log) | limits | dict(self.load_facts)
