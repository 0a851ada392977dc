"""This machine's inventory, looked up and stored with its row."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from django.conf import settings
from django.db import transaction

from benchmarks.inventory.host import HostInventory
from benchmarks.inventory.inspection import inspect_host
from benchmarks.inventory.stored import list_paths, listed_paths, store_inventory
from benchmarks.models import Host, ListedPath

SERVER, DEVICE = ListedPath.Subject.SERVER, ListedPath.Subject.DEVICE


def inspect_here(
    host: Host, *, servers: Collection[Path] = (), devices: Collection[Path] = ()
) -> HostInventory:
    """Look at this machine, which is `host`, and store its inventory.

    `servers` and `devices` are named by somebody with a shell here: those that can be used are
    listed from then on. Raises NoServerUser where no server can be started at all.
    """
    found = inspect_host(
        host.name,
        installed_servers=settings.INSTALLED_SERVERS_DIR,
        default_device=settings.DEFAULT_DEVICE,
        servers=[*settings.LISTED_SERVERS, *listed_paths(host, SERVER), *servers],
        devices=[*settings.LISTED_DEVICES, *listed_paths(host, DEVICE), *devices],
        code_version=settings.CODE_VERSION,
    )
    with transaction.atomic():
        list_paths(host, SERVER, {one.path for one in found.servers}.intersection(servers))
        list_paths(host, DEVICE, {one.path for one in found.directories}.intersection(devices))
        store_inventory(host, found)
    return found
