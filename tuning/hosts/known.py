"""All that is known about each host and device: jobs, queues, problems, probes, best configs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from django.db.models import Max, OuterRef, Q, QuerySet, Subquery

from benchmarks.inventory.host import HostInventory
from benchmarks.inventory.stored import known_inventory
from benchmarks.jobs.presence import silent_hosts
from benchmarks.models import ACTIVE_JOB_STATES, Device, Host, Inspection, JobState, Probe
from tuning.models import (
    ACTIVE_STUDY_STATES,
    DurabilityClass,
    Recommendation,
    Study,
    StudyState,
)
from tuning.studies.current_jobs import CurrentJob, HostState, current_jobs


@dataclass(frozen=True)
class KnownDevice:
    """A device and what is known about it.

    `probe` is the newest successful one, `active` one that is queued or running, `ended` the
    newest unsuccessful one if it is newer than `probe`; `best` is a recommendation of the newest
    finished study, which has `more` of them for other workloads.
    """

    device: Device
    probe: Probe | None
    active: Probe | None
    ended: Probe | None
    best: Recommendation | None
    more: int

    @property
    def answers(self) -> list[Recommendation]:
        """The recommendations for it so far; queries the database each time."""
        return answers_for(self.device)


def known_devices(devices: Iterable[Device]) -> list[KnownDevice]:
    """Return what is known about each of the devices, in four queries for all of them."""
    devices = list(devices)
    probes = _newest_probes(devices)
    of_devices = answers_at_d0().filter(device__in=devices).order_by().values_list("device")
    answers = newest_answers(dict(of_devices.annotate(Max("study_id"))))
    known = []
    for device in devices:
        probe, active, ended = probes.get(device.pk, (None, None, None))
        if probe and ended and ended.pk < probe.pk:
            ended = None
        found = answers.get(device.pk, [])
        best = found[0] if found else None
        known.append(KnownDevice(device, probe, active, ended, best, len(found[1:])))
    return known


def answers_for(device: Device) -> list[Recommendation]:
    """For each workload and durability class the recommendation of the newest finished study."""
    newest: dict[tuple[int, str], Recommendation] = {}
    answers = Recommendation.objects.filter(device=device, study__state=StudyState.FINISHED)
    shown = answers.select_related("candidate", "study__server", "workload")
    for answer in shown.order_by("-study_id"):
        newest.setdefault((answer.workload_id, answer.durability), answer)

    def place(one: Recommendation) -> tuple[Any, ...]:
        load = one.workload
        return one.durability, load.name, load.data_bytes, load.connections, load.pk

    return sorted(newest.values(), key=place)


def _newest_probes(devices: list[Device]) -> dict[int, tuple[Probe | None, ...]]:
    """Return by device its newest probe with a result, on its way, and without a result."""
    active = Q(state__in=ACTIVE_JOB_STATES)
    good = Q(state=JobState.OK)
    of_device = Probe.objects.filter(device__in=devices).order_by().values_list("device")
    rows = of_device.annotate(
        good=Max("pk", filter=good),
        active=Max("pk", filter=active),
        ended=Max("pk", filter=~good & ~active),
    )
    newest = {device: keys for device, *keys in rows}
    keys = {key for there in newest.values() for key in there if key}
    probes = Probe.objects.defer("result").in_bulk(keys)
    by_id = {device.pk: device for device in devices}
    for probe in probes.values():
        probe.device = by_id[probe.device_id]
    return {device: tuple(map(probes.get, there)) for device, there in newest.items()}


def answers_at_d0() -> QuerySet[Recommendation]:
    """Return the D0 recommendations of finished studies that are not archived, for all devices."""
    return Recommendation.objects.filter(
        study__state=StudyState.FINISHED,
        study__archived_at=None,
        durability=DurabilityClass.D0,
    )


def newest_answers(newest: Mapping[int, int]) -> dict[int, list[Recommendation]]:
    """Return by device the D0 answers of its newest finished study, fewest connections first.

    `newest`: by device the id of that study. Joined in one query, PostgreSQL would take longer to
    plan it than to read the rows.
    """
    found: dict[int, list[Recommendation]] = defaultdict(list)
    answers = Recommendation.objects.filter(
        study__in=set(newest.values()), durability=DurabilityClass.D0
    ).select_related("candidate", "study__host", "workload")
    for answer in answers.order_by("workload__connections"):
        if newest.get(answer.device_id) == answer.study_id:
            found[answer.device_id].append(answer)
    return found


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
        found = _problems(self.host, is_silent=self.is_silent)
        if study := self.failed:
            why = study.reason or study.reason_code
            found.append(HostProblem("failed_study", f"{study.name} failed: {why}", study.pk))
        return found


def host_problems(most: int) -> tuple[list[tuple[Host, HostProblem]], int]:
    """Return the problems of hosts in use, by name, and how many hosts with problems are left out.

    At most `most` hosts are named. Failed studies do not count.
    """
    rows = list(hosts().filter(retired_at=None))
    silent = _silent(rows)
    found = [(host, _problems(host, is_silent=host.pk in silent)) for host in rows]
    troubled = [(host, problems) for host, problems in found if problems]
    shown = [(host, one) for host, problems in troubled[:most] for one in problems]
    return shown, len(troubled[most:])


def _problems(host: Host, *, is_silent: bool) -> list[HostProblem]:
    """Return what keeps the host from measuring, and what it refused."""
    found, inventory = [], known_inventory(host)
    if is_silent and host.worker_seen_at is None:
        found.append(HostProblem("no_worker", "its worker was never seen"))
    elif is_silent:
        found.append(HostProblem("silent_worker", "its worker is silent"))
    elif host.idle_reason:
        found.append(HostProblem("idle_worker", f"takes no work: {host.idle_reason}"))
    elif inventory is None:
        found.append(HostProblem("not_inspected", "its worker has not said what it has"))
    if inventory is None:
        return found
    refused = {
        "refused_server": inventory.refused_servers,
        "refused_directory": inventory.refused_directories,
    }
    found += [HostProblem(code, one.reason) for code, all_of in refused.items() for one in all_of]
    # A host with a driver and no server is a load host.
    if not inventory.servers and not inventory.drivers:
        found.append(HostProblem("no_server", "it has no server program that can be started"))
    if not inventory.drivers:
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
    active = Study.objects.filter(host__in=keys, state__in=ACTIVE_STUDY_STATES)
    studies = _by_host(sorted(active, key=attrgetter("turn")), "host_id")
    queued = Probe.objects.filter(device__host__in=keys, state=JobState.QUEUED).order_by("pk")
    probes = _by_host(queued.select_related("device").defer("result"), "device.host_id")
    used = Device.objects.filter(host__in=keys, retired_at=None).order_by("data_dir", "pk")
    devices = _by_host(known_devices(used), "device.host_id")
    looking = Inspection.objects.filter(host__in=keys, state__in=ACTIVE_JOB_STATES)
    inspections = Counter(looking.values_list("host", flat=True))
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
            inspections=inspections[host.pk],
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


def _failed(hosts: list[int]) -> dict[int, Study]:
    """Return by host the study that ended last, if it failed."""
    ended = Study.objects.filter(host=OuterRef("pk"), finished_at__isnull=False)
    last = Subquery(ended.order_by("-finished_at", "-pk").values("pk")[:1])
    newest = Host.objects.filter(pk__in=hosts).annotate(last=last).values("last")
    failed = Study.objects.filter(pk__in=newest, state=StudyState.FAILED)
    return {study.host_id: study for study in failed}
