"""The study templates as JSON: what each asks, on what scale, and what its source found."""

from __future__ import annotations

from typing import Any

from tuning.studies.forecast import template_seconds
from tuning.studies.host_resources import logical_cpus
from tuning.study_templates import Claim, StudyTemplate


def template_document(template: StudyTemplate) -> dict[str, Any]:
    """`connections` and `minutes` are those on this host; minutes of all blocks on one device."""
    cpus = logical_cpus()
    return {
        "name": template.name,
        "title": template.title,
        "repeats": template.repeats,
        "candidates": list(template.candidates),
        "baseline": template.baseline,
        "warehouses": template.warehouses,
        "connections": list(template.connections_on(cpus)),
        "warmup_s": template.warmup_s,
        "measure_s": template.measure_s,
        "blocks": template.blocks,
        "minutes": round(template_seconds(template, cpus) / 60, 1),
        "races": template.races,
        "confirms": template.confirms,
        "durability": template.durability.value,
        "needs_log_device": template.needs_log_device,
        "claims": [claim_document(claim) for claim in template.claims],
    }


def claim_document(claim: Claim) -> dict[str, Any]:
    """What a source found, as a range of the ratio that a study measures."""
    low, high = claim.statement.claimed
    return {
        "claim": claim.says,
        "source": claim.source,
        "published": claim.published,
        "device_kinds": list(claim.devices),
        "metric": claim.statement.metric.value,
        "claimed_low": low,
        "claimed_high": high,
    }
