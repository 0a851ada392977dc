"""A study for a profiled server: its sizes, connections and config, and what its figures call for.

The baseline is the server's own config, resized by the scale model like every file of the user.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from benchmarks.counted import counted
from benchmarks.inventory.host import HostInventory
from benchmarks.models import BinaryLog
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import FLAVOUR_NAMES, ServerTraits, parse_traits
from tuning.configs.candidates import FileFit, PlannedCandidate, plan_file
from tuning.configs.config_check.check import import_cnf
from tuning.configs.config_check.rules import too_large_redo
from tuning.configs.effective.expected import DEFAULT_CHUNK
from tuning.configs.effective.variables import CHUNK, INSTANCES, POOL
from tuning.configs.notes import Action, Note
from tuning.configs.parse import Setting, scan_cnf, server_group
from tuning.configs.situation import Situation
from tuning.configs.values import fixed_default
from tuning.errors import BadRequest, InvalidConfig, InvalidRequest, Problem
from tuning.requests.configs import ConfigText
from tuning.requests.sizes import MAX_WAREHOUSES
from tuning.requests.study import StudyRequest
from tuning.scale_model.model import ScaleModel
from tuning.scale_model.sizes import size_text
from tuning.server_profile.advice import Proposal, proposals_for
from tuning.server_profile.figures import figure
from tuning.server_profile.own_config import as_cnf, own_knobs
from tuning.server_profile.profile import Profile
from tuning.studies.server_profiles import find_profile, profile_of
from tuning.study_templates.loader import YOUR_SERVER, StudyTemplate

#: The name of the config that is made of a profile's variables.
OWN_CONFIG = "my-server"
_BINARY_LOG = {"log_bin": "on", "skip_log_bin": "off", "disable_log_bin": "off"}
# TPC-C waits for nobody: each connection is as busy as many of a real application's.
_CONNECTIONS_PER_CPU = 16


@dataclass(frozen=True)
class RealServer:
    """The part of a study that its profile adds.

    cnf: the server's config; given: whether the user gave it, instead of the profile.
    said: what was taken from the profile, in sentences.
    """

    profile: Profile
    proposals: tuple[Proposal, ...]
    name: str
    cnf: str
    given: bool
    said: tuple[str, ...]

    @property
    def candidates(self) -> int:
        """The number of candidates that the profile adds."""
        return len(self.proposals) + (not self.given)


def baseline_name(request: StudyRequest) -> str:
    """Return the name of the user's config that is the baseline; "" for the template's."""
    if request.baseline or request.profile is None:
        return request.baseline
    return request.configs[0].name if request.configs else OWN_CONFIG


def with_profile(
    request: StudyRequest, template: StudyTemplate, inventory: HostInventory
) -> tuple[StudyRequest, RealServer | None]:
    """Return the request with what its profile says where the request says nothing.

    Raises BadRequest, beside the field, for what the profile does not know or contradicts.
    """
    if request.profile is None:
        if template.name != YOUR_SERVER:
            return request, None
        if not request.baseline:
            reason = "choose a profile of your server, or add its my.cnf and state both sizes"
            raise BadRequest(reason, field="profile")
        return _with_warehouses(request, template, inventory), None
    profile = profile_of(find_profile(request.profile))
    _check(request, profile)
    name = baseline_name(request)
    for config in (one for one in request.configs if one.name == name):
        _check_file(config, profile)
    changes: dict[str, Any] = {
        "data_size": request.data_size or profile.data_bytes,
        "memory": request.memory or profile.memory_bytes,
        "translate_from": request.translate_from or f"{profile.flavour} {profile.version}",
        "server": request.server or _nearest_server(profile, inventory),
    }
    if changes["data_size"] is None and profile.sizes:
        engines = ", ".join(sorted({one.engine for one in profile.sizes}))
        reason = f"the server has no table of InnoDB, only of {engines}: a study would say nothing"
        raise InvalidRequest([("profile", reason)])
    for name, what in (("data_size", "size of its data"), ("memory", "memory of its host")):
        if changes[name] is None:
            reason = f"the profile does not know the {what}: state it, such as 48G"
            raise InvalidRequest([(name, reason)])
    said = [
        f"{profile.target} with {size_text(changes['data_size'])} of data and "
        f"{size_text(changes['memory'])} of memory"
    ]
    connections, why = _connections(profile, template, inventory)
    if request.connections is None:
        changes["connections"] = [connections]
        said.append(why)
    request = _with_warehouses(request.model_copy(update=changes), template, inventory)
    sized = profile.model_copy(update={"memory_bytes": request.memory})
    real = _real_server(request, sized)
    said += [f"{one.name}: {one.why}" for one in real.proposals]
    if not real.proposals:
        said.append("no figure of the profile calls for a change: only published advice is tried")
    return request, replace(real, said=tuple(said))


def _with_warehouses(
    request: StudyRequest, template: StudyTemplate, inventory: HostInventory
) -> StudyRequest:
    """Return the request with as many warehouses as a model of the stated sizes needs."""
    data_size, memory = request.data_size, request.memory
    if request.warehouses is not None or data_size is None or memory is None:
        return request
    model = ScaleModel(data_size, memory, template.warehouses, 0)
    most = min(model.max_warehouses(inventory.memory_budget_bytes), MAX_WAREHOUSES)
    found = max(min(max(template.warehouses, model.min_warehouses), most), 1)
    return request.model_copy(update={"warehouses": found})


def real_candidates(
    real: RealServer, situation: Situation, left_bytes: int, fit: FileFit | None
) -> list[PlannedCandidate]:
    """Return the server's config and the proposals of its profile, as they are measured.

    A proposal that is impossible here has a `left_out`. Raises InvalidConfig for the config.
    """
    planned = [] if real.given else [_planned(real, None, situation, fit)]
    for proposal in real.proposals:
        try:
            one = _planned(real, proposal, situation, fit)
        except InvalidConfig as refused:
            one = PlannedCandidate(proposal.name, {}, proposal.why, left_out=str(refused))
        large = too_large_redo(one.knobs, situation.target, situation.host, left_bytes)
        planned.append(one if large is None else replace(one, knobs={}, left_out=large.reason))
    return planned


def _planned(
    real: RealServer, proposal: Proposal | None, situation: Situation, fit: FileFit | None
) -> PlannedCandidate:
    text, source, name = real.cnf, f"the config that {real.profile.target} runs with", real.name
    notes: tuple[Note, ...] = ()
    if proposal is not None:
        name, source = proposal.name, f"{real.name} with a change: {proposal.why}"
        text += as_cnf(proposal.changes)
        notes = tuple(Note(one, Action.PROPOSED, proposal.why) for one in proposal.changes)
    planned = plan_file(
        name,
        text.encode(),
        situation.target,
        host=situation.host,
        translate_from=real.profile.target,
        fit=fit,
    )
    return replace(planned, source=source, notes=(*notes, *planned.notes))


def _real_server(request: StudyRequest, profile: Profile) -> RealServer:
    own, name = own_knobs(profile), baseline_name(request)
    given = next((one for one in request.configs if one.name == name), None)
    return RealServer(
        profile=profile,
        proposals=tuple(proposals_for(profile)),
        name=name,
        cnf=as_cnf(own) if given is None else f"{given.text}\n",
        given=given is not None,
        said=(),
    )


def _check(request: StudyRequest, profile: Profile) -> None:
    """Raise InvalidRequest for a request that contradicts its profile."""
    if request.translate_from:
        written = parse_traits(request.translate_from)
        if (written.flavour, written.series) != (profile.target.flavour, profile.target.series):
            reason = f"the profile is of {profile.target}, and so are your files"
            raise InvalidRequest([("translate_from", reason)])
    pool = profile.number("innodb_buffer_pool_size")
    if request.memory is not None and pool is not None and pool > request.memory:
        reason = (
            f"{size_text(request.memory)} is less than the server's buffer pool of "
            f"{size_text(pool)}"
        )
        raise InvalidRequest([("memory", reason)])


def _check_file(config: ConfigText, profile: Profile) -> None:
    """Raise InvalidConfig for a file that is not the one that the profiled server runs with."""
    target = profile.target
    other = "the profile or this file is of another server or version"
    problems = [
        Problem(config.name, one.line, one.name, f"{target} does not have it: {other}")
        for one in _settings(config, target)
        if _is_of_another_server(one, target)
    ]
    report = import_cnf(config.data, config.name, target, translate_from=target)
    written, pool = report.knobs.get(POOL), profile.number(POOL)
    # Servers round the size up to whole chunks of every instance.
    chunk, instances = profile.number(CHUNK) or DEFAULT_CHUNK, profile.number(INSTANCES) or 1
    if written and pool and not 0 <= pool - int(written) < chunk * instances:
        line = next(one for one in reversed(report.lines) if POOL in dict(one.became))
        reason = (
            f"{size_text(int(written))} here, and the profile read {size_text(pool)}: take a new "
            f"profile, or name {OWN_CONFIG!r} as the baseline to measure the profile's own values"
        )
        problems.append(Problem(config.name, line.number, POOL, reason))
    if problems:
        raise InvalidConfig(problems)


def _settings(config: ConfigText, target: ServerTraits) -> tuple[Setting, ...]:
    """Return the settings of a file that the server reads."""
    return scan_cnf(config.text, lambda group: server_group(group, target)).settings


def _is_of_another_server(setting: Setting, target: ServerTraits) -> bool:
    """Whether the server would not start with this setting."""
    knob = load_catalogue().get(setting.name)
    if knob is None or knob.exists_in(target) or setting.loose:
        return False
    return not knob.facts(target).tolerated


def binary_log_of(
    request: StudyRequest, real: RealServer | None, target: ServerTraits
) -> BinaryLog:
    """Return whether the runs write a binary log: as the request, the user's file, the profile."""
    said: str = request.binary_log
    if said == "auto":
        name = baseline_name(request)
        own = [one for one in request.configs if one.name == name] or request.configs
        found = {_binary_log_in(one, target) for one in own}
        said = found.pop() if len(found) == 1 else ""
    if not said and real is not None:
        said = real.profile.variables.get("log_bin", "").lower()
    by_default = fixed_default(load_catalogue().knobs["log_bin"], target)
    if said not in ("on", "off") or said.upper() == by_default:
        return BinaryLog.DEFAULT
    return BinaryLog(said)


