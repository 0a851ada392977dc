"""Complete a request by the profile of a real server, and by the user's file of its config.

With a profile the baseline is the server's own config, resized by the scale model like every file
of the user.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.models import BinaryLog
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits, parse_traits
from tuning.configs.check import import_cnf
from tuning.configs.expected import DEFAULT_CHUNK
from tuning.configs.line import LineResult
from tuning.configs.parse import scan_cnf, server_group
from tuning.configs.values import fixed_default
from tuning.configs.variables import CHUNK, INSTANCES, POOL
from tuning.errors import BadRequest, InvalidConfig, InvalidRequest, Problem
from tuning.requests.configs import ConfigText
from tuning.requests.study import StudyRequest
from tuning.scale_model.sizes import size_text
from tuning.server_profile.configs import Proposal, as_cnf, own_knobs, proposals_for
from tuning.server_profile.profile import Profile
from tuning.studies.server_profiles import find_profile, profile_of
from tuning.study_templates.loader import YOUR_SERVER, StudyTemplate

#: The name of the config that is made of a profile's variables.
OWN_CONFIG = "my-server"
_BINARY_LOG = {"log_bin": "on", "skip_log_bin": "off", "disable_log_bin": "off"}


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


def with_profile(
    request: StudyRequest, template: StudyTemplate
) -> tuple[StudyRequest, RealServer | None]:
    """Return the request with what its profile says where the request says nothing.

    Raises BadRequest, with the field, for what the profile does not know or contradicts, and
    InvalidConfig for a file that is not the one that the server runs with.
    """
    if request.profile is None:
        if template.name == YOUR_SERVER and not request.baseline:
            reason = "choose a profile of your server, or add its my.cnf and state both sizes"
            raise BadRequest(reason, field="profile")
        return request, None
    profile = profile_of(find_profile(request.profile))
    _check(request, profile)
    name = request.baseline or (request.configs[0].name if request.configs else OWN_CONFIG)
    own = next((one for one in request.configs if one.name == name), None)
    if own is not None:
        _check_own_file(own, profile)
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
    profile = profile.model_copy(update={"memory_bytes": memory})
    proposals = tuple(proposals_for(profile))
    said = [
        f"{profile.target} with {size_text(data_size)} of data and {size_text(memory)} of memory",
        *(f"{one.name}: {one.why}" for one in proposals),
    ]
    if not proposals:
        said.append("no figure of the profile calls for a change: only published advice is tried")
    cnf = as_cnf(own_knobs(profile)) if own is None else f"{own.text}\n"
    stated = {
        "data_size": data_size,
        "memory": memory,
        "translate_from": request.translate_from or f"{profile.flavour} {profile.version}",
    }
    real = RealServer(profile, proposals, name, cnf, own is not None, tuple(said))
    return request.model_copy(update=stated), real


def _unknown(field: str, what: str) -> InvalidRequest:
    return InvalidRequest(
        [(field, f"the profile does not know the {what}: state it, such as 48G")]
    )


def _check(request: StudyRequest, profile: Profile) -> None:
    """Raise InvalidRequest for a request that contradicts its profile."""
    if request.translate_from:
        written = parse_traits(request.translate_from)
        if (written.flavour, written.series) != (profile.target.flavour, profile.target.series):
            reason = f"the profile is of {profile.target}, and so are your files"
            raise InvalidRequest([("translate_from", reason)])
    pool = profile.number(POOL)
    if request.memory is not None and pool is not None and pool > request.memory:
        reason = (
            f"{size_text(request.memory)} is less than the server's buffer pool of "
            f"{size_text(pool)}"
        )
        raise InvalidRequest([("memory", reason)])


def _check_own_file(config: ConfigText, profile: Profile) -> None:
    """Raise InvalidConfig for a file that is not the one that the profiled server runs with."""
    target, number = profile.target, profile.number
    other = "the profile or this file is of another server or version"
    problems = [
        Problem(config.name, one.number, one.name, f"{target} does not have it: {other}")
        for one in _settings(config, target)
        if (knob := load_catalogue().get(one.name)) is not None
        # The server would not start with it.
        and not (one.is_loose or knob.exists_in(target) or knob.facts(target).tolerated)
    ]
    # Servers round the size up to whole chunks of every instance.
    pool, unit = number(POOL), (number(CHUNK) or DEFAULT_CHUNK) * (number(INSTANCES) or 1)
    for line in import_cnf(config.data, config.name, target, translate_from=target).lines:
        size = int(dict(line.became).get(POOL, 0))
        if size and pool and not 0 <= pool - size < unit:
            reason = (
                f"{size_text(size)} here, and the profile read {size_text(pool)}: take a new "
                f"profile, or name {OWN_CONFIG!r} as the baseline to measure the profile's own "
                "values"
            )
            problems.append(Problem(config.name, line.number, POOL, reason))
    if problems:
        raise InvalidConfig(problems)


def _settings(file: ConfigText, target: ServerTraits) -> tuple[LineResult, ...]:
    """Return the settings of a file that the server reads."""
    return scan_cnf(file.text, lambda group: server_group(group, target)).settings


def binary_log_of(
    request: StudyRequest, real: RealServer | None, target: ServerTraits
) -> BinaryLog:
    """Return whether the runs write a binary log: as the request, the user's file, the profile."""
    said: str = request.binary_log
    if said == "auto":
        said = _binary_log_in(request.configs, real.name if real else request.baseline, target)
        if not said and real is not None:
            said = real.profile.variables.get("log_bin", "").lower()
    by_default = fixed_default(load_catalogue().knobs["log_bin"], target)
    if said not in ("on", "off") or said.upper() == by_default:
        return BinaryLog.DEFAULT
    return BinaryLog(said)


def _binary_log_in(files: Sequence[ConfigText], baseline: str, target: ServerTraits) -> str:
    """Return "on" or "off" as the baseline's file says, or all files; "" if none does."""
    found = set()
    for file in [one for one in files if one.name == baseline] or files:
        names = [one.name for one in _settings(file, target)]
        said = [_BINARY_LOG[name] for name in names if name in _BINARY_LOG]
        found.add(said[-1] if said else "")
    return found.pop() if len(found) == 1 else ""
