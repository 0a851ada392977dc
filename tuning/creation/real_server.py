"""Complete a request by the profile of a real server, and by the user's file of its config.

With a profile the baseline is the server's own config, resized by the scale model like every file
of the user.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from benchmarks.models import BinaryLog
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits, parse_traits
from tuning.configs.candidates import PlannedCandidate
from tuning.configs.expected import DEFAULT_CHUNK
from tuning.configs.line import Fate
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

    name: that of the server's config; own: the user's file of it, None where it is made of the
    profile. connections: where those of the study come from, "" if from the user.
    """

    profile: Profile
    data_bytes: int
    name: str
    own: ConfigText | None
    connections: str = ""

    @cached_property
    def proposals(self) -> list[Proposal]:
        """The changes that figures of the profile call for."""
        return proposals_for(self.profile)

    @property
    def cnf(self) -> str:
        """The config that the server runs with."""
        return as_cnf(own_knobs(self.profile)) if self.own is None else f"{self.own.text}\n"

    @property
    def candidates(self) -> int:
        """The number of candidates that the profile adds."""
        return len(self.proposals) + (self.own is None)

    @property
    def said(self) -> list[str]:
        """The parts of the study that are taken from the profile, in sentences."""
        memory = size_text(self.profile.memory_bytes or 0)
        data = size_text(self.data_bytes)
        return [
            f"{self.profile.target} with {data} of data and {memory} of memory",
            *(
                [f"{one.name}: {one.why}" for one in self.proposals]
                or ["no figure of the profile calls for a change: only published advice is tried"]
            ),
            *filter(None, [self.connections]),
        ]


def with_profile(
    request: StudyRequest, template: StudyTemplate
) -> tuple[StudyRequest, RealServer | None]:
    """Return the request with what its profile says where the request says nothing.

    Raises BadRequest, with the field, for what the profile does not know or contradicts.
    """
    if request.profile is None:
        if template.name == YOUR_SERVER and not request.baseline:
            reason = "choose a profile of your server, or add its my.cnf and state both sizes"
            raise BadRequest(reason, field="profile")
        return request, None
    profile = profile_of(find_profile(request.profile))
    data_size = request.data_size or profile.data_bytes
    memory = request.memory or profile.memory_bytes
    if fault := _contradiction(request, profile):
        raise InvalidRequest([fault])
    if data_size is None or memory is None:
        raise InvalidRequest([_unknown(profile, "memory" if data_size else "data_size")])
    stated = {
        "data_size": data_size,
        "memory": memory,
        "translate_from": request.translate_from or f"{profile.flavour} {profile.version}",
    }
    name = request.baseline or (request.configs[0].name if request.configs else OWN_CONFIG)
    own = next((one for one in request.configs if one.name == name), None)
    profile = profile.model_copy(update={"memory_bytes": memory})
    return request.model_copy(update=stated), RealServer(profile, data_size, name, own)


def _contradiction(request: StudyRequest, profile: Profile) -> tuple[str, str] | None:
    """Return the field that contradicts the profile, with the reason."""
    target, pool = profile.target, profile.number(POOL)
    if request.translate_from:
        written = parse_traits(request.translate_from)
        if (written.flavour, written.series) != (target.flavour, target.series):
            return "translate_from", f"the profile is of {target}, and so are your files"
    if request.memory is not None and pool is not None and pool > request.memory:
        has = f"the server's buffer pool of {size_text(pool)}"
        return "memory", f"{size_text(request.memory)} is less than {has}"
    return None


def _unknown(profile: Profile, field: str) -> tuple[str, str]:
    """Return the field that the profile leaves open, with what to do."""
    if field == "data_size" and profile.sizes:
        engines = ", ".join(sorted({one.engine for one in profile.sizes}))
        only = f"the server has no table of InnoDB, only of {engines}"
        return "profile", f"{only}: a study would say nothing"
    what = {"data_size": "size of its data", "memory": "memory of its host"}[field]
    return field, f"the profile does not know the {what}: state it, such as 48G"


def check_own_file(config: PlannedCandidate, profile: Profile) -> None:
    """Raise InvalidConfig for a file that is not the one that the profiled server runs with."""
    target, number, catalogue = profile.target, profile.number, load_catalogue()
    # Servers round the size up to whole chunks of every instance.
    pool, unit = number(POOL), (number(CHUNK) or DEFAULT_CHUNK) * (number(INSTANCES) or 1)
    problems = []
    for line in config.lines:
        knob = None if line.fate is Fate.KEPT or line.is_loose else catalogue.get(line.name)
        # The server would not start with the line.
        if knob and not (knob.exists_in(target) or knob.facts(target).tolerated):
            reason = f"{target} does not have it: the profile or this file is of another one"
            problems.append(Problem(config.name, line.number, line.name, reason))
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
        read = scan_cnf(file.text, lambda group: server_group(group, target)).settings
        said = [_BINARY_LOG[one.name] for one in read if one.name in _BINARY_LOG]
        found.add(said[-1] if said else "")
    return found.pop() if len(found) == 1 else ""
