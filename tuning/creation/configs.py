"""The configs of a plan: the candidates of its template, of published rules and of the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from benchmarks.counted import counted
from benchmarks.inventory.device_lookup import shares_disk
from tuning.configs.candidates import PlannedCandidate, plan_candidates, share_applied
from tuning.configs.config_check.rules import too_large_redo
from tuning.creation.plan import Plan
from tuning.creation.real_server import baseline_name, real_candidates
from tuning.creation.scale_model import file_fit, fitted
from tuning.creation.search import (
    PlannedSearch,
    check_search_minutes,
    held_to,
    plan_search,
)
from tuning.errors import BadRequest, InvalidConfig, Problem
from tuning.proposals.rules import plan_proposals
from tuning.strategy.budget import plan as blocks_within
from tuning.studies.budget import ABLATION_SHARE, expected_run_s


@dataclass(frozen=True)
class PlannedConfigs:
    """The candidates in their order, the baseline first, and the search that begins with them."""

    candidates: Sequence[PlannedCandidate]
    search: PlannedSearch | None

    @property
    def measured(self) -> int:
        """The number of candidates that are possible on the host, the baseline included."""
        return sum(not one.left_out for one in self.candidates)


def configs_of(plan: Plan) -> PlannedConfigs:
    """Read, translate and gate every config of the plan, and plan its search.

    A search takes seconds, so that no transaction may be open. Raises InvalidConfig, BadRequest.
    """
    _check_log_device(plan)
    template, request, situation = plan.template, plan.request, plan.situation
    found = plan_candidates(
        template,
        [(config.name, config.data) for config in request.configs],
        situation.target,
        resources=situation.resources,
        durability=request.durability,
        host=situation.host,
        translate_from=request.origin,
        proposals=plan_proposals(template.proposals, plan.measured_situation),
        fit=file_fit(plan.model, situation),
    )
    candidates = [fitted(one, plan.model, situation) for one in with_baseline(plan, found)]
    search = None
    if request.search is not None:
        check_search_minutes(plan, sum(not one.left_out for one in candidates))
        search = plan_search(plan, request.search, candidates[0])
        candidates = [held_to(search, one, situation) for one in candidates]
    configs = PlannedConfigs(candidates, search)
    if search is None:
        _check_candidates(plan, configs)
        _check_budget(plan, configs.measured - 1)
    check_redo(plan, candidates)
    return configs


def with_baseline(plan: Plan, found: Sequence[PlannedCandidate]) -> list[PlannedCandidate]:
    """Return the candidates with those of the profile, the baseline of the request first.

    Raises BadRequest for a baseline that is no config of the user.
    """
    name, rows = baseline_name(plan.request), list(found)
    own = {config.name for config in plan.request.configs}
    if plan.real is not None:
        fit = file_fit(plan.model, plan.situation)
        added = real_candidates(plan.real, plan.situation, plan.left_bytes, fit)
        rows = share_applied([*rows, *added])
        own.add(plan.real.name)
    if not name:
        return rows
    if name not in own:
        raise BadRequest(f"no config of yours is called {name!r}", field="baseline")
    marked = [replace(one, is_baseline=one.name == name) for one in rows]
    return sorted(marked, key=lambda one: not one.is_baseline)


def _check_log_device(plan: Plan) -> None:
    """Raise BadRequest for a template about separate log devices if a device has none."""
    if not plan.template.needs_log_device:
        return
    asks = f"template {plan.template.name!r} needs a directory for redo logs on a separate device"
    for index, device in enumerate(plan.devices):
        field = f"devices[{index}].log_dir"
        if device.log is None:
            raise BadRequest(asks, field=field)
        if shares_disk(device):
            where = f"{device.data.path} and {device.log.path} are on {device.data.block_device}"
            raise BadRequest(f"{asks}: {where}", field=field)


def check_redo(plan: Plan, candidates: Sequence[PlannedCandidate]) -> None:
    """Raise InvalidConfig for redo logs that do not fit on the device beside the data."""
    situation = plan.situation
    problems = [
        Problem(one.name, None, large.name, large.reason)
        for one in candidates
        if not one.left_out
        if (large := too_large_redo(one.knobs, situation.target, situation.host, plan.left_bytes))
    ]
    if problems:
        raise InvalidConfig(problems)


def _check_candidates(plan: Plan, configs: PlannedConfigs) -> None:
    """Raise BadRequest if there is nothing to compare, and say what is missing."""
    if configs.measured > 1:
        return
    name = plan.template.name
    for one in configs.candidates:
        if one.left_out:
            reason = f"{one.name}: {one.left_out}"
            raise BadRequest(
                f"template {name!r} has nothing to compare here: {reason}", field="template"
            )
    raise BadRequest(f"template {name!r} needs a config of yours to compare", field="configs")


def _check_budget(plan: Plan, candidates: int) -> None:
    """Raise BadRequest for a budget with too few blocks to separate a difference from noise.

    Each ranking gets an equal share of the time that ablation leaves.
    """
    minutes = plan.request.budget_minutes
    if minutes is None:
        return
    share = (1 - ABLATION_SHARE if plan.request.ablates else 1.0) / plan.rankings
    fits = blocks_within(minutes * share, candidates, expected_run_s(plan.sizes))
    if not fits.is_enough:
        needed = ceil(fits.needed_s / share / 60)
        raise BadRequest(
            f"budget_minutes {minutes} is enough for {counted(fits.blocks, 'block')}, but a study "
            f"of this size needs {fits.min_blocks}: about {needed} minutes",
            field="budget_minutes",
        )
