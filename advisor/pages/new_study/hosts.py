"""The hosts of a new study: which are chosen, and what they have to choose from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from django.http import QueryDict

from advisor.ids import read_id
from advisor.pages.finding import FilteredChoice, text_asked, with_words
from advisor.pages.hosts.fields import host_boxes
from benchmarks.errors import ExpectedError
from benchmarks.inventory.host import HostInventory
from benchmarks.inventory.stored import known_inventory, why_not_known
from benchmarks.jobs.presence import silent_hosts
from benchmarks.models import Device, Host
from benchmarks.storage.kinds import kind_words
from tuning.catalogue.target import ServerTraits
from tuning.creation.hosts import host_for
from tuning.hosts.known import hosts
from tuning.studies.absence import silence_text
from tuning.studies.holds import drain_text

#: The fields by which long lists are shortened.
FINDS = ("find_host", "find_devices", "find_load_hosts")


@dataclass(frozen=True)
class ChosenHosts:
    """All hosts, and those of this form; none of the latter where no worker ever ran.

    `finds`: by the name of a filter what its list is to be shortened to. `silent`: the ids of
    those whose worker is not heard of any more.
    """

    known: Sequence[Host]
    chosen: Sequence[Host]
    finds: Mapping[str, str] = field(default_factory=dict)
    silent: Collection[int] = ()

    def boxes(
        self, name: str, offered: Sequence[Host], ticked: Collection[str], *, says_idle: bool
    ) -> FilteredChoice:
        """A checkbox of the field for each of them, as far as its filter has it."""
        find = self.finds.get(f"find_{name}", "")
        found = {one.name for one in offered}
        if find:
            found &= set(with_words(hosts(), find, ["name"]).values_list("name", flat=True))
        shown = [
            (one.name, self._idle(one) if says_idle else "")
            for one in offered
            if one.name in found or one.name in ticked
        ]
        return FilteredChoice(host_boxes(name, shown, ticked), find, len(found), len(offered))

    @property
    def are_several(self) -> bool:
        """Whether there is anything to choose."""
        return len(self.known) > 1

    @property
    def names(self) -> list[str]:
        return [host.name for host in self.chosen]

    @cached_property
    def inventories(self) -> list[HostInventory]:
        """What the chosen hosts have, without those of which it is not known."""
        return list(filter(None, map(known_inventory, self.chosen)))

    @property
    def logical_cpus(self) -> int:
        """Those of the host with the fewest; 1 until anything is known."""
        return min((one.logical_cpus for one in self.inventories), default=1)

    @property
    def servers(self) -> list[tuple[Path, str]]:
        """Programs that a study may name, with their versions: those of the first host."""
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
        """By host the directory that a study measures which names none."""
        return [(one.name, one.default_directory) for one in self.inventories]

    @property
    def missing(self) -> list[str]:
        """In sentences what these hosts cannot do, without full stops."""
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
            if problem := self._throttle_problem(one):
                found.append(f"{one.name} cannot emulate slower devices: {problem}")
        return found

    @property
    def notes(self) -> list[str]:
        """Why a study would have to wait, in sentences without full stops."""
        return [
            drain_text(host) if host.is_drained else silence_text(host)
            for host in self.chosen
            if self._idle(host)
        ]

    def _idle(self, host: Host) -> str:
        """Why it begins nothing, in a word."""
        return "drained" if host.is_drained else "silent" if host.pk in self.silent else ""

    @staticmethod
    def _throttle_problem(inventory: HostInventory) -> str:
        problems = [one.throttle_problem for one in inventory.directories]
        return problems[0] if problems and all(problems) else ""


def chosen_hosts(asked: QueryDict) -> ChosenHosts:
    """The hosts that a form names, else that of the device it names, else the usual one.

    Retired ones cannot be chosen.
    """
    known = list(hosts().filter(retired_at=None).only("name", "drained_at"))
    named = set(asked.getlist("host"))
    chosen = [host for host in known if host.name in named]
    ids = [host.pk for host in chosen or _usual(known, asked.get("device", ""))]
    finds = {name: text_asked(asked, name) for name in FINDS}
    silent = silent_hosts().exclude(worker_seen_at=None).values_list("pk", flat=True)
    return ChosenHosts(known, list(hosts().filter(pk__in=ids)), finds, frozenset(silent))


def _usual(known: Sequence[Host], device: str) -> list[Host]:
    if (pk := read_id(device)) is not None:
        of_device = Device.objects.filter(pk=pk).values_list("host", flat=True).first()
        if found := [host for host in known if host.pk == of_device]:
            return found
    try:
        usual = host_for().pk
    except ExpectedError:  # none, or none is more usual than the others
        return list(known[:1])
    return [host for host in known if host.pk == usual]
