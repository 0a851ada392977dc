"""Store profiles of servers, and find them again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tuning.errors import BadRequest, InvalidRequest, TuningError
from tuning.export.lines import lines_of
from tuning.models import ACTIVE_STUDY_STATES, ServerProfile, Study
from tuning.recommendations import StudyFiles
from tuning.requests.configs import MAX_OUTPUT_BYTES, ProfileRequest
from tuning.server_profile.compare import ProfileComparison, compare
from tuning.server_profile.profile import Profile
from tuning.server_profile.reading import read_profile, rows_of
from tuning.server_profile.steps import Step, sql_of, steps_of, untested
from tuning.stored_documents import document_of

# A request may name older ones.
_OFFERED = 200


def create_profile(request: ProfileRequest, *, user: Any = None) -> ServerProfile:
    """Store the profile that the text gives. Raises InvalidRequest; then nothing is stored."""
    if len(request.text.encode()) > MAX_OUTPUT_BYTES:
        reason = f"is larger than {MAX_OUTPUT_BYTES // 1024} KiB, as no output of the script is"
        raise InvalidRequest([("text", reason)])
    profile = read_profile(
        rows_of(request.text), memory_bytes=request.memory, hides_names=request.hides_names
    )
    return keep_profile(profile, name=request.name, user=user)


def keep_profile(profile: Profile, *, name: str = "", user: Any = None) -> ServerProfile:
    """Store a profile; without a name it is called as its server."""
    return ServerProfile.objects.create(
        name=name or str(profile.target),
        profile=profile.model_dump(mode="json"),
        created_by=user if user is not None and user.is_authenticated else None,
    )


def profile_of(row: ServerProfile) -> Profile:
    """Return the profile of a row."""
    return Profile.model_validate(row.profile)


def newest_profiles() -> list[ServerProfile]:
    """Return the profiles that forms offer, newest first, without what they hold."""
    return list(ServerProfile.objects.defer("profile")[:_OFFERED])


def find_profile(pk: int, *, field: str = "profile") -> ServerProfile:
    """Return the stored profile. Raises BadRequest about `field`."""
    found = ServerProfile.objects.filter(pk=pk).first()
    if found is None:
        raise BadRequest(f"there is no profile {pk}", field=field)
    return found


def check_can_delete_profile(profile: ServerProfile) -> None:
    """Raise TuningError, profile_in_use, while a study that uses it has not ended."""
    active = Study.objects.filter(state__in=ACTIVE_STUDY_STATES, request__profile=profile.pk)
    if (study := active.first()) is not None:
        raise TuningError("profile_in_use", f"study {study.pk} uses the profile and has not ended")


def delete_profile(profile: ServerProfile) -> None:
    """Delete the row; `profile` keeps its id for the sentence about it."""
    ServerProfile.objects.filter(pk=profile.pk).delete()


def compare_stored(before: int, after: int) -> ProfileComparison:
    """Compare two stored profiles. Raises BadRequest about `before` or `after`."""
    rows = find_profile(before, field="before"), find_profile(after, field="after")
    return compare(*map(profile_of, rows))


@dataclass(frozen=True)
class ServerAnswer:
    """The steps of one recommendation on the profiled server.

    keeps: the recommendation is to keep the server's config. apply, back: SQL of the steps that
    need no restart. untested: loads of the server that TPC-C does not have. not_tested: what else
    the study leaves open.
    """

    recommendation: int
    candidate: str
    verdict: str
    keeps: bool
    steps: list[Step]
    apply: str
    back: str
    untested: list[str]
    not_tested: list[str]


def server_answers(study: Study) -> list[ServerAnswer]:
    """Return the steps of each recommendation. Raises BadRequest for a study without a profile."""
    number = (study.request or {}).get("profile")
    if number is None:
        raise BadRequest("the study has no profile of a server", field="profile")
    profile = profile_of(find_profile(number))
    if profile.memory_bytes is None and study.scale_model:
        memory = study.scale_model["memory_bytes"]
        profile = profile.model_copy(update={"memory_bytes": memory})
    document = document_of(study)
    files = StudyFiles.of(document)
    found = []
    for _, recommendation in document.recommendations:
        facts = files.facts(recommendation.id)
        steps = [] if facts.keeps_baseline else steps_of(profile, lines_of(facts))
        scripts = sql_of(steps)
        found.append(
            ServerAnswer(
                recommendation=recommendation.id,
                candidate=facts.candidate.name,
                verdict=recommendation.sentence,
                keeps=facts.keeps_baseline,
                steps=steps,
                apply=scripts["apply"],
                back=scripts["back"],
                untested=untested(profile),
                not_tested=facts.not_tested,
            )
        )
    return found
