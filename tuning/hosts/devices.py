"""All that is known about each device: its newest probes and the best config so far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Max, Q, QuerySet

from benchmarks.models import ACTIVE_JOB_STATES, Device, JobState, Probe
from tuning.models import DurabilityClass, Recommendation, StudyState

# Only the columns shown: loading all takes twice as long.
_SAID = (
    *("device", "durability", "kind", "confirmation", "ratio_to_baseline", "low", "high"),
    "confidence",
    *("objective", "objective_ratio", "objective_low", "objective_high", "created_at"),
    *("candidate__name", "candidate__is_baseline", "study__name", "study__confirms"),
    "study__host__name",
    *("workload__name", "workload__warehouses", "workload__tables", "workload__table_size"),
    "workload__connections",
)


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
    there = answers_at_d0().filter(device__in=devices).order_by()
    answers = newest_answers(dict(there.values_list("device").annotate(Max("study_id"))))
    known = []
    for device in devices:
        probe, active, ended = probes.get(device.pk, (None, None, None))
        if probe and ended and ended.pk < probe.pk:
            ended = None
        found = answers.get(device.pk, [])
        best = found[0] if found else None
        more = max(len(found) - 1, 0)
        known.append(KnownDevice(device, probe, active, ended, best, more))
    return known


def answers_for(device: Device) -> list[Recommendation]:
    """For each workload and durability class the recommendation of the newest finished study."""
    newest: dict[tuple[int, str], Recommendation] = {}
    answers = (
        Recommendation.objects.filter(device=device, study__state=StudyState.FINISHED)
        .select_related("candidate", "study__server", "workload")
        .order_by("-study_id")
    )
    for answer in answers:
        newest.setdefault((answer.workload_id, answer.durability), answer)
    return sorted(
        newest.values(),
        key=lambda one: (
            one.durability,
            one.workload.name,
            one.workload.data_bytes,
            one.workload.connections,
            one.workload_id,
        ),
    )


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
    )
    shown = answers.select_related("candidate", "study__host", "workload").only(*_SAID)
    for answer in shown.order_by("workload__connections"):
        if newest.get(answer.device_id) == answer.study_id:
            found[answer.device_id].append(answer)
    return found
