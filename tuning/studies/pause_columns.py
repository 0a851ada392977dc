"""When something was paused, drained or retired, by whom and why: in its row and in words."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone

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


def _one_line(text: str) -> str:
    """The text without line breaks, repeated blanks and what cannot be printed."""
    return "".join(filter(str.isprintable, " ".join(text.split())))
