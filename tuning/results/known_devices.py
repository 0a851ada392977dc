"""What is known about each device: its newest probes and the best config so far."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Max

from benchmarks.models import ACTIVE_JOB_STATES, Device, JobState, Probe
from tuning.models import DurabilityClass, Recommendation, StudyState


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
    """What is known about each of the devices, in two queries for all of them."""
    devices = list(devices)
    probes = _newest_probes(devices)
    good = _newest_in(probes, JobState.OK)
    ended = _newest_in(probes, JobState.FAILED, JobState.CANCELLED, JobState.LOST)
    active = _newest_in(probes, *ACTIVE_JOB_STATES)
    found = _newest_answers(devices)
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


def _newest_answers(devices: list[Device]) -> dict[int, list[Recommendation]]:
    """By device the D0 recommendations of its newest finished study, fewest connections first."""
    found: dict[int, list[Recommendation]] = {}
    safe = Recommendation.objects.filter(
        device__in=devices, study__state=StudyState.FINISHED, durability=DurabilityClass.D0
    )
    # Of years of studies only those that are the newest of some device.
    newest = safe.order_by().values("device").annotate(newest=Max("study_id")).values("newest")
    answers = (
        safe.filter(study_id__in=newest)
        .select_related("candidate", "study", "workload")
        .order_by("-study_id", "workload__connections")
    )
    for answer in answers:
        of_device = found.setdefault(answer.device_id, [])
        if not of_device or of_device[0].study_id == answer.study_id:
            of_device.append(answer)
    return found
