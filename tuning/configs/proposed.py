"""A config that was made while its study ran, as a candidate: the same gate as for a preset."""

from __future__ import annotations

from collections.abc import Mapping

from tuning.catalogue.knob import Durability
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import PlannedCandidate
from tuning.configs.config_check.check import check_knobs
from tuning.configs.config_check.stages import static_stages
from tuning.configs.effective.host import UNKNOWN, HostFacts


def plan_proposed(
    name: str,
    knobs: Mapping[str, str],
    target: ServerTraits,
    *,
    source: str,
    durability: Durability = Durability.D0,
    host: HostFacts = UNKNOWN,
) -> PlannedCandidate:
    """The candidate with what values and rules say of it; with `left_out` where they refuse it.

    Limits that are too low for the workload are raised, as with presets. Never raises: a search
    learns from what is refused; such a candidate keeps the requested knobs.
    """
    report = check_knobs(
        knobs,
        target,
        source=name,
        durability=durability,
        host=host,
        raises_set=True,
    )
    return PlannedCandidate(
        name=name,
        knobs=dict(knobs) if report.problems else report.knobs,
        source=source,
        notes=report.notes,
        checks=static_stages(report),
        left_out="; ".join(
            f"{one.name}: {one.reason}" if one.name else one.reason for one in report.problems
        ),
    )
