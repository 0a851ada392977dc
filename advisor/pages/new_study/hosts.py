"""The hosts of a new study: which are chosen, and what they have to choose from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from django.http import QueryDict

from advisor.pages.lists import read_id
from benchmarks.errors import ExpectedError
from benchmarks.inventory.host import HostInventory
from benchmarks.inventory.stored import known_inventory, why_not_known
from benchmarks.jobs.presence import silent_hosts
from benchmarks.models import Device, Host
from benchmarks.storage.kinds import kind_words
from tuning.catalogue.target import ServerTraits
from tuning.creation.hosts import host_for
from tuning.hosts.known import hosts
from tuning.studies.waiting import drain_text, silence_text


@dataclass(frozen=True)
class ChosenHosts:
    """All hosts in use, and those of this form; no host is chosen where no worker ever ran.

    silent: ids of the hosts whose worker does not report any more.
    """

    known: Sequence[Host]
    chosen: Sequence[Host]
    silent: Collection[int] = ()

    @property
    def are_several(self) -> bool:
        """Whether there is anything to choose."""
        return len(self.known) > 1

    @property
    def names(self) -> list[str]:
        return [host.name for host in self.chosen]

    @property
    def others(self) -> list[Host]:
        """The hosts that could drive the measured ones."""
        names = self.names
        return [host for host in self.known if host.name not in names]

    @cached_property
    def inventories(self) -> list[HostInventory]:
        """The inventories of the chosen hosts, as far as they are known."""
        return list(filter(None, map(known_inventory, self.chosen)))

    @property
    def logical_cpus(self) -> int:
        """The CPUs of the host with the fewest; 1 until anything is known."""
        return min((one.logical_cpus for one in self.inventories), default=1)

    @property
    def servers(self) -> list[tuple[Path, str]]:
        """The servers of the first host, with their versions."""
        if not self.inventories:
            return []
        return [(one.path, str(ServerTraits.of(one))) for one in self.inventories[0].servers]

    @property
    def directories(self) -> list[tuple[Path, str]]:
        """Directories of the chosen hosts that may be measured, with their kinds."""
        found = {
            one.path: kind_words(one.identity.kind)
            for inventory in self.inventories
            for one in inventory.directories
        }
        return list(found.items())

    @property
    def default_directories(self) -> list[tuple[str, Path]]:
        """The directory of each host that is measured where a study names none."""
        return [(one.name, one.default_directory) for one in self.inventories]

    @property
    def missing(self) -> list[str]:
        """Sentences without full stops about what the chosen hosts cannot do."""
        inspected = {one.name for one in self.inventories}
        found = [
            f"{host.name} {why_not_known(host)}"
            for host in self.chosen
            if host.name not in inspected
        ]
        for one in self.inventories:
            if not one.servers:
                found.append(f"{one.name} has no server program that can be started")
            found += [f"{one.name}: {driver.reason}" for driver in one.missing_drivers]
            problems = [directory.throttle_problem for directory in one.directories]
            if problems and all(problems):
                found.append(f"{one.name} cannot emulate slower devices: {problems[0]}")
        return found

    @property
    def notes(self) -> list[str]:
        """Sentences without full stops about why a study would have to wait."""
        return [
            drain_text(host) if host.is_drained else silence_text(host)
            for host in self.chosen
            if host.is_drained or host.pk in self.silent
        ]


def chosen_hosts(asked: QueryDict) -> ChosenHosts:
    """Return the hosts that a form names, else the host of its device, else the usual one.

    Retired hosts cannot be chosen.
    """
    known = list(hosts().filter(retired_at=None).only("name", "drained_at"))
    named = set(asked.getlist("host"))
    chosen = [host for host in known if host.name in named]
    ids = [host.pk for host in chosen or _usual(known, asked.get("device", ""))]
    silent = silent_hosts().exclude(worker_seen_at=None).values_list("pk", flat=True)
    return ChosenHosts(known, list(hosts().filter(pk__in=ids)), frozenset(silent))


def _usual(known: Sequence[Host], device: str) -> list[Host]:
    if (pk := read_id(device)) is not None:
        of_device = Device.objects.filter(pk=pk).values_list("host", flat=True).first()
        if found := [host for host in known if host.pk == of_device]:
            return found
    try:
        usual = host_for().pk
    except ExpectedError:  # there is no host, or no host is more usual than the others
        return list(known[:1])
    return [host for host in known if host.pk == usual]
