"""What a pause writes into a study's row, whoever asks for it."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

# The lengths of the columns.
MAX_PAUSE_REASON = 200
MAX_PAUSED_BY = 150


def pause_columns(by: str, reason: str) -> dict[str, Any]:
    """The columns of a study that is paused now; both texts become one line of fitting length."""
    return {
        "paused_at": timezone.now(),
        "paused_by": one_line(by)[:MAX_PAUSED_BY],
        "pause_reason": one_line(reason)[:MAX_PAUSE_REASON],
    }


def one_line(text: str) -> str:
    """The text without line breaks, repeated blanks and what cannot be printed."""
    return "".join(filter(str.isprintable, " ".join(text.split())))
