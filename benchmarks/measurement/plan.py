"""The plan of a run: everything that must be known before it begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.datasets.source import DatasetSource
from benchmarks.drivers.protocol import Driver, Load
from benchmarks.emulation.device import CgroupLimits
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.measurement.fingerprint import host_fingerprint
from benchmarks.outcomes import CutRule
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.reach import Reach
from benchmarks.servers.running import running_server
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.layout import DeviceLayout
from benchmarks.telemetry.disturbance import Limits
from benchmarks.telemetry.live import LiveSecond


@dataclass(frozen=True)
class Plan:
    """The plan of one run.

    source: where the data of the load comes from.
    options: the candidate's knobs. applied: the part of them that all runs of the study have.
    limits: of disturbances that make the run void.
    cut_rule: decides when the run is not worth finishing.
    emulation: limits the server to the speed of a slower device.
    logs_with_data: the redo log stays with the data although the layout has a directory for it,
        whose device is still monitored.
    expected: the devices that must still store the data and the redo log, None for any.
    reach, load_facts: only with a load host, whose `driver` is a RemoteDriver: how it reaches the
        server, and what it adds to the fingerprint.
    tell_live: is given the last minute about once a second while the run is driven.
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
    tell_live: Callable[[list[LiveSecond]], None] = lambda _: None

    @property
    def log_dir(self) -> Path | None:
        """Return the run's own directory for its redo log; None if that is with the data."""
        return None if self.logs_with_data else self.layout.run_log_dir(self.name)

    def running_server(
        self,
        run_dir: Path,
        log_dir: Path | None,
        limits: CgroupLimits | None,
        should_stop: Callable[[], bool],
        *,
        deadline_s: float = 120.0,
    ) -> AbstractContextManager[ServerInstance]:
        """Run the server on the clone in `run_dir`, under the limits; see `running_server`."""
        return running_server(
            self.binary,
            data_dir=run_dir / "data",
            run_dir=run_dir,
            log_dir=log_dir,
            options=self.options,
            deadline_s=deadline_s,
            should_stop=should_stop,
            resource_limits=limits,
            reach=self.reach,
            schema=self.load.workload.schema,
        )

    def fingerprint(self, data: DeviceIdentity, log: DeviceIdentity | None) -> dict[str, str]:
        """Return the fingerprint of the host, with the limits of the run's device."""
        limits = self.emulation.facts() if self.emulation else {}
        return host_fingerprint(data, log) | limits | dict(self.load_facts)
