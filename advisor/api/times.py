"""Moments as the API writes them."""

from __future__ import annotations

from datetime import datetime


def time_text(moment: datetime | None) -> str | None:
    """ISO 8601 with its offset; null for what has not happened."""
    return moment.isoformat() if moment else None
