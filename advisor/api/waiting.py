"""Long polls: requests that are answered when something has happened, or when time is up.

Each waits in a greenlet of its own, which costs memory only, and gives its connection to the
database back. Whoever waits for the same thing shares one look at the database a second.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from django.db import connections
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.serializers import IntegerField

from advisor.api.errors import ApiError
from tuning.models import ACTIVE_STUDY_STATES, Study
from tuning.studies.glance import progress_word

MAX_WAIT_S = 60
#: Seconds between two looks at the database.
LOOK_S = 1.0
MAX_WAITING = 300
MAX_WAITING_OF_ACCOUNT = 100

WAIT = OpenApiParameter(
    "wait",
    {"type": "integer", "minimum": 0, "maximum": MAX_WAIT_S},
    description="Seconds that the answer may take: it comes as soon as the study has ended, or "
    "differs from the given version, if there is one.",
)
VERSION = OpenApiParameter(
    "version", str, description="The version of the study that you know, for wait."
)


class Waiting:
    """Those who wait in this process. `stays_open` says whether the process goes on."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._now: Counter[int] = Counter()
        self._looks: dict[object, tuple[float, Any]] = {}
        self.stays_open: Callable[[], bool] = lambda: True

    def wait(self, request: Request, has_happened: Callable[[], bool]) -> None:
        """Until `has_happened`, or for the request's `wait` seconds.

        Raises ValidationError for a wrong number of seconds, ApiError: too_many_waiting.
        """
        until = self._clock() + seconds_of(request)
        if self._clock() >= until or has_happened():
            return
        who = request.user.pk
        if self._now.total() >= MAX_WAITING or self._now[who] >= MAX_WAITING_OF_ACCOUNT:
            raise ApiError(
                429, "too_many_waiting", "Too many requests are waiting.", retry_after=5
            )
        self._now[who] += 1
        try:
            while self.stays_open() and (left := until - self._clock()) > 0:
                _give_connections_back()
                self._sleep(min(left, LOOK_S))
                if has_happened():
                    return
        finally:
            self._now[who] -= 1

    def look(self, at: object, look: Callable[[], Any]) -> Any:
        """What `look` found there within the last second, by whomever."""
        now = self._clock()
        seen = self._looks.get(at)
        if seen is None or now - seen[0] >= LOOK_S:
            for old in [one for one, (when, _) in self._looks.items() if now - when > MAX_WAIT_S]:
                del self._looks[old]
            seen = self._looks[at] = now, look()
        return seen[1]


WAITING = Waiting()


def wait_for_study(request: Request, pk: int) -> None:
    """As `WAIT` and `VERSION` describe it. Raises like `Waiting.wait`."""
    known = request.query_params.get("version")

    # What was seen up to a second ago may be older than what the caller knows: it is looked at
    # once more before an answer.
    def has_happened() -> bool:
        if pk not in WAITING.look("studies", _going_on) and not _goes_on(pk):
            return True
        if known is None or known == WAITING.look(pk, lambda: progress_word(pk)):
            return False
        return known != progress_word(pk)

    WAITING.wait(request, has_happened)


def seconds_of(request: Request) -> int:
    """The request's `wait`. Raises ValidationError."""
    try:
        found = IntegerField(min_value=0, max_value=MAX_WAIT_S).run_validation(
            request.query_params.get("wait", 0)
        )
    except ValidationError as error:
        raise ValidationError({"wait": error.detail}) from None
    return int(found)


def _going_on() -> frozenset[int]:
    active = Study.objects.filter(state__in=ACTIVE_STUDY_STATES)
    return frozenset(active.values_list("pk", flat=True))


def _goes_on(pk: int) -> bool:
    return Study.objects.filter(pk=pk, state__in=ACTIVE_STUDY_STATES).exists()


def _give_connections_back() -> None:
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()
