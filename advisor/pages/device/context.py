"""What the device pages show, gathered from the rows; the templates only lay it out."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Max

from benchmarks.inventory.devices import NATIVE
from benchmarks.models import ACTIVE_PROBE_STATES, Device, Probe, ProbeState
from benchmarks.storage.identity import DeviceIdentity
from tuning.models import DurabilityClass, Recommendation, Study, StudyState


@dataclass(frozen=True)
class DeviceLine:
    """A device in the list. `probe` is the newest that ended well, `active` one under way, `ended`
    the newest that ended otherwise, if it is newer than `probe`; `best` comes from the newest
    finished study with an answer, which has `more` answers for other workloads.
    """

    device: Device
    probe: Probe | None
    active: Probe | None
    ended: Probe | None
    best: Recommendation | None
    more: int


@dataclass(frozen=True)
class Layer:
    """One step from the file system down to the disk: what it is, and what is known of it."""

    name: str
    detail: str = ""


def device_lines(devices: Iterable[Device]) -> list[DeviceLine]:
    """The devices with what is known of each, in four queries for all of them."""
    devices = list(devices)
    good = _newest_probes(devices, ProbeState.OK)
    ended = _newest_probes(devices, ProbeState.FAILED, ProbeState.CANCELLED, ProbeState.LOST)
    active = _newest_probes(devices, *ACTIVE_PROBE_STATES)
    found = _newest_answers(devices)
    lines = []
    for device in devices:
        probe, other = good.get(device.pk), ended.get(device.pk)
        if probe and other and other.pk < probe.pk:
            other = None
        answers = found.get(device.pk, [])
        best = answers[0] if answers else None
        lines.append(
            DeviceLine(device, probe, active.get(device.pk), other, best, max(0, len(answers) - 1))
        )
    return lines


def answers_for(device: Device) -> list[Recommendation]:
    """For each workload and durability class the answer of the newest finished study."""
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


def studies_on(device: Device) -> list[Study]:
    """All studies that measure on the device, newest first."""
    return list(device.studies.select_related("server").order_by("-id"))


def layers_of(identity: DeviceIdentity) -> list[Layer]:
    """From the file system down to what takes the writes."""
    layers = [Layer(identity.file_system or "file system unknown")]
    layers += [Layer(name) for name in identity.layers]
    if identity.block_device:
        layers.append(Layer(identity.block_device, identity.model or "model unknown"))
    elif identity.model:
        layers.append(Layer(identity.model))
    return layers


def advise_command(device: Device) -> str:
    """The command that begins a study on the device, for a shell."""
    words = ["--device", device.data_dir]
    if device.log_dir:
        words += ["--log-dir", device.log_dir]
    if profile := device.profile:
        # A memory limit alone needs no profile.
        if profile.name != NATIVE:
            words += ["--emulate", profile.name]
        if profile.memory_bytes is not None:
            words += ["--memory-limit", f"{profile.memory_bytes / 1e6:.0f}"]
    return f".venv/bin/python manage.py advise {shlex.join(words)}"


def _newest_probes(devices: list[Device], *states: ProbeState) -> dict[int, Probe]:
    """By device; without the result, some 20 KB each."""
    newest = (
        Probe.objects.filter(device__in=devices, state__in=states)
        .order_by()
        .values("device")
        .annotate(newest=Max("pk"))
        .values("newest")
    )
    found = Probe.objects.filter(pk__in=newest).defer("result")
    return {probe.device_id: probe for probe in found}


def _newest_answers(devices: list[Device]) -> dict[int, list[Recommendation]]:
    """By device those of D0 of its newest finished study, fewest connections first."""
    found: dict[int, list[Recommendation]] = {}
    answers = (
        Recommendation.objects.filter(
            device__in=devices,
            study__state=StudyState.FINISHED,
            durability=DurabilityClass.D0,
        )
        .select_related("candidate", "study", "workload")
        .order_by("-study_id", "workload__connections")
    )
    for answer in answers:
        of_device = found.setdefault(answer.device_id, [])
        if not of_device or of_device[0].study_id == answer.study_id:
            of_device.append(answer)
    return found
