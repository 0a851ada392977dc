"""Looks at this host before a command measures on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

from benchmarks.errors import BenchmarkError
from benchmarks.inventory.here import inspect_here
from benchmarks.inventory.stored import inventory_of
from benchmarks.jobs.claimant import measuring_alone
from benchmarks.models import Host


def look_here(servers: Sequence[Path], directories: Sequence[Path]) -> None:
    """Inspect this host, with the servers and directories that a command names.

    Who can run a command on the host may list anything there. A run that is being measured is
    not disturbed where all that is named is known.
    """
    host, _ = Host.objects.get_or_create(name=settings.HOST_NAME)
    with measuring_alone(patience_s=0) as alone:
        if alone or not _knows(host, servers, directories):
            inspect_here(host, servers=list(servers), devices=list(directories))


def _knows(host: Host, servers: Sequence[Path], directories: Sequence[Path]) -> bool:
    try:
        found = inventory_of(host)
        named: list[Path | None] = [*servers] or [None]
        for server in named:
            found.server(server)
        return all(found.directory(directory) for directory in directories)
    except BenchmarkError:
        return False
