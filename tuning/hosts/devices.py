"""What is known about each device: its newest probes and the best config so far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Max, QuerySet

from benchmarks.models import ACTIVE_JOB_STATES, Device, JobState, Probe
from tuning.models import DurabilityClass, Recommendation, StudyState

# What is said of an answer; of all columns it would take twice as long.
_SAID = (
    *("device", "durability", "kind", "confirmation", "ratio_to_baseline", "low", "high"),
    *("objective", "objective_ratio", "objective_low", "objective_high", "created_at"),
    *("candidate__name", "candidate__is_baseline", "study__name", "study__confirms"),
    "study__host__name",
    *("workload__warehouses", "workload__connections"),
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
    """What is known about each of the devices, in four queries for all of them."""
    devices = list(devices)
    probes = _newest_probes(devices)
    good = _newest_in(probes, JobState.OK)
    ended = _newest_in(probes, JobState.FAILED, JobState.CANCELLED, JobState.LOST)
    active = _newest_in(probes, *ACTIVE_JOB_STATES)
    there = answers_at_d0().filter(device__in=devices).order_by()
    found = newest_answers(dict(there.values_list("device").annotate(Max("study_id"))))
    known = []
    for device in devices:
        probe, other = good.get(device.pk), ended.get(device.pk)
        if probe and other and other.pk < probe.pk:
            other = None
        answers = found.get(device.pk, [])
        best = answers[0] if answers else None
        more = max(0, len(answers) - 1)
        known.append(KnownDevice(device, probe, active.get(device.pk), other, best, more))
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
            one.workload.warehouses,
            one.workload.connections,
            one.workload_id,
        ),
    )


def _newest_probes(devices: list[Device]) -> list[Probe]:
    """Those of each device in each state, oldest first; without the result, some 20 KB each."""
    newest = (
        Probe.objects.filter(device__in=devices)
        .order_by()
        .values("device", "state")
        .annotate(newest=Max("pk"))
        .values("newest")
    )
    found = list(Probe.objects.filter(pk__in=newest).defer("result").order_by("pk"))
    by_id = {device.pk: device for device in devices}
    for probe in found:
        probe.device = by_id[probe.device_id]
    return found


def _newest_in(probes: Iterable[Probe], *states: JobState) -> dict[int, Probe]:
    """By device the last of those in one of these states."""
    return {probe.device_id: probe for probe in probes if probe.state in states}


def answers_at_d0() -> QuerySet[Recommendation]:
    """Those of finished studies, for all devices."""
    return Recommendation.objects.filter(
        study__state=StudyState.FINISHED, durability=DurabilityClass.D0
    )


def newest_answers(newest: Mapping[int, int]) -> dict[int, list[Recommendation]]:
    """By device the D0 recommendations of its newest finished study, fewest connections first.

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
