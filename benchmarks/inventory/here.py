"""This machine's inventory, looked up and stored with its row."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from django.conf import settings
from django.db import transaction

from benchmarks.inventory.host import FoundDirectory, HostInventory
from benchmarks.inventory.inspection import inspect_host, is_news, space_of
from benchmarks.inventory.stored import (
    always_known,
    change_inventory,
    known_inventory,
    list_paths,
    listed_paths,
    store_inventory,
    was_changed,
)
from benchmarks.models import Host, ListedPath

SERVER, DEVICE = ListedPath.Subject.SERVER, ListedPath.Subject.DEVICE


def inspect_here(
    host: Host, *, servers: Collection[Path] = (), devices: Collection[Path] = ()
) -> HostInventory:
    """Look at this machine, which is `host`, and store its inventory.

    `servers` and `devices` are named by somebody with a shell here: those that can be used are
    listed from then on. Looks again when another process stored what it found meanwhile: this
    look may have begun before what that one saw.
    """
    while True:
        before = Host.objects.values_list("inventory", flat=True).get(pk=host.pk)
        found = _look(host, servers, devices)
        with transaction.atomic():
            if was_changed(host, since=before):
                continue
            list_paths(host, SERVER, {one.path for one in found.servers}.intersection(servers))
            list_paths(host, DEVICE, {one.path for one in found.directories}.intersection(devices))
            store_inventory(host, _without(found, {*servers, *devices} - always_known(host)))
        return found


def _look(host: Host, servers: Collection[Path], devices: Collection[Path]) -> HostInventory:
    return inspect_host(
        host.name,
        installed_servers=settings.INSTALLED_SERVERS_DIR,
        default_device=settings.DEFAULT_DEVICE,
        servers=[*settings.LISTED_SERVERS, *listed_paths(host, SERVER), *servers],
        devices=[*settings.LISTED_DEVICES, *listed_paths(host, DEVICE), *devices],
        code_version=settings.CODE_VERSION,
        load_address=settings.LOAD_ADDRESS,
        load_needs_tls=settings.LOAD_TLS,
    )


def refresh_space(host: Host) -> None:
    """Store what fills and empties by itself: free space and datasets of the known directories.

    Reads two directory entries for each, and writes only what is worth it. A directory that is
    away keeps its figures until it is inspected.
    """
    known = known_inventory(host)
    if known is None:
        return
    now = ((there.path, there, space_of(there)) for there in known.directories)
    changed = {path: found for path, there, found in now if is_news(found, there)}
    if changed:
        change_inventory(host, lambda found: _with(found, changed))


def _with(found: HostInventory, changed: Mapping[Path, FoundDirectory]) -> HostInventory:
    directories = tuple(changed.get(there.path, there) for there in found.directories)
    return found.model_copy(update={"directories": directories})


def _without(found: HostInventory, named: Collection[Path]) -> HostInventory:
    """The inventory without refusals of these paths: a slip of the keyboard leaves no trace."""
    there = {name: getattr(found, name) for name in ("refused_servers", "refused_directories")}
    kept = {
        name: tuple(one for one in refused if one.path not in named)
        for name, refused in there.items()
    }
    return found.model_copy(update=kept)
