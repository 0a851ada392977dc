"""Devices, probes and emulation profiles as JSON.

1 MB is 10^6 bytes, times of a probe are in microseconds. What was not measured is null.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from advisor.api.times import time_text
from advisor.pages.device.context import DeviceLine, answers_for, device_lines
from benchmarks.emulation.shipped import ShippedProfile, shipped_profiles
from benchmarks.inventory.devices import NATIVE
from benchmarks.models import Device, Probe
from tuning.models import Recommendation


def emulation_facts(device: Device) -> dict[str, Any]:
    """Whether what was measured on the device is that of limits, and of which."""
    return {"emulated": bool(device.emulation_label), "emulation": device.emulation_label}


def device_reference(device: Device) -> dict[str, Any]:
    """What tells a device from every other, also from those on the same directory."""
    return {
        "id": device.pk,
        "kind": device.kind,
        "data_dir": device.data_dir,
        "name": str(device),
        "log_dir": device.log_dir,
        **emulation_facts(device),
    }


def named_device(device: Device) -> dict[str, Any]:
    """The same for rows of something else, beside their `device` and `device_id`."""
    return {
        "device_name": str(device),
        "device_kind": device.kind,
        **emulation_facts(device),
    }


def device_summaries(devices: Iterable[Device]) -> list[dict[str, Any]]:
    """The devices with their newest probes; the queries are as many for all as for one."""
    return [_summary(line) for line in device_lines(devices)]


def device_document(device: Device) -> dict[str, Any]:
    """The summary, what was found behind the directories, and what was best on it so far."""
    [summary] = device_summaries([device])
    return {
        **summary,
        "identity": device.identity or None,
        "log_identity": device.log_identity or None,
        "emulation_profile": device.emulation,
        "recommendations": [_answer(answer) for answer in answers_for(device)],
    }


def _summary(line: DeviceLine) -> dict[str, Any]:
    device = line.device
    return {
        **device_reference(device),
        "host": device.host.name,
        "discovered_kind": device.discovered_kind,
        "kind_correction": device.kind_correction or None,
        "model": device.model,
        "block_device": device.block_device,
        "log_block_device": device.log_block_device,
        "file_system": device.file_system,
        "scheduler": device.scheduler,
        "retired_at": time_text(device.retired_at),
        "last_probe": line.probe and probe_summary(line.probe, device),
        "active_probe": line.active and probe_summary(line.active, device),
    }


def _answer(found: Recommendation) -> dict[str, Any]:
    return {
        "study_id": found.study_id,
        "config": found.candidate.name,
        "is_baseline": found.candidate.is_baseline,
        "warehouses": found.workload.warehouses,
        "connections": found.workload.connections,
        "durability": found.durability,
        "kind": found.kind,
        "ratio_to_baseline": found.ratio_to_baseline,
        "interval_low": found.low,
        "interval_high": found.high,
        "confirmation": found.confirmation,
        "verdict": found.verdict,
    }


def probe_summary(probe: Probe, device: Device) -> dict[str, Any]:
    """How far a probe is and its main figures; does not load its result."""
    return {
        "id": probe.pk,
        "device_id": probe.device_id,
        **named_device(device),
        "state": probe.state,
        "reason_code": probe.reason_code,
        "reason": probe.reason,
        "seconds": probe.seconds,
        "progress": {"fraction": round(probe.fraction, 4), "step": probe.step},
        "queued_at": time_text(probe.queued_at),
        "started_at": time_text(probe.started_at),
        "finished_at": time_text(probe.finished_at),
        "summary": {
            "random_read_iops": probe.random_read_iops,
            "random_write_iops": probe.random_write_iops,
            "read_mb_s": probe.read_mb_s,
            "write_mb_s": probe.write_mb_s,
            "commit_p50_us": probe.commit_p50_us,
            "commit_p99_us": probe.commit_p99_us,
        },
        "innodb_io_capacity": _io_capacity(probe),
    }


def probe_document(probe: Probe) -> dict[str, Any]:
    """The summary and all that was measured."""
    return {**probe_summary(probe, probe.device), "result": probe.result}


def profile_documents() -> list[dict[str, Any]]:
    """What `emulate` may name, with the limits as rated; native is without."""
    native = {
        "name": NATIVE,
        "title": "The device as it is",
        "kind": None,
        "scaled": False,
        "read_iops": None,
        "write_iops": None,
        "read_mb_s": None,
        "write_mb_s": None,
        "source": "",
    }
    return [native, *map(_profile, shipped_profiles().values())]


def _profile(shipped: ShippedProfile) -> dict[str, Any]:
    return {
        "name": shipped.name,
        "title": shipped.title,
        "kind": shipped.kind,
        "scaled": shipped.scaled,
        "read_iops": shipped.read_iops,
        "write_iops": shipped.write_iops,
        "read_mb_s": shipped.read_mb_s,
        "write_mb_s": shipped.write_mb_s,
        "source": shipped.source,
    }


def _io_capacity(probe: Probe) -> dict[str, int] | None:
    low, high = probe.io_capacity_low, probe.io_capacity_high
    return None if low is None or high is None else {"low": low, "high": high}
