"""The events of a study as its page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from tuning.models import Study
from tuning.studies.events import Event, EventKind, study_events
from tuning.studies.slot_states import SlotState

# Those that are seen at once, and the slots whose runs are listed below them.
SHOWN = 5
NEWEST_RUNS = 40
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


def events_context(study: Study, slots: Sequence[SlotState]) -> dict[str, Any]:
    """The newest events first, each as HTML, and the others."""
    lines = [_line(one) for one in study_events(study, slots, newest_runs=NEWEST_RUNS)]
    return {
        "events": lines[:SHOWN],
        "older_events": lines[SHOWN:],
        "left_out_runs": max(0, len(slots) - NEWEST_RUNS),
    }


# An open page has them again with every step, as they were before.
@lru_cache(maxsize=1024)
def _line(event: Event) -> SafeString:
    tone = TONES.get(event.kind, "")
    return render_to_string("studies/_event.html", {"event": event, "tone": tone})
