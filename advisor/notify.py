"""Tell other programs that a study or a gate has ended: signed messages to `ADVISOR_NOTIFY_URL`.

The web process asks again and again what has ended. `Study.notified_at` says which ends were told:
a process claims an end there before it sends the messages, so no other process sends them as well.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable
from datetime import timedelta
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from django.conf import settings
from django.db.models import F, Q
from django.db.models.functions import Now
from django.urls import reverse

from tuning.gate_facts import gate_facts, gates
from tuning.models import ACTIVE_STUDY_STATES, Study
from tuning.stored_documents import document_of

logger = logging.getLogger(__name__)

#: The header with the HMAC-SHA256 of the body, in hexadecimal digits.
SIGNATURE: Final = "X-Advisor-Signature"
#: Seconds before each of the three tries.
PAUSES_S: Final = (0, 5, 30)
TIMEOUT_S: Final = 10
#: An end that is older is not told any more, such as after a day without a web process.
LOOK_BACK: Final = timedelta(days=1)


class _NoRedirects(HTTPRedirectHandler):
    """Answer a redirection with its status: a message is for the given address only."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = build_opener(_NoRedirects)


def tell_ends(sleep: Callable[[float], None] = time.sleep) -> None:
    """Send a message to each URL for each end that was not told. Raises Error."""
    untold = Study.objects.exclude(state__in=ACTIVE_STUDY_STATES).filter(
        Q(notified_at=None) | Q(notified_at__lt=F("finished_at")),
        finished_at__gte=Now() - LOOK_BACK,
    )
    for study_id in list(untold.order_by("finished_at", "pk").values_list("pk", flat=True)):
        if untold.filter(pk=study_id).update(notified_at=Now()):
            body = json.dumps(message(study_id), ensure_ascii=False).encode()
            for url in settings.NOTIFY_URLS:
                send(url, body, settings.NOTIFY_KEY, sleep)


def message(study_id: int) -> dict[str, Any]:
    """Return what is said of a study that has ended. docs/reference/api.md describes it."""
    study = Study.objects.select_related("host").get(pk=study_id)
    is_gate = study.gate is not None
    verdict, sentence = _of_gate(study_id) if is_gate else _of_study(study)
    return {
        "event": "gate.ended" if is_gate else "study.ended",
        "id": study.pk,
        "name": study.name,
        "host": study.host.name,
        "state": study.state,
        "reason_code": study.reason_code,
        "ended_at": study.finished_at and study.finished_at.isoformat(),
        "verdict": verdict,
        "sentence": sentence,
        "path": reverse("gate-detail" if is_gate else "study-detail", args=[study.pk]),
    }


def _of_gate(study_id: int) -> tuple[str, str]:
    facts = gate_facts(gates().get(pk=study_id))
    return facts.verdict, facts.reason


def _of_study(study: Study) -> tuple[str, str]:
    """The answer for the first device with the fewest connections."""
    document = document_of(study)
    if not document.answers:
        return "none", study.reason
    [(_, best), *_], [answer, *_] = document.recommendations, document.answers
    return best.kind, f"{answer.title}. {answer.text}"


def send(url: str, body: bytes, key: str, sleep: Callable[[float], None]) -> bool:
    """Post the signed body, three times at most; False if the last try failed, too."""
    signature = hmac.new(key.encode(), body, hashlib.sha256).hexdigest()
    headers = {"Content-Type": "application/json", SIGNATURE: f"sha256={signature}"}
    request = Request(url, body, headers, method="POST")  # noqa: S310  # checked by the setting
    problem: Exception | None = None
    for pause_s in PAUSES_S:
        sleep(pause_s)
        try:
            with _OPENER.open(request, timeout=TIMEOUT_S):
                return True
        except HTTPError as error:  # any status but 2xx
            error.close()
            problem = error
        except (OSError, HTTPException) as error:
            problem = error
    # The path and the query of a URL may be a secret.
    logger.warning("%s was not notified of an end: %s", urlsplit(url).hostname, problem)
    return False
