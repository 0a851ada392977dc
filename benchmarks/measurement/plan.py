"""What is to be measured: all that one run needs to know before it begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.drivers.protocol import Driver, Load
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.measurement.early_stop import CutRule
from benchmarks.measurement.fingerprint import host_fingerprint
from benchmarks.servers.binary import ServerBinary
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.layout import DeviceLayout
from benchmarks.telemetry.disturbance import Limits


@dataclass(frozen=True)
class Plan:
    """All that one run needs to know. `options` are the candidate's knobs, `limits` what the run
    may meet before it is void, and `cut_rule` says when it is not worth finishing. `emulation`
    holds the server back to what a slower device does. `logs_with_data` leaves the redo log with
    the data although the layout has a place for it, whose device is watched all the same.
    `expected` is what must still store the data and the redo log, None for whatever does.
    """

    name: str
    binary: ServerBinary
    driver: Driver
    load: Load
    options: Mapping[str, str | None]
    layout: DeviceLayout
    registry: Path
    limits: Limits = field(default_factory=Limits)
    cut_rule: CutRule | None = None
    emulation: EmulationProfile | None = None
    logs_with_data: bool = False
    expected: tuple[DeviceIdentity | None, DeviceIdentity | None] = (None, None)

    @property
    def log_dir(self) -> Path | None:
        """The run's own folder for its redo log; None where that is with the data."""
        return None if self.logs_with_data else self.layout.run_log_dir(self.name)

    def fingerprint(self, data: DeviceIdentity, log: DeviceIdentity | None) -> dict[str, str]:
        """The host's, with the limits of the run's device."""
        limits = self.emulation.facts() if self.emulation else {}
        return host_fingerprint(data, log) | limits