def _binary_log_in(config: ConfigText, target: ServerTraits) -> str:
    """Return "on" or "off" as the last line of the file says; "" if none does."""
    names = [one.name for one in _settings(config, target) if one.name in _BINARY_LOG]
    return _BINARY_LOG[names[-1]] if names else ""


def _nearest_server(profile: Profile, inventory: HostInventory) -> Any:
    """Return the path of the host's server of the same flavour with the nearest version."""
    alike = [one for one in inventory.servers if one.flavour is profile.flavour]
    if not alike:
        kind = FLAVOUR_NAMES[profile.flavour]
        reason = f"the profile is of {profile.target}, and host {inventory.name} has no {kind}"
        raise InvalidRequest([("profile", reason)])
    wanted = profile.target.version
    return min(
        alike, key=lambda one: [abs(a - b) for a, b in zip(one.version, wanted, strict=True)]
    ).path


def _connections(
    profile: Profile, template: StudyTemplate, inventory: HostInventory
) -> tuple[int, str]:
    """Return the connections to drive, and where they come from."""
    most = _CONNECTIONS_PER_CPU * inventory.logical_cpus
    peak = figure(profile, "peak")
    if not peak:
        found = max(template.connections_on(inventory.logical_cpus))
        return found, f"{counted(found, 'connection')}: the profile does not know the peak"
    found = max(min(int(peak), most), 1)
    why = f"{peak:,.0f} connections at peak"
    if found < peak:
        cpus = counted(inventory.logical_cpus, "CPU")
        why += f", of which {found} are driven: {_CONNECTIONS_PER_CPU} for each of {cpus}"
    return found, why
