"""A gate as its files, its page and the API show it."""

from __future__ import annotations

from django.db.models import QuerySet

from tuning.export.gate_files import ERROR, RUNNING, GateFacts
from tuning.models import Candidate, GateVerdict, Study, StudyState
from tuning.stored_documents import document_of


def gates() -> QuerySet[Study]:
    """All gates, with what their facts need."""
    return Study.objects.filter(gate__isnull=False).select_related(
        "server", "host", "gate_verdict"
    )


def gate_facts(study: Study, *, url: str = "") -> GateFacts:
    """Return what is known of a gate now; `url` is that of its page."""
    document = document_of(study)
    rows = study.candidates.select_related("config", "server")
    sides = {one.is_baseline: _side(one) for one in rows}
    verdict = verdict_of(study)
    result = document.gate if verdict != ERROR else None
    return GateFacts(
        id=study.pk,
        name=study.name,
        verdict=verdict,
        reason=result.reason if result else f"{study.reason_code}: {study.reason}",
        candidate=sides[False],
        baseline=sides[True],
        place=f"{study.host}, {document.devices[0].name}, {document.workloads[0].name}",
        binary_log=study.binary_log,
        created_at=study.created_at.isoformat(timespec="seconds"),
        result=result,
        url=url,
    )


def verdict_of(study: Study) -> str:
    """Return the verdict; "running" before it has one, "error" where it ended without."""
    stored: GateVerdict | None = getattr(study, "gate_verdict", None)
    if stored is not None:
        return stored.verdict
    return ERROR if study.state in (StudyState.FAILED, StudyState.CANCELLED) else RUNNING


def _side(one: Candidate) -> str:
    return f"{one.name} ({one.config.hash[:12]}) on {one.measured_on}"
