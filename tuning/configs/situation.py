"""Where a config is to run, for what makes configs: proposals and a search."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.storage.kinds import DeviceKind
from tuning.catalogue.costs import CostKind
from tuning.catalogue.knob import Durability
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits
from tuning.configs.expected import UNKNOWN, HostFacts

_SSD = frozenset({DeviceKind.SATA_SSD, DeviceKind.SAS_SSD, DeviceKind.NVME, DeviceKind.TMPFS})


@dataclass(frozen=True)
class DeviceFacts:
    """The facts of a device, or the facts that several devices share; None is not known.

    write_iops, read_iops: random 16 KiB requests per second that it keeps up, of a probe or the
    limits of an emulated device. commit_us: microseconds of a small write with its fsync.
    free_bytes: the space that the data leaves.
    """

    kind: DeviceKind | None = None
    write_iops: float | None = None
    read_iops: float | None = None
    commit_us: float | None = None
    free_bytes: int | None = None

    @property
    def is_disk(self) -> bool:
        """Whether it is known to turn; what a virtual disk reports about that is unreliable."""
        return self.kind is DeviceKind.HDD

    @property
    def is_ssd(self) -> bool:
        """Whether it is known to have no moving parts."""
        return self.kind in _SSD


@dataclass(frozen=True)
class Situation:
    """Where a config is to run.

    `resources.memory_bytes` is what a buffer pool may be sized to. redo_bytes_per_hour: what the
    server was seen to write here at full load, None where nothing was measured yet. `allowed`
    are the kinds of cost and `durability` the class that a config made here may have.
    """

    target: ServerTraits
    resources: HostResources
    host: HostFacts = UNKNOWN
    device: DeviceFacts = field(default_factory=DeviceFacts)
    redo_bytes_per_hour: float | None = None
    allowed: frozenset[CostKind] = frozenset()
    durability: Durability = Durability.D0
