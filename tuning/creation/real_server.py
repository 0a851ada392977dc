"""The server that a study is about: its program, and what a profile says of the real server.

With a profile the baseline is the server's own config, resized by the scale model like every file
of the user.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.counted import counted
from benchmarks.errors import about
from benchmarks.inventory.host import HostInventory
from benchmarks.models import BinaryLog
from benchmarks.servers.binary import ServerBinary
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import FLAVOUR_NAMES, ServerTraits, parse_traits
from tuning.configs.parse import scan_cnf, server_group
from tuning.configs.values import fixed_default
from tuning.errors import BadRequest, InvalidRequest
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

    cnf: the server's config under its `name`; given: whether the user gave it, instead of the
    profile. said: what was taken from the profile, in sentences.
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


@dataclass(frozen=True)
class Subject:
    """The server that a study is about: its program here, and the real server that it stands for.

    request: with what the profile says where the request says nothing. baseline: the name of the
    user's config that is the baseline; "" for the template's. binary_log: whether every run writes
    one, as the request, the user's file or the profile says.
    """

    request: StudyRequest
    server: ServerBinary
    baseline: str
    binary_log: BinaryLog
    real: RealServer | None


def subject_of(
    request: StudyRequest, template: StudyTemplate, inventory: HostInventory
) -> Subject:
    """Find the server program, and complete the request with what its profile says.

    Raises BadRequest, beside the field, for what the profile does not know or contradicts, and
    BenchmarkError for a server that the host does not have.
    """
    real = None
    if request.profile is not None:
        request, real = _with_profile(request, request.profile, template, inventory)
    elif template.name == YOUR_SERVER:
        if not request.baseline:
            reason = "choose a profile of your server, or add its my.cnf and state both sizes"
            raise BadRequest(reason, field="profile")
        request = _with_warehouses(request, template, inventory)
    with about("server"):
        server = inventory.server(request.server)
    baseline = real.name if real else request.baseline
    target = ServerTraits.of(server)
    log: str = request.binary_log
    if log == "auto":
        log = _binary_log_in(request.configs, baseline, target)
        if not log and real is not None:
            log = real.profile.variables.get("log_bin", "").lower()
    is_default = log.upper() == fixed_default(load_catalogue().knobs["log_bin"], target)
    binary_log = BinaryLog(log) if log in ("on", "off") and not is_default else BinaryLog.DEFAULT
    return Subject(request, server, baseline, binary_log, real)


def _with_profile(
    request: StudyRequest, number: int, template: StudyTemplate, inventory: HostInventory
) -> tuple[StudyRequest, RealServer]:
    profile = profile_of(find_profile(number))
    _check(request, profile)
    data_size = request.data_size or profile.data_bytes
    memory = request.memory or profile.memory_bytes
    if data_size is None and profile.sizes:
        engines = ", ".join(sorted({one.engine for one in profile.sizes}))
        reason = f"the server has no table of InnoDB, only of {engines}: a study would say nothing"
        raise InvalidRequest([("profile", reason)])
    if data_size is None:
        raise _unknown("data_size", "size of its data")
    if memory is None:
        raise _unknown("memory", "memory of its host")
    said = [
        f"{profile.target} with {size_text(data_size)} of data and {size_text(memory)} of memory"
    ]
    changes: dict[str, Any] = {
        "data_size": data_size,
        "memory": memory,
        "translate_from": request.translate_from or f"{profile.flavour} {profile.version}",
        "server": request.server or _nearest_server(profile, inventory),
    }
    if request.connections is None:
        connections, why = _connections(profile, template, inventory)
        changes["connections"] = [connections]
        said.append(why)
    profile = profile.model_copy(update={"memory_bytes": memory})
    proposals = tuple(proposals_for(profile))
    said += [f"{one.name}: {one.why}" for one in proposals]
    if not proposals:
        said.append("no figure of the profile calls for a change: only published advice is tried")
    name = request.baseline or (request.configs[0].name if request.configs else OWN_CONFIG)
    own = next((one.text for one in request.configs if one.name == name), None)
    cnf = as_cnf(own_knobs(profile)) if own is None else f"{own}\n"
    real = RealServer(profile, proposals, name, cnf, own is not None, tuple(said))
    return _with_warehouses(request.model_copy(update=changes), template, inventory), real


def _unknown(field: str, what: str) -> InvalidRequest:
    return InvalidRequest(
        [(field, f"the profile does not know the {what}: state it, such as 48G")]
    )


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


def _binary_log_in(files: Sequence[ConfigText], baseline: str, target: ServerTraits) -> str:
    """Return "on" or "off" as the baseline's file says, or all files; "" if none does."""
    found = set()
    for file in [one for one in files if one.name == baseline] or files:
        settings = scan_cnf(file.text, lambda group: server_group(group, target)).settings
        said = [_BINARY_LOG[one.name] for one in settings if one.name in _BINARY_LOG]
        found.add(said[-1] if said else "")
    return found.pop() if len(found) == 1 else ""


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
