"""When something was paused, drained or retired, by whom and why: in its row and in words."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone

from tuning.models import Study
from tuning.requests.study import MAX_PAUSE_REASON

# The length of a column.
MAX_PAUSED_BY = 150


def pause_columns(by: str, reason: str) -> dict[str, Any]:
    """The columns of a study that is paused now; both texts become one line of fitting length."""
    paused_by, pause_reason = by_and_reason(by, reason)
    return {
        "paused_at": timezone.now(),
        "paused_by": paused_by,
        "pause_reason": pause_reason,
    }


def by_and_reason(by: str, reason: str) -> tuple[str, str]:
    """Both texts as one line of fitting length."""
    return _one_line(by)[:MAX_PAUSED_BY], _one_line(reason)[:MAX_PAUSE_REASON]


def when_by_and_why(at: datetime, by: str, reason: str) -> str:
    """As `2025-01-31 10:00 UTC by ann: a new kernel`, as far as it is known."""
    who = f" by {by}" if by else ""
    why = f": {reason}" if reason else ""
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M %Z}{who}{why}"


def pause_text(study: Study) -> str:
    """When, by whom and why a study was paused, in one line without a full stop."""
    if study.paused_at is None:
        return ""
    since = when_by_and_why(study.paused_at, study.paused_by, study.pause_reason)
    return f"paused since {since}"


def _one_line(text: str) -> str:
    """The text without line breaks, repeated blanks and what cannot be printed."""
    return "".join(filter(str.isprintable, " ".join(text.split())))
