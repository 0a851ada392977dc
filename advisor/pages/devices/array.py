"""An array on its device's page: expected figures against those of a probe."""

from __future__ import annotations

from dataclasses import dataclass, field

from advisor.charts.probe import WORDS
from benchmarks.models import Device, JobState, Probe
from benchmarks.probe.arrays import WITH_PARITY, ArrayLoss, array_of, compare
from benchmarks.probe.result import ProbeResult
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.kinds import DeviceKind


@dataclass(frozen=True)
class ArrayView:
    """`lines` are the figures with their names; `reason` says why nothing is compared; `missing`
    are the models without a probe of a single disk; `sources` are the probes of single disks, by
    model.
    """

    identity: DeviceIdentity
    level: str
    disks: int
    lines: list[tuple[str, ArrayLoss]] = field(default_factory=list)
    sources: list[tuple[str, Probe]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    reason: str = ""
    has_parity: bool = False
    not_direct: str = ""


def array_view(device: Device, found: ProbeResult | None) -> ArrayView | None:
    """Return the comparison with a single disk; None for a device that is no array."""
    identity = found.device if found else device.found
    if identity is None or not identity.raid_level:
        return None
    known = array_of(identity)
    if known is None:
        reason = f"There is no formula for {identity.raid_level} with its disks."
        if identity.raid_level == "hardware":
            reason = "A hardware controller reports neither level nor members of its array."
        return ArrayView(identity, identity.raid_level, identity.raid_disks, reason=reason)
    level, disks = known
    parity = level in WITH_PARITY
    if device.emulation_label:
        reason = "Not compared: the limits of an emulated device are not those of the array."
        return ArrayView(identity, level, disks, reason=reason, has_parity=parity)
    members, sources, missing = _single_disks(device, identity)
    compared = [] if found is None or missing else compare(level, disks, members, found)
    return ArrayView(
        identity,
        level,
        disks,
        lines=[(WORDS[one.pattern], one) for one in compared],
        sources=sources,
        missing=missing,
        reason="" if found else "The array itself has not been probed yet.",
        has_parity=parity,
        not_direct=found.direct_missing if found else "",
    )


def _single_disks(
    device: Device, identity: DeviceIdentity
) -> tuple[list[ProbeResult], list[tuple[str, Probe]], list[str]]:
    """The newest good probe of a single disk of each member's model on the array's host."""
    models = sorted({member.model for member in identity.members})
    if not models:
        return [], [], ["its members, which cannot be detected,"]
    members, sources, missing = [], [], []
    for model in models:
        probe = _probe_of(device, model)
        result = probe.found if probe else None
        if probe is None or result is None:
            missing.append(model or "a member without a model name")
        else:
            members.append(result)
            sources.append((model, probe))
    return members, sources, missing


def _probe_of(device: Device, model: str) -> Probe | None:
    if not model:
        return None
    return (
        Probe.objects.filter(
            device__host=device.host_id,
            device__model=model,
            device__emulation_label="",
            state=JobState.OK,
        )
        .exclude(device__discovered_kind=DeviceKind.RAID)
        .select_related("device")
        .order_by("-pk")
        .first()
    )
