"""Inventories as they stand with the rows of their hosts, and what administrators listed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from pydantic import ValidationError

from benchmarks.errors import NotInspected
from benchmarks.inventory.host import HostInventory
from benchmarks.models import Host, ListedPath

SERVER, DEVICE = ListedPath.Subject.SERVER, ListedPath.Subject.DEVICE


def inventory_of(host: Host) -> HostInventory:
    """Return the host's inventory, under its present name.

    Raises NotInspected before its first worker, and where the last was of an older version.
    """
    try:
        found = HostInventory.from_json(host.inventory)
    except ValidationError:
        raise NotInspected(f"host {host.name} {why_not_known(host)}", field="host") from None
    return found.model_copy(update={"name": host.name})


def why_not_known(host: Host) -> str:
    """The reason for NotInspected and what to do, to be read after the host's name."""
    if host.inventory:
        return "was inspected by another version: start its worker again, which inspects it"
    return "has not been inspected yet: start its worker, which does so"


def known_inventory(host: Host) -> HostInventory | None:
    """Return what `inventory_of` returns; None where that raises NotInspected."""
    try:
        return inventory_of(host)
    except NotInspected:
        return None


def store_inventory(host: Host, found: HostInventory) -> None:
    """Store it with the host's row; the time is the database's."""
    host.inventory = found.as_json()
    Host.objects.filter(pk=host.pk).update(inventory=host.inventory, inspected_at=Now())


def change_inventory(host: Host, change: Callable[[HostInventory], HostInventory]) -> None:
    """Store the inventory with a change, made to it as it stands now. Raises NotInspected."""
    with transaction.atomic():
        now = Host.objects.select_for_update().get(pk=host.pk)
        host.inventory = change(inventory_of(now)).as_json()
        Host.objects.filter(pk=host.pk).update(inventory=host.inventory)


def listed_paths(host: Host, subject: ListedPath.Subject) -> list[Path]:
    """Return what an administrator listed for the host, the oldest first."""
    rows = ListedPath.objects.filter(host=host, subject=subject).order_by("pk")
    return [Path(path) for path in rows.values_list("path", flat=True)]


def unlist_path(host: Host, subject: ListedPath.Subject, path: Path) -> bool:
    """Take a path off the list, as of the host's next inspection; False if it was not listed."""
    gone, _ = ListedPath.objects.filter(host=host, subject=subject, path=str(path)).delete()
    return gone > 0


def list_paths(host: Host, subject: ListedPath.Subject, paths: Iterable[Path]) -> None:
    """List them, unless they are or the host has them anyway. On the host only."""
    for path in set(paths) - always_known(host):
        ListedPath.objects.get_or_create(host=host, subject=subject, path=str(path))


def always_known(host: Host) -> set[Path]:
    """Paths at which each inspection of this machine looks, because somebody named them once."""
    named = {settings.DEFAULT_DEVICE, *settings.LISTED_SERVERS, *settings.LISTED_DEVICES}
    return named.union(*(listed_paths(host, subject) for subject in ListedPath.Subject))
