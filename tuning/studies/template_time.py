"""How long a study of a template takes, before there is one."""

from __future__ import annotations

from math import ceil

from tuning.requests.sizes import Sizes
from tuning.statistics.confirmation import MIN_PAIRS
from tuning.studies.forecast import ASSUMED_OVERHEAD_S
from tuning.study_templates.loader import StudyTemplate


def template_seconds(template: StudyTemplate, cpus: int) -> float:
    """Seconds of all blocks on one device of a host with that many CPUs.

    Without configs of the user, with the dataset loaded and without the confirmation of a winner,
    which only a search includes.
    """
    if template.searches and template.budget_minutes is not None:
        return template.budget_minutes * 60.0
    # The baseline runs twice in each block.
    candidates = len(template.candidates) + template.copies_of_baseline + 1
    runs = len(template.connections_on(cpus)) * template.blocks * candidates
    return runs * (template.warmup_s + template.measure_s + ASSUMED_OVERHEAD_S)


def template_minutes(
    template: StudyTemplate, sizes: Sizes, cpus: int, *, configs: int, devices: int
) -> int | None:
    """The minutes after which a study of a template with an end is over; None without one.

    More in proportion where more is requested than the template has: `configs`, the baseline
    included, are measured on so many devices. Larger data take longer to copy for each run.
    """
    if template.minutes is None:
        return None
    usual = _planned_s(template, len(template.candidates), len(template.connections_on(cpus)))
    asked = _planned_s(sizes, configs, devices * len(sizes.connections))
    larger = max(sizes.warehouses / template.warehouses, 1.0)
    return ceil(template.minutes * max(asked / usual, 1.0) * larger)


def _planned_s(sizes: Sizes | StudyTemplate, configs: int, places: int) -> float:
    """Seconds of all blocks and pairs; the baseline runs twice in each block."""
    runs = places * (sizes.blocks * (configs + 1) + 2 * MIN_PAIRS)
    return runs * (sizes.warmup_s + sizes.measure_s + ASSUMED_OVERHEAD_S)
