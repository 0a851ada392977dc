"""Makes the result document of a study from its rows.

Each figure that is shown is computed here, or in the modules of this package that only this one
calls, and nowhere else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.emulation.shipped import NATIVE
from benchmarks.models import Device, RunState, Workload
from tuning.models import Candidate, Study, StudyState
from tuning.models import Recommendation as RecommendationRow
from tuning.results import document as doc
from tuning.results.ablation import Ablations
from tuning.results.boards import Board, missed_text
from tuning.results.confirmations import FreshPairs
from tuning.results.findings import findings_of, template_of
from tuning.results.gate import gate_document
from tuning.results.prices import price_of
from tuning.results.quality import quality_of
from tuning.results.search import search_of
from tuning.results.sentences import proportion_text, recovery_sentence
from tuning.results.study_result import BoardKey, StudyResult, board_key_of
from tuning.results.write_debt import (
    debt_sentence,
    debtors_of,
)
from tuning.statistics.confirmation import Confirmation, ConfirmationState
from tuning.statistics.data import Metric
from tuning.statistics.drift import Drift
from tuning.statistics.ranking import Judgement, Ranked
from tuning.study_templates.claims import Claim


def build(result: StudyResult, *, is_over: bool = False) -> doc.StudyDocument:
    """Return the document of a study as its rows are now.

    is_over: whether the study ends now, before its row says so.
    """
    study, template, findings = result.study, template_of(result.study), findings_of(result)
    numbers: dict[Claim, int] = {}
    for finding in findings:
        numbers.setdefault(finding.claim, len(numbers) + 1)
    inputs = Ablations.in_study(study, result.candidates.values(), is_over=is_over)
    ablations = {board.key: inputs.of(board) for board in result.boards}
    return doc.StudyDocument(
        schema_version=doc.SCHEMA_VERSION,
        revision=study.revision,
        study=_study(result),
        devices=tuple(map(_device, result.devices.values())),
        workloads=tuple(map(_workload, result.workloads.values())),
        candidates=_candidates(result),
        runs=result.runs,
        boards=_boards(result, ablations if study.ablates else {}),
        search=search_of(result),
        gate=gate_document(result) if study.gate is not None else None,
        quality=quality_of(result.slots, result.runs),
        repeats=template.repeats if template else "",
        claims=tuple(_claim(number, one) for one, number in numbers.items()),
        findings=tuple(
            doc.Finding(
                claim=numbers[one.claim],
                kind=one.kind.value,
                said=one.said,
                sentence=one.sentence,
                estimate=doc.Estimate.of(one.ratio, one.interval),
                device_id=one.device_id,
                device_kind=one.device_kind,
                connections=one.connections,
            )
            for one in findings
        ),
        can_be_ablated=_can_be_ablated(result, ablations.values()),
    )


def _can_be_ablated(result: StudyResult, ablations: Iterable[doc.Ablation | None]) -> bool:
    """Return whether an ablation of a confirmed winner would measure anything."""
    study = result.study
    states = {one.confirmation for one in result.recommendations}
    return (
        study.state == StudyState.FINISHED
        and study.concluded_at is None
        and ConfirmationState.CONFIRMED in states
        and any(one.is_left for one in ablations if one is not None)
    )


def _study(result: StudyResult) -> doc.StudyFacts:
    study = result.study
    places = [(d, w) for d in result.devices.values() for w in result.workloads.values()]
    texts = (proportion_text(study, device, workload) for device, workload in places)
    return doc.StudyFacts(
        id=study.pk,
        name=study.name,
        template=study.template,
        host_id=study.host_id,
        server=str(study.server),
        flavour=study.server.flavour,
        server_version=study.server.version,
        state=study.state,
        is_finished=study.is_finished,
        is_paused=study.is_paused,
        is_concluded=study.concluded_at is not None,
        reason_code=study.reason_code,
        reason=study.reason,
        created_at=study.created_at,
        started_at=study.started_at,
        finished_at=study.finished_at,
        durability=study.durability,
        blocks=study.blocks,
        conclusions=study.conclusions,
        races=study.races,
        confirms=study.confirms,
        ablates=study.ablates,
        searches=study.search is not None,
        is_gate=study.gate is not None,
        objective=result.aim.objective,
        limits=tuple(result.aim.limits),
        scale_model=study.scale_model,
        proportions=tuple(dict.fromkeys(text for text in texts if text)),
    )


def _device(device: Device) -> doc.DeviceFacts:
    return doc.DeviceFacts(
        id=device.pk,
        name=str(device),
        kind=device.kind,
        what=device.what,
        data_dir=device.data_dir,
        log_dir=device.log_dir,
        model=device.model,
        block_device=device.block_device,
        file_system=device.file_system,
        emulation_name=device.profile.name if device.profile else NATIVE,
        emulation_label=device.emulation_label,
        emulation_text=device.profile.text() if device.profile else "",
        emulation_limits=device.profile.limits if device.profile else "",
        is_throttled=device.is_throttled,
        memory_limit_bytes=device.memory_limit_bytes,
    )


def _workload(workload: Workload) -> doc.WorkloadFacts:
    return doc.WorkloadFacts(
        id=workload.pk,
        name=str(workload),
        driver=workload.driver,
        warehouses=workload.warehouses,
        connections=workload.connections,
        warmup_s=workload.warmup_s,
        measure_s=workload.measure_s,
    )


def _candidates(result: StudyResult) -> tuple[doc.CandidateFacts, ...]:
    there = list(result.candidates.values())
    baseline: Mapping[str, str] = next((one.config.knobs for one in there if one.is_baseline), {})
    return tuple(_candidate(one, baseline) for one in there)


def _candidate(one: Candidate, baseline: Mapping[str, str]) -> doc.CandidateFacts:
    knobs = one.config.knobs
    logs = [check["log_tail"] for check in one.checks if check.get("log_tail")]
    return doc.CandidateFacts(
        id=one.pk,
        name=one.name,
        position=one.position,
        is_baseline=one.is_baseline,
        durability=one.durability,
        config_id=one.config_id,
        config_hash=one.config.hash,
        knobs=knobs,
        source=one.source,
        refusal=one.refusal,
        refusal_log="\n".join(logs) if one.refusal else "",
        found_by_search=one.found_by_search,
        taken_from_id=one.taken_from_id,
        without=tuple(one.without),
        merged_into_id=one.merged_into_id,
        logs_with_data=one.logs_with_data,
        changes=sum(knobs.get(name) != baseline.get(name) for name in {*knobs, *baseline}),
        notes=tuple(one.notes),
        lines=tuple(one.lines),
        checks=tuple({**check, "log_tail": ""} for check in one.checks),
    )


def _boards(
    result: StudyResult, ablations: Mapping[BoardKey, doc.Ablation | None]
) -> tuple[doc.Board, ...]:
    stored = {board_key_of(one): one for one in result.recommendations}
    void = Counter(
        (run.candidate_id, run.device_id, run.workload_id)
        for run in result.runs
        if run.state == RunState.DISTURBED
    )
    ids = {one.name: one.pk for one in result.candidates.values()}
    return tuple(
        _board(result.study, board, ids, void, ablations.get(board.key), stored.get(board.key))
        for board in result.boards
    )


def _board(
    study: Study,
    board: Board,
    ids: Mapping[str, int],
    void: Mapping[tuple[int, int, int], int],
    ablation: doc.Ablation | None,
    stored: RecommendationRow | None,
) -> doc.Board:
    debtors = debtors_of(board)
    judged = dict(board.judgements)
    if not (board.failed or board.over_limits):  # then the advice is about the same ranking
        judged[board.aim.objective] = board.for_advice
    rankings = {metric: _ranking(one, metric, ids) for metric, one in judged.items()}
    return doc.Board(
        device_id=board.device.pk,
        workload_id=board.workload.pk,
        durability=str(board.durability),
        proportion=proportion_text(study, board.device, board.workload),
        baseline_id=board.baseline.pk,
        rows=_rows(board, debtors, void),
        rankings=rankings,
        advice=_ranking(board.for_advice, board.aim.objective, ids),
        leader_id=ids[board.leader] if board.leader else None,
        has_figures=board.has_figures,
        is_raced=bool(board.slots),
        blocks_begun=len({slot.block for slot in board.slots if slot.run.is_done}),
        excluded=tuple(board.excluded),
        pareto=tuple(ids[name] for name in board.pareto),
        failed=tuple(ids[name] for name in board.failed),
        confirmations=tuple(_confirmation(board, one) for one in board.fresh_pairs),
        debtors=tuple(debtors),
        debt_sentence=debt_sentence(debtors, {pk: name for name, pk in ids.items()}),
        crash_tests=tuple(
            doc.CrashTest(
                candidate_id=ids[name],
                state=test.state,
                reason=test.reason,
                seconds=tuple(test.seconds),
                kills=tuple(test.kills),
                too_slow=board.not_recovered.get(name, ""),
                sentence=recovery_sentence(name, test),
            )
            for name, test in board.crash_tests.items()
        ),
        ablation=ablation,
        recommendation=_recommendation(stored) if stored else None,
    )


def _rows(
    board: Board, debtors: Sequence[doc.Debtor], void: Mapping[tuple[int, int, int], int]
) -> tuple[doc.BoardRow, ...]:
    ok = [slot for slot in board.slots if slot.run.state == RunState.OK]
    warming = Counter(slot.candidate_id for slot in ok if slot.run.still_warming)
    owing = {one.candidate_id: one.marked for one in debtors}
    found = []
    for row in board.rows:
        pk, line, left = row.candidate.pk, row.ranked, row.left
        price = price_of([slot.run for slot in ok if slot.candidate_id == pk])
        found.append(
            doc.BoardRow(
                candidate_id=pk,
                outcome=str(line.outcome),
                figures=_figures(line),
                runs=line.runs,
                failures=line.failures,
                cut_short=line.cut_short,
                disturbed=void.get((pk, board.device.pk, board.workload.pk), 0),
                warming=warming[pk],
                owing=owing.get(pk, 0),
                left=doc.Elimination(after_block=left.after_block, reason=left.reason)
                if left
                else None,
                missed=missed_text(board, row.candidate.name),
                user_megacycles=price.user_megacycles,
                sys_megacycles=price.sys_megacycles,
                written_kb=price.written_kb,
            )
        )
    return tuple(found)


def _figures(line: Ranked) -> doc.Figures:
    return doc.Figures(
        throughput=line.tpmP,
        p95_ms=line.p95_ms,
        p99_ms=line.p99_ms,
        max_ms=line.max_ms,
        server_path_length=line.server_path_length,
        host_path_length=line.host_path_length,
    )


def _ranking(found: Judgement, metric: Metric, ids: Mapping[str, int]) -> doc.Ranking:
    analysis = found.analysis
    return doc.Ranking(
        metric=metric,
        standings=tuple(
            doc.Standing(
                candidate_id=ids[line.candidate],
                rank=line.rank,
                estimate=doc.Estimate.of(line.ratio_to_baseline, line.interval),
                blocks=line.blocks,
                tied_with=tuple(ids[name] for name in line.tied_with),
                better=line.better,
                worse=line.worse,
                at_most=doc.finite(line.at_most),
            )
            for line in found.ranked
        ),
        verdict=doc.Verdict(
            kind=found.verdict.kind.value,
            candidate_id=ids[found.verdict.candidate],
            sentence=found.verdict.sentence,
        ),
        winner_id=ids[analysis.winner] if analysis.winner else None,
        noise_floor=doc.finite(analysis.floor),
        run_noise=doc.finite(analysis.run_noise),
        same=doc.finite(analysis.same),
        blocks=analysis.blocks,
        drift=_drift(found.drift),
    )


def _drift(found: Drift | None) -> doc.Drift | None:
    if found is None:
        return None
    return doc.Drift(
        change=found.change,
        minutes=found.minutes,
        p=found.p,
        runs=found.runs,
        is_named=found.is_named,
    )


def _confirmation(board: Board, one: FreshPairs) -> doc.Confirmation:
    found = one.found
    throughput = board.throughputs[one.candidate.name] if found else None
    return doc.Confirmation(
        candidate_id=one.candidate.pk,
        pairs=tuple(
            doc.Pair(
                block=pair.block,
                winner=pair.winner,
                baseline=pair.baseline,
                is_finished=pair.is_finished,
            )
            for pair in one.pairs
        ),
        pairs_done=one.done,
        state=found.state.value if found else "measuring",
        whole_pairs=found.pairs if found else 0,
        estimate=_confirmed(found),
        throughput_pairs=throughput.pairs if throughput else 0,
        throughput=_confirmed(throughput),
        sentence=found.sentence if found else "",
    )


def _confirmed(found: Confirmation | None) -> doc.Estimate | None:
    return doc.Estimate.of(found.ratio, found.interval) if found else None


def _recommendation(row: RecommendationRow) -> doc.Recommendation:
    decided = None
    if row.objective_ratio is not None:
        bounds = row.objective_low, row.objective_high, row.confidence
        decided = _stored_estimate(row.objective_ratio, *bounds)
    return doc.Recommendation(
        id=row.pk,
        candidate_id=row.candidate_id,
        whole_id=row.whole_id,
        kind=row.kind,
        effect=_stored_estimate(row.ratio_to_baseline, row.low, row.high, row.confidence),
        selected_ratio=row.selected_ratio,
        objective=Metric(row.objective),
        objective_effect=decided,
        noise_floor=row.noise_floor,
        confirmation=row.confirmation,
        sentence=row.verdict,
    )


def _stored_estimate(
    ratio: float, low: float | None, high: float | None, confidence: float | None
) -> doc.Estimate:
    if low is None or high is None:
        return doc.Estimate(ratio=ratio)
    return doc.Estimate(ratio=ratio, low=low, high=doc.finite(high), confidence=confidence)


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
