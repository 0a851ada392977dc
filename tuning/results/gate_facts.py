"""A gate's row as its files, its page and the API show it."""

from __future__ import annotations

from django.db.models import QuerySet

from tuning.export.gate_files import ERROR, RUNNING, GateFacts
from tuning.models import Candidate, GateVerdict, Study, StudyState
from tuning.results.gates import gate_document
from tuning.results.study_result import StudyResult


def gates() -> QuerySet[Study]:
    """All gates, with what their facts need."""
    return Study.objects.filter(gate__isnull=False).select_related(
        "server", "host", "gate_verdict"
    )


def gate_facts(study: Study, *, url: str = "") -> GateFacts:
    """What is known of a gate now; `url` is that of its page."""
    result = StudyResult(study)
    rows = list(result.candidates.values())
    baseline = next(one for one in rows if one.is_baseline)
    candidate = next(one for one in rows if not one.is_baseline)
    verdict = verdict_of(study)
    has_result = verdict != ERROR
    document = gate_document(result) if has_result else {}
    reason = str(document["reason"]) if has_result else f"{study.reason_code}: {study.reason}"
    device = next(iter(result.devices.values()))
    workload = next(iter(result.workloads.values()))
    return GateFacts(
        id=study.pk,
        name=study.name,
        verdict=verdict,
        reason=reason,
        candidate=_side(candidate),
        baseline=_side(baseline),
        place=f"{study.host}, {device}, {workload}",
        binary_log=study.binary_log,
        created_at=study.created_at.isoformat(timespec="seconds"),
        result=document,
        url=url,
    )


def verdict_of(study: Study) -> str:
    """Its verdict; "running" before it has one, "error" where it ended without."""
    stored: GateVerdict | None = getattr(study, "gate_verdict", None)
    if stored is not None:
        return stored.verdict
    return ERROR if study.state in (StudyState.FAILED, StudyState.CANCELLED) else RUNNING


def _side(one: Candidate) -> str:
    return f"{one.name} ({one.config.hash[:12]}) on {one.measured_on}"
