"""The events of a study as its page shows them."""

from __future__ import annotations

from typing import Any

from tuning.models import EventKind, Study

#: How many events are seen at once, and how many are listed at all.
SHOWN, LISTED = 5, 100
TONES = {
    EventKind.CLAIMED: "busy",
    EventKind.MEASURED: "ok",
    EventKind.DISTURBED: "warn",
    EventKind.LOST: "warn",
    EventKind.CUT_SHORT: "warn",
    EventKind.LEFT_THE_RACE: "warn",
    EventKind.FAILED: "bad",
    EventKind.PAUSED: "warn",
}


def events_context(study: Study) -> dict[str, Any]:
    """The newest events first, each with the tone of its badge, and the others."""
    events = list(study.events.all()[: LISTED + 1])
    lines = [(event, TONES.get(EventKind(event.kind), "")) for event in events[:LISTED]]
    return {
        "events": lines[:SHOWN],
        "older_events": lines[SHOWN:],
        "has_more_events": len(events) > LISTED,
    }
