"""Makes the result document of a study from its rows.

Each figure that is shown is computed here, or in the modules of this package that only this one
calls, and nowhere else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.models import Device, RunState
from tuning.errors import UnknownTemplate
from tuning.models import Candidate, Recommendation, Study, StudyState
from tuning.results import document as doc
from tuning.results.ablation import ablation_of
from tuning.results.boards import Board, boards_of
from tuning.results.conditions import debt_sentence, debtors_of, limit_sentence, quality_of
from tuning.results.gate import gate_document
from tuning.results.search import search_of
from tuning.results.sentences import proportion_text, recovery_sentence
from tuning.results.study_rows import StudyRows
from tuning.statistics.confirmation import ConfirmationState
from tuning.statistics.data import Metric
from tuning.statistics.estimate import Estimate
from tuning.statistics.ranking import Judgement, Ranked, pareto_front
from tuning.study_templates.evaluation import ClaimBoard, Finding, evaluate_all
from tuning.study_templates.loader import StudyTemplate, load_template


def build(rows: StudyRows, *, is_over: bool = False) -> doc.StudyDocument:
    """Return the document of a study as its rows are now.

    is_over: whether the study ends now, before its row says so.
    """
    study, template, boards = rows.study, template_of(rows.study), boards_of(rows)
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
            _board(rows, board, found if study.ablates else None)
            for board, found in zip(boards, ablations, strict=True)
        ),
        search=search_of(rows),
        gate=gate_document(rows) if study.gate is not None else None,
        quality=quality_of(rows.runs),
        repeats=template.repeats if template else "",
        claims=template.claims if template else (),
        findings=tuple(findings_of(rows, boards)),
        can_be_ablated=_can_be_ablated(rows, ablations),
    )


def _can_be_ablated(rows: StudyRows, ablations: Iterable[doc.Ablation | None]) -> bool:
    study = rows.study
    return (
        study.state == StudyState.FINISHED
        and study.concluded_at is None
        and any(r.confirmation == ConfirmationState.CONFIRMED for r in rows.recommendations)
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


def _board(rows: StudyRows, board: Board, ablation: doc.Ablation | None) -> doc.Board:
    ids = {one.name: one.pk for one in rows.candidates.values()}
    place = board.device.pk, board.workload.pk
    stored = (
        _recommendation(one)
        for one in rows.recommendations
        if (one.device_id, one.workload_id) == place and one.durability == board.durability
    )
    debtors = debtors_of(board)
    judged = dict(board.judgements)
    if not (board.failed or board.over_limits):  # then the advice is about the same ranking
        judged[board.aim.objective] = board.for_advice
    front = pareto_front([one.analysis for one in board.judgements.values()])
    return doc.Board(
        device_id=place[0],
        workload_id=place[1],
        durability=str(board.durability),
        proportion=proportion_text(rows.study, board.device, board.workload),
        baseline_id=board.baseline.pk,
        rows=_board_rows(rows, board, debtors),
        rankings={metric: _ranking(one, metric, ids) for metric, one in judged.items()},
        advice=_ranking(board.for_advice, board.aim.objective, ids),
        leader_id=ids[board.leader] if board.leader else None,
        has_figures=any(run.counts for run in board.observations),
        is_raced=bool(board.slots),
        blocks_begun=len({slot.block for slot in board.slots if slot.run.is_done}),
        excluded=tuple(board.excluded),
        pareto=tuple(ids[name] for name in front),
        failed=tuple(ids[name] for name in board.failed),
        confirmations=tuple(_confirmation(board, one) for one in board.tried),
        debtors=tuple(debtors),
        debt_sentence=debt_sentence(debtors, {pk: name for name, pk in ids.items()}),
        crash_tests=tuple(
            doc.CrashTest.copied_from(
                test,
                candidate_id=ids[name],
                too_slow=board.not_recovered.get(name, ""),
                sentence=recovery_sentence(name, test),
            )
            for name, test in board.crash_tests.items()
        ),
        ablation=ablation,
        recommendation=next(stored, None),
    )


def _board_rows(
    rows: StudyRows, board: Board, debtors: Sequence[doc.Debtor]
) -> tuple[doc.BoardRow, ...]:
    place = board.device.pk, board.workload.pk
    disturbed = Counter(
        run.candidate_id
        for run in rows.runs
        if run.state == RunState.DISTURBED and run.place == place
    )
    owing = {one.candidate_id: one.marked for one in debtors}
    load_host = str(board.workload.load_host or "")

    def row(line: Ranked) -> doc.BoardRow:
        pk, left = board.candidates[line.name].pk, board.eliminations.get(line.name)
        runs = [slot.run for slot in board.slots if slot.candidate_id == pk and slot.run.is_ok]
        return doc.BoardRow.copied_from(
            line,
            candidate_id=pk,
            figures=doc.Figures.copied_from(line),
            disturbed=disturbed[pk],
            warming=sum(run.still_warming for run in runs),
            owing=owing.get(pk, 0),
            left=doc.Elimination.copied_from(left) if left else None,
            missed=board.missed_text(line.name),
            limit=limit_sentence(runs, load_host),
            price=doc.Price.of(run.costs for run in runs),
        )

    return tuple(map(row, board.judgement.ranked))


def _ranking(found: Judgement, metric: Metric, ids: Mapping[str, int]) -> doc.Ranking:
    analysis, verdict = found.analysis, found.verdict
    return doc.Ranking(
        metric=metric,
        standings=tuple(
            doc.Standing.copied_from(
                line,
                candidate_id=ids[line.name],
                tied_with=tuple(ids[name] for name in line.tied_with),
                at_most=doc.finite(line.at_most),
            )
            for line in found.ranked
        ),
        verdict=doc.Verdict.copied_from(verdict, candidate_id=ids[verdict.candidate]),
        winner_id=ids[analysis.winner] if analysis.winner else None,
        noise_floor=doc.finite(analysis.floor),
        run_noise=doc.finite(analysis.run_noise),
        same=doc.finite(analysis.same),
        blocks=analysis.blocks,
        drift=found.drift,
    )


def _confirmation(board: Board, candidate: Candidate) -> doc.Confirmation:
    pairs, found = board.pairs_of(candidate), board.confirmations.get(candidate.name)
    throughput = board.throughputs[candidate.name] if found else None
    return doc.Confirmation(
        candidate_id=candidate.pk,
        pairs=tuple(pairs),
        pairs_done=sum(pair.is_finished for pair in pairs),
        state=found.state.value if found else "measuring",
        whole_pairs=found.pairs if found else 0,
        estimate=found.estimate if found else None,
        throughput_pairs=throughput.pairs if throughput else 0,
        throughput=throughput.estimate if throughput else None,
        sentence=found.sentence if found else "",
    )


def _recommendation(row: Recommendation) -> doc.Recommendation:
    effect = Estimate(
        ratio=row.ratio_to_baseline, low=row.low, high=row.high, confidence=row.confidence
    )
    gained = None
    if row.objective_ratio is not None:
        bounds = {"low": row.objective_low, "high": row.objective_high}
        gained = Estimate(ratio=row.objective_ratio, confidence=row.confidence, **bounds)
    return doc.Recommendation.copied_from(
        row, effect=effect, objective_effect=gained, sentence=row.verdict
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
    found = [
        ClaimBoard(
            device_id=board.device.pk,
            kind=board.device.kind,
            connections=board.workload.connections,
            analyses={metric: one.analysis for metric, one in board.judgements.items()},
            observations=board.observations,
            alpha=board.alpha,
            same_as={one.name: one.merged_into.name for one in candidates if one.merged_into},
            is_throttled=board.device.is_throttled,
        )
        for board in boards
    ]
    seen = {board.device.pk for board in boards}
    found += [
        ClaimBoard(pk, one.kind, 0, {}) for pk, one in rows.devices.items() if pk not in seen
    ]
    return evaluate_all(template.claims, found)
