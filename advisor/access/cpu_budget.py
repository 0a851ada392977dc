"""What programs that use the API may cost of the processor while a run is measured beside them.

The advisor's own CPU time is a disturbance like any other program's (docs/disturbances.md). Once
the web server's process has used up its share, requests with a token are told when to come again.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse, JsonResponse

from advisor.access.limits import PASSES
from advisor.access.rules import API
from advisor.responses import error_body
from benchmarks.models import CrashTest, JobState, LoadJob, Run, RunState

#: What the share allows in so many seconds may be used at once.
BURST_S = 60.0
#: In bursts. Beyond the first no token gets more than `PASSES`, beyond the second none gets an
#: answer; more than the third is forgiven, so that one dear answer shuts nobody out for long.
SCARCE, SPENT, MOST = 1.0, 2.0, 3.0
#: Seconds after which one who is refused because it is spent asks again.
AGAIN_S = 10
#: Seconds between two looks at whether something is measured.
LOOK_S = 2.0
#: They cost little, and end or put off what is measured.
NEVER_REFUSED = frozenset(
    (
        *("api-cancel", "api-pause", "api-conclude", "api-probe-cancel"),
        *("api-group-cancel", "api-group-pause", "api:host-drain"),
    )
)
CODE = "cpu_budget_spent"
_TOKEN = "bearer "  # noqa: S105  # how such a header begins


class CpuBudget:
    """CPU seconds that this process may use while something is measured on its host.

    `processes`: how many share the budget. Only time in which something was measured counts.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        cpu: Callable[[], float] = time.process_time,
    ) -> None:
        self.processes = 1
        self._clock = clock
        self._cpu = cpu
        self._at = clock()
        self._used = cpu()
        self._over = 0.0
        self._measures = False
        self._looked: float | None = None

    def used(self) -> float:
        """What the process has used beyond its share, in bursts; 0 if nothing is measured here."""
        share = settings.API_CPU_LIMIT_PCT / 100 / self.processes
        if share == 0:
            return 0.0
        measured, measures = self._measures, self._look()
        now, used = self._clock(), self._cpu()
        cost = used - self._used if measured and measures else 0.0
        over = self._over + (cost / share - (now - self._at)) / BURST_S
        self._over = min(max(over, 0.0), MOST)
        self._at, self._used = now, used
        return self._over if measures else 0.0

    def _look(self) -> bool:
        now = self._clock()
        if self._looked is None or now - self._looked >= LOOK_S:
            self._looked = now  # before the look, for which other requests do not wait
            try:
                self._measures = is_measured_here()
            except Error:
                self._measures = False  # the request itself will say what is wrong
        return self._measures


BUDGET = CpuBudget()


class CpuBudgetMiddleware:
    """Refuses requests with a token before anything is read for them, as cheaply as it can."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, arguments: dict[str, Any]
    ) -> HttpResponse | None:
        match = request.resolver_match
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if match is None or match.view_name not in API or not header.lower().startswith(_TOKEN):
            return None
        if match.view_name in NEVER_REFUSED:
            return None
        # Not the token itself, which would stay in memory.
        key = hashlib.sha256(header.encode()).hexdigest()
        used, wait = BUDGET.used(), PASSES.wait(key)
        # Where little is left every token gets some of it: no client that asks without a pause
        # shuts out one that waits for its gate.
        if used > SPENT or (used > SCARCE and wait):
            return _refused(wait or AGAIN_S)
        PASSES.note(key)
        return None


def is_measured_here() -> bool:
    """Whether this host runs, or drives, what is measured. Raises Error."""
    here = {"host__name": settings.HOST_NAME}
    return (
        Run.objects.filter(state=RunState.RUNNING, **here).exists()
        or LoadJob.objects.filter(state=JobState.RUNNING, **here).exists()
        or CrashTest.objects.filter(state=JobState.RUNNING, **here).exists()
    )


def _refused(wait: int) -> HttpResponse:
    text = (
        "A run is measured on this host, and what the API may use of the processor meanwhile is "
        f"used up. Ask again in {wait} s, and less often, or wait with ?wait=60."
    )
    body = error_body(CODE, text)
    return JsonResponse(body, status=429, headers={"Retry-After": str(wait)})
