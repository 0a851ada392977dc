"""The golden datasets of this host: which are kept, and which may go."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.conf import settings

from benchmarks.datasets.shared_folders import SharedFolder, delete_folder, list_folders
from benchmarks.errors import DatasetInUse, NoDataset, NotInspected
from benchmarks.inventory.stored import inventory_of
from benchmarks.models import Host
from benchmarks.storage.layout import DeviceLayout
from tuning.models import ACTIVE_STUDY_STATES, Study

# One whose server is gone stays this long: a server that is being replaced may come back.
_GONE_FOR = timedelta(days=1)


@dataclass(frozen=True)
class Kept:
    """A dataset of this host; `needed_by` is a study that is not over, None without one."""

    dataset: SharedFolder
    device: Path
    needed_by: int | None

    def why_prunable(self, now: datetime, days: int, servers: Collection[str]) -> str:
        """Why the policy lets it go; "" for one that stays.

        `servers`: digests of those that the host has; empty: not known. `days` 0: however long.
        """
        unused = now - self.dataset.used_at
        if self.needed_by is not None:
            return ""
        if servers and self.dataset.server_digest not in servers and unused >= _GONE_FOR:
            return "its server is no longer on this host"
        if days and unused >= timedelta(days=days):
            return f"not used for {unused.days} days"
        return ""


def datasets_here(host: Host) -> list[Kept]:
    """Return the datasets on the devices of a host, which this process must run on."""
    directories = {
        Path(directory) for directory in host.devices.values_list("data_dir", flat=True)
    }
    directories.add(settings.DEFAULT_DEVICE)
    found = [
        (directory, one)
        for directory in sorted(directories)
        for one in list_folders(DeviceLayout(directory).root)
    ]
    return _kept(host, found)


def note_datasets(host: Host) -> None:
    """Store which there are, for pages and the API of other machines. Must run on the host."""
    found = [{"device": str(one.device), **one.dataset.as_json()} for one in datasets_here(host)]
    if found != host.datasets:
        host.datasets = found
        host.save(update_fields=["datasets"])


def noted_datasets(host: Host) -> list[Kept]:
    """Return the datasets that the host noted last, and which of them a study needs now."""
    found = []
    for document in host.datasets:
        values = dict(document)
        found.append((Path(values.pop("device")), SharedFolder.from_json(values)))
    return _kept(host, found)


def deletable(known: list[Kept], key: str) -> list[Kept]:
    """Return the datasets of that name. Raises NoDataset; DatasetInUse if a study needs one."""
    found = [one for one in known if one.dataset.key == key]
    if not found:
        raise NoDataset(f"there is no dataset {key!r} on this host")
    for one in found:
        if one.needed_by is not None:
            raise DatasetInUse(f"{one.dataset.path}: study {one.needed_by} needs it")
    return found


def prunable(host: Host, days: int) -> list[tuple[Kept, str]]:
    """Return the datasets here that the policy lets go, each with the reason."""
    now = datetime.now(UTC)
    servers: set[str] = set()
    with suppress(NotInspected):  # of no server is known that it is gone
        servers = {one.digest for one in inventory_of(host).servers}
    return [
        (one, why) for one in datasets_here(host) if (why := one.why_prunable(now, days, servers))
    ]


def take_all_off(found: list[Kept]) -> None:
    """Delete them; the caller sees to it that no job of this machine runs. Raises DatasetInUse."""
    for one in found:
        delete_folder(one.dataset.path)


def _kept(host: Host, found: list[tuple[Path, SharedFolder]]) -> list[Kept]:
    active = Study.objects.filter(host=host, state__in=ACTIVE_STUDY_STATES)
    needed = {
        (digest, directory): study
        for study, directory, *digests in active.values_list(
            # The candidate of a gate may have a server of its own.
            "pk",
            "devices__data_dir",
            "server__digest",
            "candidates__server__digest",
        )
        for digest in digests
    }
    return [
        Kept(one, directory, needed.get((one.server_digest, str(directory))))
        for directory, one in found
    ]
