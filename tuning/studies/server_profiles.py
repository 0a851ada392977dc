"""Store profiles of servers, and find them again."""

from __future__ import annotations

from typing import Any

from tuning.errors import BadRequest, InvalidRequest
from tuning.models import ServerProfile
from tuning.requests.profile import MAX_OUTPUT_BYTES, ProfileRequest
from tuning.server_profile.compare import Comparison, compare
from tuning.server_profile.paste import rows_of
from tuning.server_profile.profile import Profile
from tuning.server_profile.reading import read_profile

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


def compare_stored(before: int, after: int) -> Comparison:
    """Compare two stored profiles. Raises BadRequest about `before` or `after`."""
    rows = find_profile(before, field="before"), find_profile(after, field="after")
    return compare(*map(profile_of, rows))
