"""Makes the result document of a study from its rows.

Each figure that is shown is computed here, or in the modules of this package that only this one
calls, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.emulation.profile import NATIVE
from benchmarks.models import Device
from tuning.errors import UnknownTemplate
from tuning.models import Candidate, Study, StudyState
from tuning.results import document as doc
from tuning.results.ablation import ablation_of
from tuning.results.board import Board
from tuning.results.boards import board_part, boards_of
from tuning.results.gate import gate_document
from tuning.results.quality import quality_of
from tuning.results.search import search_of
from tuning.results.sentences import proportion_text
from tuning.results.study_rows import StudyRows
from tuning.statistics.confirmation import ConfirmationState
from tuning.statistics.data import Metric
from tuning.study_templates.evaluation import ClaimBoard, Finding, evaluate_all
from tuning.study_templates.loader import Claim, StudyTemplate, load_template


def build(rows: StudyRows, *, is_over: bool = False) -> doc.StudyDocument:
    """Return the document of a study as its rows are now.

    is_over: whether the study ends now, before its row says so.
    """
    study, template, boards = rows.study, template_of(rows.study), boards_of(rows)
    claims = template.claims if template else ()
    ablations = [ablation_of(rows, board, is_over=is_over) for board in boards]
    return doc.StudyDocument(
        schema_version=doc.SCHEMA_VERSION,
        revision=study.revision,
        study=_study(rows),
        devices=tuple(map(_device, rows.devices.values())),
        workloads=tuple(
            doc.WorkloadFacts.copied_from(one, name=str(one), kind=one.name)
            for one in rows.workloads.values()
        ),
        candidates=_candidates(rows),
        runs=rows.runs,
        boards=tuple(
            board_part(rows, board, found if study.ablates else None)
            for board, found in zip(boards, ablations, strict=True)
        ),
        search=search_of(rows),
        gate=gate_document(rows) if study.gate is not None else None,
        quality=quality_of(rows.slots, rows.runs),
        repeats=template.repeats if template else "",
        claims=tuple(_claim(number, one) for number, one in enumerate(claims, 1)),
        findings=tuple(findings_of(rows, boards)),
        can_be_ablated=_can_be_ablated(rows, ablations),
    )


def _can_be_ablated(rows: StudyRows, ablations: Iterable[doc.Ablation | None]) -> bool:
    study = rows.study
    states = {one.confirmation for one in rows.recommendations}
    return (
        study.state == StudyState.FINISHED
        and study.concluded_at is None
        and ConfirmationState.CONFIRMED in states
        and any(one.is_left for one in ablations if one is not None)
    )


def _study(rows: StudyRows) -> doc.StudyFacts:
    study = rows.study
    places = [(d, w) for d in rows.devices.values() for w in rows.workloads.values()]
    texts = (proportion_text(study, device, workload) for device, workload in places)
    return doc.StudyFacts.copied_from(
        study,
        server=str(study.server),
        flavour=study.server.flavour,
        server_version=study.server.version,
        is_concluded=study.concluded_at is not None,
        searches=study.search is not None,
        is_gate=study.gate is not None,
        objective=rows.aim.objective,
        limits=rows.aim.limits,
        proportions=tuple(dict.fromkeys(text for text in texts if text)),
    )


def _device(device: Device) -> doc.DeviceFacts:
    profile = device.profile
    return doc.DeviceFacts.copied_from(
        device,
        name=str(device),
        emulation_name=profile.name if profile else NATIVE,
        emulation_text=profile.label() if profile else "",
        emulation_limits=profile.limits if profile else "",
    )


def _candidates(rows: StudyRows) -> tuple[doc.CandidateFacts, ...]:
    there = list(rows.candidates.values())
    baseline: Mapping[str, str] = next((one.config.knobs for one in there if one.is_baseline), {})
    return tuple(_candidate(one, baseline) for one in there)


def _candidate(one: Candidate, baseline: Mapping[str, str]) -> doc.CandidateFacts:
    knobs = one.config.knobs
    logs = [check["log_tail"] for check in one.checks if check.get("log_tail")]
    return doc.CandidateFacts.copied_from(
        one,
        config_hash=one.config.hash,
        knobs=knobs,
        refusal_log="\n".join(logs) if one.refusal else "",
        changes=sum(knobs.get(name) != baseline.get(name) for name in {*knobs, *baseline}),
        checks=[{**check, "log_tail": ""} for check in one.checks],
    )


def _claim(number: int, claim: Claim) -> doc.Claim:
    return doc.Claim(
        number=number,
        says=claim.says,
        source=claim.source,
        published=claim.published,
        device_kinds=tuple(str(one) for one in claim.devices),
        claimed_low=claim.ratio.above,
        claimed_high=claim.ratio.below,
    )


def template_of(study: Study) -> StudyTemplate | None:
    """Return the template of the study; None if its file no longer exists."""
    try:
        return load_template(study.template)
    except UnknownTemplate:
        return None


def findings_of(rows: StudyRows, boards: Sequence[Board]) -> list[Finding]:
    """Return one or more findings per claim, in the order of the template."""
    template = template_of(rows.study)
    if template is None or not template.claims:
        return []
    candidates = rows.candidates.values()
    same_as = {one.name: one.merged_into.name for one in candidates if one.merged_into}
    found = [
        ClaimBoard(
            device_id=board.device.pk,
            kind=board.device.kind,
            connections=board.workload.connections,
            analyses={metric: board.judgements[metric].analysis for metric in Metric},
            observations=board.observations,
            alpha=board.alpha,
            same_as=same_as,
            is_throttled=board.device.is_throttled,
        )
        for board in boards
    ]
    seen = {board.device.pk for board in boards}
    found += [
        ClaimBoard(pk, one.kind, 0, {}) for pk, one in rows.devices.items() if pk not in seen
    ]
    return evaluate_all(template.claims, found)
