"""The configs of a plan: the candidates of its template, of published rules and of the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tuning.configs.candidates import (
    FileFit,
    PlannedCandidate,
    plan_candidates,
    plan_file,
    share_applied,
)
from tuning.configs.line import Action, Note
from tuning.configs.rules import Broken, too_large_redo
from tuning.creation.plan import Plan
from tuning.creation.preview import check_minutes
from tuning.creation.real_server import RealServer, check_own_file
from tuning.creation.search import PlannedSearch, held_to, plan_search
from tuning.errors import BadRequest, InvalidConfig, Problem
from tuning.proposals.rules import plan_proposals
from tuning.scale_model.model import file_fit, fitted
from tuning.server_profile.configs import as_cnf
from tuning.statistics.confirmation import MIN_PAIRS
from tuning.strategy.confirmation import shortest_seconds
from tuning.strategy.racing import FIRST_LOOK
from tuning.studies.budget import ABLATION_SHARE, expected_run_s

# The least that is a search: one round of new configs, and three blocks of a race
# between the baseline, which runs twice, and one config.
_NEW_RUNS = 6
_RACE_RUNS = 9


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
    fit = file_fit(plan.model, situation)
    found = plan_candidates(
        template,
        [(config.name, config.data) for config in request.configs],
        situation,
        translate_from=request.origin,
        proposals=plan_proposals(template.proposals, situation),
        fit=fit,
    )
    if plan.real is not None:
        found = _with_real_server(plan, plan.real, found, fit)
    ordered = _baseline_first(plan, found)
    candidates = [fitted(one, plan.model, situation) for one in ordered]
    search = None
    if request.search is not None:
        _check_minutes(plan, sum(not one.left_out for one in candidates))
        search = plan_search(plan, request.search, candidates[0])
        candidates = [held_to(search, one, situation) for one in candidates]
    configs = PlannedConfigs(candidates, search)
    if search is None:
        _check_candidates(plan, configs)
        _check_minutes(plan, configs.measured)
    check_redo(plan, candidates)
    return configs


def _baseline_first(plan: Plan, found: list[PlannedCandidate]) -> list[PlannedCandidate]:
    """Return the candidates with the baseline of the plan first.

    Raises BadRequest for a baseline that is no config of the user.
    """
    name = plan.baseline
    if not name:
        return found
    if plan.real is None and name not in (config.name for config in plan.request.configs):
        raise BadRequest(f"no config of yours is called {name!r}", field="baseline")
    marked = [replace(one, is_baseline=one.name == name) for one in found]
    return sorted(marked, key=lambda one: not one.is_baseline)


def _with_real_server(
    plan: Plan, real: RealServer, found: Sequence[PlannedCandidate], fit: FileFit | None
) -> list[PlannedCandidate]:
    """Return the candidates with the server's config and the proposals of its profile.

    A proposal that is impossible here has a `left_out`. Raises InvalidConfig for the config.
    """
    situation = plan.situation

    def of_text(name: str, text: str, source: str) -> PlannedCandidate:
        origin, host = real.profile.target, situation.host
        planned = plan_file(
            name, text.encode(), situation.target, host=host, translate_from=origin, fit=fit
        )
        return replace(planned, source=source)

    planned = list(found)
    if real.own is not None:
        check_own_file(next(one for one in found if one.name == real.name), real.profile)
    else:
        source = f"the config that {real.profile.target} runs with"
        planned.append(of_text(real.name, real.cnf, source))
    for proposal in real.proposals:
        source = f"{real.name} with a change: {proposal.why}"
        try:
            one = of_text(proposal.name, real.cnf + as_cnf(proposal.changes), source)
        except InvalidConfig as refused:
            one = PlannedCandidate(proposal.name, {}, proposal.why, left_out=str(refused))
        notes = [Note(name, Action.PROPOSED, proposal.why) for name in proposal.changes]
        one = replace(one, notes=(*notes, *one.notes))
        large = _large_redo(plan, one)
        planned.append(one if large is None else replace(one, knobs={}, left_out=large.reason))
    return share_applied(planned)


def check_redo(plan: Plan, candidates: Sequence[PlannedCandidate]) -> None:
    """Raise InvalidConfig for redo logs that do not fit on the device beside the data."""
    problems = [
        Problem(one.name, None, large.name, large.reason)
        for one in candidates
        if not one.left_out and (large := _large_redo(plan, one))
    ]
    if problems:
        raise InvalidConfig(problems)


def _large_redo(plan: Plan, candidate: PlannedCandidate) -> Broken | None:
    target, host = plan.situation.target, plan.situation.host
    return too_large_redo(candidate.knobs, target, host, plan.free_space.left_bytes)


def _check_log_device(plan: Plan) -> None:
    """Raise BadRequest for a template about separate log devices if a device has none."""
    if not plan.template.needs_log_device:
        return
    asks = f"template {plan.template.name!r} needs a directory for redo logs on a separate device"
    for index, device in enumerate(plan.devices):
        field = f"devices[{index}].log_dir"
        if device.log is None:
            raise BadRequest(asks, field=field)
        if device.shares_disk:
            where = f"{device.data.path} and {device.log.path} are on {device.data.block_device}"
            raise BadRequest(f"{asks}: {where}", field=field)


def _check_candidates(plan: Plan, configs: PlannedConfigs) -> None:
    """Raise BadRequest if there is nothing to compare, and say what is missing."""
    if configs.measured > 1:
        return
    name = plan.template.name
    if left_out := [one for one in configs.candidates if one.left_out]:
        reason = f"{left_out[0].name}: {left_out[0].left_out}"
        raise BadRequest(
            f"template {name!r} has nothing to compare here: {reason}", field="template"
        )
    raise BadRequest(f"template {name!r} needs a config of yours to compare", field="configs")


def _check_minutes(plan: Plan, candidates: int) -> None:
    """Raise BadRequest for minutes in which nothing can be found.

    `candidates` are given, the baseline included. A search needs new configs, a race and pairs; a
    study needs a few blocks for each ranking. Ablation gets its share of the minutes.
    """
    run_s = expected_run_s(plan.sizes)
    if plan.request.search is not None:
        needed_s = (candidates + _NEW_RUNS + _RACE_RUNS + 2 * MIN_PAIRS) * run_s
        what = "a search with runs of this length"
    else:
        needed_s = shortest_seconds(candidates - 1, run_s) * plan.rankings
        what = f"{FIRST_LOOK} blocks of a study of this size"
    share = 1 - ABLATION_SHARE if plan.request.ablates else 1.0
    check_minutes(plan.request.budget_minutes, needed_s / share, what)
