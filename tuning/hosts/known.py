"""All that is known about each host: its job, its queue, its problems."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery

from benchmarks.inventory.host import HostInventory
from benchmarks.inventory.stored import known_inventory
from benchmarks.jobs.presence import seen, silent_hosts
from benchmarks.models import (
    ACTIVE_JOB_STATES,
    Device,
    Host,
    Inspection,
    JobState,
    Probe,
)
from tuning.hosts.devices import KnownDevice, known_devices
from tuning.models import ACTIVE_STUDY_STATES, Study, StudyState
from tuning.studies.current_jobs import CurrentJob, HostState, current_jobs


@dataclass(frozen=True)
class HostProblem:
    """Something that is wrong: a stable code and a sentence without a full stop."""

    code: str
    text: str
    study: int | None = None


@dataclass(frozen=True)
class KnownHost:
    """A host and what is known about it.

    `studies` are those that have begun or wait, in the order in which they get their turn, without
    the one of `job`; `paused` those that wait to be resumed; `probes` those that wait;
    `inspections` counts those that are not finished; `devices` those in use; `failed` the study
    that ended last, if it failed; `inventory` what the host has, None until it was inspected.
    """

    host: Host
    is_silent: bool
    job: CurrentJob | None
    studies: list[Study]
    paused: list[Study]
    probes: list[Probe]
    inspections: int
    devices: list[KnownDevice]
    failed: Study | None
    inventory: HostInventory | None

    @property
    def waits(self) -> bool:
        """Whether anything waits for the host."""
        return bool(self.studies or self.probes)

    @property
    def state(self) -> HostState:
        if self.host.is_retired:
            return HostState.RETIRED
        if self.is_silent:
            return HostState.SILENT
        if self.host.is_drained:
            return HostState.DRAINED if self.job is None else HostState.DRAINING
        if self.job is not None:
            return self.job.state
        return HostState.WAITING if self.waits else HostState.IDLE

    @property
    def only_drives(self) -> bool:
        """Whether it can drive other hosts' servers, and has none of its own to measure."""
        has = self.inventory
        return has is not None and not has.servers and bool(has.drivers)

    @property
    def problems(self) -> list[HostProblem]:
        """The problems that somebody should look at."""
        if self.host.is_retired:
            return []
        found = _problems(self.host, self.inventory, is_silent=self.is_silent)
        if study := self.failed:
            why = study.reason or study.reason_code
            found.append(HostProblem("failed_study", f"{study.name} failed: {why}", study.pk))
        return found


def host_problems(most: int) -> tuple[list[tuple[Host, HostProblem]], int]:
    """Return the problems of hosts in use, by name, and how many hosts with problems are left out.

    At most `most` hosts are named, and only their inventories are read. Failed studies do not
    count.
    """
    troubled = list(_troubled())
    shown = list(hosts().filter(pk__in=troubled[:most]))
    silent = _silent(shown)
    problems = [
        (host, problem)
        for host in shown
        for problem in _problems(host, known_inventory(host), is_silent=host.pk in silent)
    ]
    return problems, len(troubled) - len(troubled[:most])


def _troubled() -> QuerySet[Host, int]:
    fine = Host.objects.filter(
        seen(),
        idle_reason="",
        inventory__drivers__0__isnull=False,
        inventory__refused_servers=[],
        inventory__refused_directories=[],
    )
    troubled = hosts().filter(retired_at=None).exclude(pk__in=fine.values("pk"))
    return troubled.values_list("pk", flat=True)


def _problems(
    host: Host, inventory: HostInventory | None, *, is_silent: bool
) -> list[HostProblem]:
    found = []
    if host.idle_reason and not is_silent:
        found.append(HostProblem("idle_worker", f"takes no work: {host.idle_reason}"))
    if is_silent and host.worker_seen_at is None:
        found.append(HostProblem("no_worker", "its worker was never seen"))
    elif is_silent:
        found.append(HostProblem("silent_worker", "its worker is silent"))
    elif inventory is None:
        found.append(HostProblem("not_inspected", "its worker has not said what it has"))
    return found if inventory is None else found + _lacks(inventory)


def _lacks(inventory: HostInventory) -> list[HostProblem]:
    """Return what keeps the host from measuring, and what it refused."""
    found = [HostProblem("refused_server", one.reason) for one in inventory.refused_servers]
    found += [
        HostProblem("refused_directory", one.reason) for one in inventory.refused_directories
    ]
    if not inventory.drivers:
        # A host with a driver and no server is a load host.
        if not inventory.servers:
            found.append(HostProblem("no_server", "it has no server program that can be started"))
        found.append(HostProblem("no_driver", "it has no workload driver"))
    return found


def hosts() -> QuerySet[Host]:
    """All hosts, by name."""
    return Host.objects.order_by("name")


def known_hosts(rows: Iterable[Host]) -> list[KnownHost]:
    """Return what is known about each of these hosts, in as many queries for many as for one."""
    rows = list(rows)
    keys = [host.pk for host in rows]
    jobs, silent, failed = current_jobs(keys), _silent(rows), _failed(keys)
    active = _briefly(keys).filter(state__in=ACTIVE_STUDY_STATES).order_by()
    studies = _by_host(sorted(active, key=attrgetter("turn")), "host_id")
    queued = Probe.objects.filter(device__host__in=keys, state=JobState.QUEUED).order_by("pk")
    probes = _by_host(queued.select_related("device").defer("result"), "device.host_id")
    used = Device.objects.filter(host__in=keys, retired_at=None).order_by("data_dir", "pk")
    devices = _by_host(known_devices(used), "device.host_id")
    looking = Inspection.objects.filter(host__in=keys, state__in=ACTIVE_JOB_STATES)
    inspections = dict(looking.order_by().values_list("host").annotate(Count("pk")))
    known = []
    for host in rows:
        job, there = jobs.get(host.pk), studies[host.pk]
        waiting = [one for one in there if not (one.paused_at or (job and job.study == one.pk))]
        found = KnownHost(
            host=host,
            is_silent=host.pk in silent,
            job=job,
            studies=waiting,
            paused=sorted((one for one in there if one.paused_at), key=attrgetter("pk")),
            probes=probes[host.pk],
            inspections=inspections.get(host.pk, 0),
            devices=devices[host.pk],
            failed=failed.get(host.pk),
            inventory=known_inventory(host),
        )
        known.append(found)
    return known


def _by_host(rows: Iterable[Any], host: str) -> Mapping[int, list[Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    for row in rows:
        found[attrgetter(host)(row)].append(row)
    return found


def _silent(rows: list[Host]) -> set[int]:
    among = silent_hosts().filter(pk__in=[host.pk for host in rows])
    return set(among.values_list("pk", flat=True))


def _briefly(hosts: list[int]) -> QuerySet[Study]:
    return Study.objects.filter(host__in=hosts).only(
        *("host", "name", "state", "created_at", "started_at", "resumed_at", "paused_at"),
        *("stop_request", "finished_at", "concluded_at", "extended_by", "reason", "reason_code"),
    )


def _failed(hosts: list[int]) -> dict[int, Study]:
    """Return by host the study that ended last, if it failed."""
    ended = Study.objects.filter(host=OuterRef("pk"), finished_at__isnull=False)
    last = Subquery(ended.order_by("-finished_at", "-pk").values("pk")[:1])
    newest = Host.objects.filter(pk__in=hosts).annotate(last=last)
    failed = _briefly(hosts).filter(pk__in=newest.values("last"), state=StudyState.FAILED)
    return {study.host_id: study for study in failed}
