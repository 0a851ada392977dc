"""The preview of a study: runs, time and disk space that it would take. Nothing is stored.

The files of a request are counted here; they are checked when the study is created.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

from benchmarks.datasets.tpcc import estimated_bytes
from tuning.catalogue.knob import Durability
from tuning.creation.device_facts import Disk
from tuning.creation.plan import Plan
from tuning.errors import BadRequest
from tuning.requests.load import Sizes
from tuning.statistics.confirmation import MIN_PAIRS, most_pairs
from tuning.strategy.ablation.ablate import MAX_ABLATION_RUNS
from tuning.studies.budget import expected_run_s
from tuning.studies.crash_tests import crash_test_s
from tuning.study_templates.loader import StudyTemplate


@dataclass(frozen=True)
class Preview:
    """The runs, time and disk space of a study that is not created yet.

    candidates: those of the template and the given files, the baseline included.
    runs: the most that it can take; None where the time is fixed and not the number.
    seconds: the time of all runs, or the budget, without loading.
    from_profile: what was taken from the profile of the real server, in sentences.
    crash_tests_s: the time of the crash tests after the runs; 0 without any.
    """

    host: str
    candidates: int
    searches: bool
    devices: int
    connections: tuple[int, ...]
    runs: int | None
    seconds: float
    crash_tests_s: float
    disks: tuple[Disk, ...]
    from_profile: tuple[str, ...] = ()

    @property
    def rankings(self) -> int:
        """One for each device and number of connections."""
        return self.devices * len(self.connections)


def preview_of(plan: Plan) -> Preview:
    """Return what the study of the plan would take."""
    template, sizes, request = plan.template, plan.sizes, plan.request
    files = len(request.configs) + (plan.real.candidates if plan.real else 0)
    candidates = len(template.candidates) + template.copies_of_baseline + files
    runs = None if request.budget_minutes else _most_runs(plan, candidates)
    return Preview(
        host=plan.host.name,
        candidates=candidates,
        searches=request.search is not None,
        devices=len(plan.devices),
        connections=sizes.connections,
        runs=runs,
        seconds=(request.budget_minutes or 0) * 60.0 + (runs or 0) * expected_run_s(sizes),
        # The baseline and a winner of each ranking.
        crash_tests_s=bool(request.recovery) * 2 * plan.rankings * crash_test_s(sizes),
        disks=plan.free_space.disks,
        from_profile=tuple(plan.real.said) if plan.real else (),
    )


def _most_runs(plan: Plan, candidates: int) -> int:
    """Return the most runs in blocks, to confirm winners and to test their lines."""
    sizes, request = plan.sizes, plan.request
    # The baseline runs twice in each block; each durability class may have a winner.
    runs = plan.rankings * sizes.blocks * (candidates + 1)
    winners = plan.rankings * (list(Durability).index(plan.request.durability) + 1)
    if request.confirms:
        runs += winners * 2 * most_pairs(sizes.blocks, candidates - 1)
    if not request.ablates:
        return runs
    ablation, end = winners * MAX_ABLATION_RUNS, end_minutes(plan, candidates)
    if end is not None:  # only what follows the pairs is kept short
        ablation = min(ablation, max(floor(end * 60 / expected_run_s(sizes)) - runs, 0))
    return runs + ablation


def check_minutes(minutes: int | None, needed_s: float, what: str) -> None:
    """Raise BadRequest for a budget that is too short for `what`."""
    if minutes is not None and minutes * 60 < needed_s:
        raise BadRequest(
            f"budget_minutes {minutes} is too little for {what}: at least {ceil(needed_s / 60)} "
            "minutes are needed",
            field="budget_minutes",
        )


def template_seconds(template: StudyTemplate, cpus: int) -> float:
    """Return the seconds of all blocks on one device of a host with that many CPUs.

    Configs of the user, loading of the dataset and the confirmation of a winner do not count; only
    the budget of a search includes them.
    """
    if template.searches and template.budget_minutes is not None:
        return template.budget_minutes * 60.0
    # The baseline runs twice in each block.
    candidates = len(template.candidates) + template.copies_of_baseline + 1
    runs = len(template.connections_on(cpus)) * template.blocks * candidates
    return runs * expected_run_s(template)


def end_minutes(plan: Plan, configs: int) -> int | None:
    """Return the minutes after which a study of a template with an end is over; else None.

    The template's minutes grow with the runs of `configs`, the baseline included, and with the
    data, which take longer to copy for each run.
    """
    template, sizes = plan.template, plan.sizes
    if template.minutes is None:
        return None
    cpus = plan.inventory.logical_cpus
    usual = _planned_s(template, len(template.candidates), len(template.connections_on(cpus)))
    asked = _planned_s(sizes, configs, plan.rankings)
    larger = max(sizes.source.data_bytes / estimated_bytes(template.warehouses), 1.0)
    return ceil(template.minutes * max(asked / usual, 1.0) * larger)


def _planned_s(sizes: Sizes | StudyTemplate, configs: int, rankings: int) -> float:
    """Return the seconds of all blocks and pairs; the baseline runs twice in each block."""
    return rankings * (sizes.blocks * (configs + 1) + 2 * MIN_PAIRS) * expected_run_s(sizes)
