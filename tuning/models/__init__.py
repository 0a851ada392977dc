"""The rows of the floor `tuning`: studies, what they run, and their answers."""

from __future__ import annotations

from tuning.models.answers import (
    GateVerdict,
    Recommendation,
    StoredDocument,
)
from tuning.models.runs import (
    TROUBLE,
    VARIANT_PURPOSES,
    Candidate,
    CrashSlot,
    Elimination,
    EventKind,
    Slot,
    SlotPurpose,
    StudyEvent,
)
from tuning.models.studies import (
    ACTIVE_STUDY_STATES,
    DurabilityClass,
    RequestedOnce,
    ServerProfile,
    Study,
    StudyGroup,
    StudyState,
)

__all__ = [
    "ACTIVE_STUDY_STATES",
    "TROUBLE",
    "VARIANT_PURPOSES",
    "Candidate",
    "CrashSlot",
    "DurabilityClass",
    "Elimination",
    "EventKind",
    "GateVerdict",
    "Recommendation",
    "RequestedOnce",
    "ServerProfile",
    "Slot",
    "SlotPurpose",
    "StoredDocument",
    "Study",
    "StudyEvent",
    "StudyGroup",
    "StudyState",
]
