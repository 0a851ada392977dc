"""Rows of what there is: hosts, their devices and their servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from django.conf import settings
from django.db import models

from benchmarks.emulation.profile import EmulationProfile
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.kinds import kind_words
from benchmarks.storage.layout import DeviceLayout


class Host(models.Model):
    """A machine with a measuring worker: one queue, one benchmark at a time.

    worker: the process that is its worker; empty: it has none. code_version: that of its worker.
    idle_reason: why its worker takes no work; empty: it does. drained_at: since when it takes
        nothing new; null: it does. retired_at: since when it takes no studies; null: it does.
    inventory: `benchmarks.inventory.host.HostInventory`. inspected_at: when it was made; null:
        never. datasets: its golden datasets and their devices.
    """

    name = models.CharField(max_length=255, unique=True)
    worker = models.CharField(max_length=255)
    worker_seen_at = models.DateTimeField(null=True)
    code_version = models.CharField(max_length=80)
    idle_reason = models.TextField()
    drained_at = models.DateTimeField(null=True)
    drained_by = models.CharField(max_length=150)
    drain_reason = models.CharField(max_length=200)
    retired_at = models.DateTimeField(null=True)
    retired_by = models.CharField(max_length=150)
    retire_reason = models.CharField(max_length=200)
    inventory = models.JSONField(default=dict)
    inspected_at = models.DateTimeField(null=True)
    datasets = models.JSONField(default=list)

    def __str__(self) -> str:
        return self.name

    @property
    def is_drained(self) -> bool:
        """Whether it starts nothing new; its current job may still be finishing."""
        return self.drained_at is not None

    @property
    def is_retired(self) -> bool:
        """Whether it is out of use; its history stays."""
        return self.retired_at is not None

    @property
    def queue(self) -> str:
        return f"bench.{self.name}"


class Release(models.Model):
    """The version of the code that brought this database up to date; one row at most."""

    version = models.CharField(max_length=80)
    migrated_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.version


class ListedPath(models.Model):
    """A program that may be started or a directory that may be measured on a host.

    The host finds others itself, or has them in its ADVISOR_SERVERS and ADVISOR_DEVICES.
    added_by: null for a command on the host.
    """

    class Subject(models.TextChoices):
        SERVER = "server", "Server"
        DEVICE = "device", "Device"

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="listed_paths")
    subject = models.CharField(max_length=16, choices=Subject)
    path = models.CharField(max_length=1024)
    added_at = models.DateTimeField(auto_now_add=True)
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["host", "subject", "path"], name="one_row_per_listed_path"
            )
        ]

    def __str__(self) -> str:
        return f"{self.subject} {self.path}"


class Device(models.Model):
    """A place for data on a host: a directory, optionally one for the redo logs, and limits.

    A row always stands for the same device, and its limits never change. If another disk is found
    behind the directory, the row retires, and the disk gets a row of its own.

    kind: the kind that is used; kind_correction is set by a user. log_dir: for redo logs; empty:
        with the data. identity, log_identity: `benchmarks.storage.identity.DeviceIdentity`.
    emulation: `benchmarks.emulation.profile.EmulationProfile`; emulation_label: its limits in
        words; empty: not emulated. retired_at: when another device was found in its place.
    """

    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="devices")
    kind = models.CharField(max_length=16)
    discovered_kind = models.CharField(max_length=16)
    kind_correction = models.CharField(max_length=16)
    data_dir = models.CharField(max_length=1024)
    log_dir = models.CharField(max_length=1024)
    block_device = models.CharField(max_length=64)
    log_block_device = models.CharField(max_length=64)
    model = models.CharField(max_length=255)
    file_system = models.CharField(max_length=32)
    scheduler = models.CharField(max_length=32)
    identity = models.JSONField(default=dict)
    log_identity = models.JSONField(default=dict)
    emulation = models.JSONField(null=True)
    emulation_label = models.CharField(max_length=200)
    retired_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["host", "data_dir", "log_dir", "emulation_label"],
                condition=models.Q(retired_at=None),
                name="one_device_per_place_and_limits",
            )
        ]

    def __str__(self) -> str:
        logs = f" with redo logs at {self.log_dir}" if self.log_dir else ""
        memory = self.memory_limit_bytes
        limit = f" with {memory / 1e6:.0f} MB of memory" if memory is not None else ""
        return f"{self.what}{limit} at {self.data_dir}{logs}"

    @property
    def what(self) -> str:
        """ "NVMe", "emulated HDD"."""
        if profile := self.profile:
            return profile.what
        # The kind of a virtual disk is "other"; its model name says more.
        return self.model if self.kind == "other" and self.model else kind_words(self.kind)

    @property
    def profile(self) -> EmulationProfile | None:
        """The limits of an emulated device; None for a real device."""
        return EmulationProfile(**self.emulation) if self.emulation else None

    @property
    def memory_limit_bytes(self) -> int | None:
        """Bytes of memory that a server may use there; None where nothing limits it."""
        return self.profile.memory_bytes if self.profile else None

    @property
    def is_throttled(self) -> bool:
        """Whether it emulates a slower device, and not only less memory."""
        return self.profile is not None and self.profile.throttles

    @property
    def found(self) -> DeviceIdentity | None:
        """The identity of the data device, as detected last."""
        return _identity(self.identity)

    @property
    def found_for_logs(self) -> DeviceIdentity | None:
        """The identity of the redo log's device, if it has a directory of its own."""
        return _identity(self.log_identity)

    @property
    def layout(self) -> DeviceLayout:
        """Our directories on it."""
        return DeviceLayout(Path(self.data_dir), Path(self.log_dir) if self.log_dir else None)


def _identity(document: dict[str, Any]) -> DeviceIdentity | None:
    return DeviceIdentity.from_json(document) if document else None


class Server(models.Model):
    """One mysqld binary."""

    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="servers")
    flavour = models.CharField(max_length=16)
    version = models.CharField(max_length=64)
    path = models.CharField(max_length=1024)
    digest = models.CharField(max_length=64)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["host", "path", "digest"], name="one_server_per_binary"
            )
        ]

    def __str__(self) -> str:
        names = {"mysql": "MySQL", "percona": "Percona Server", "mariadb": "MariaDB"}
        return f"{names.get(self.flavour, self.flavour)} {self.version}"
