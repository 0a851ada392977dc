"""What a study has found as JSON: rankings, boards with verdicts, findings, trust and runs."""

from __future__ import annotations

from math import isfinite
from typing import Any

from advisor.api.serializers.common import NamedDeviceSerializer
from advisor.api.serializers.templates import ClaimSerializer
from tuning.results.boards import Board, Row
from tuning.results.confirmations import Confirming
from tuning.results.study_result import StudyResult
from tuning.statistics.ranking import Metric, Ranked
from tuning.study_templates.evaluation import Finding


def ranking_of(result: StudyResult) -> list[dict[str, Any]]:
    """One row per candidate, device, number of connections and durability class, best first by
    tpmP within each of these; the baseline is in every one.
    """
    return [row for board in result.boards for row in _board_rows(board)]


def results_document(result: StudyResult) -> dict[str, Any]:
    """Every board's verdict with its evidence, how far the runs can be trusted, and what became
    of the claims of the template's source.
    """
    quality = result.data_quality
    return {
        "boards": [board_document(board) for board in result.boards],
        "trust": {
            "disturbed": quality.disturbed,
            "without_figure": quality.without_figure,
            "still_warming": quality.still_warming,
            "kinds": quality.kinds,
            "unwatched": list(quality.unwatched),
        },
        "findings": [_finding(one, result) for one in result.findings],
    }


def board_document(board: Board) -> dict[str, Any]:
    """The verdict is that among candidates that can be recommended: by tpmP, none that failed."""
    judgement = board.for_advice
    analysis, drift = judgement.analysis, judgement.drift
    return {
        "device": board.device.data_dir,
        "device_id": board.device.pk,
        "connections": board.workload.connections,
        "durability": str(board.durability),
        "blocks": analysis.blocks,
        "verdict_kind": judgement.verdict.kind.value,
        "verdict": judgement.verdict.sentence,
        "winner": analysis.winner,
        "noise_floor": _finite(analysis.floor),
        "run_noise": _finite(analysis.run_noise),
        "same_config_ratio": _finite(analysis.same),
        "pareto": list(board.pareto),
        "confirmations": [_confirmation(one) for one in board.confirming],
        "drift": drift
        and {
            "change": drift.change,
            "minutes": drift.minutes,
            "p": drift.p,
            "is_named": drift.is_named,
        },
        "excluded_runs": board.excluded_runs,
        **NamedDeviceSerializer(board).data,
    }


def run_documents(result: StudyResult) -> list[dict[str, Any]]:
    """Every run of the study in its order, those that were measured again included."""
    devices = {
        pk: NamedDeviceSerializer({"device": device}).data for pk, device in result.devices.items()
    }
    return [
        {
            "id": line.run.pk,
            "order": line.slot.order,
            "config": line.slot.candidate.name,
            "block": line.slot.block,
            "purpose": line.slot.purpose,
            "twin": line.slot.twin,
            "device_id": line.slot.device_id,
            "connections": line.slot.workload.connections,
            "state": line.run.state,
            "reason": line.run.reason,
            "tpmP": line.run.tpmP,
            "tpmP_at_most": line.run.tpmP_at_most,
            "p95_ms": line.run.p95_ms,
            "server_path_length": line.run.server_path_length,
            "started_at": line.run.started_at and line.run.started_at.isoformat(),
            "still_warming": line.run.still_warming,
            "trend_pct": line.run.trend_pct,
            "disturbances": line.run.disturbances,
            "measured_again_as": line.again and line.again.pk,
            **devices[line.slot.device_id],
        }
        for line in result.history
    ]


def _board_rows(board: Board) -> list[dict[str, Any]]:
    by = {
        metric: {line.candidate: line for line in judgement.ranked}
        for metric, judgement in board.judgements.items()
    }
    return [_row(board, row, by) for row in board.rows]


def _row(board: Board, row: Row, by: dict[Metric, dict[str, Ranked]]) -> dict[str, Any]:
    line = row.ranked
    place = _place(line)
    return {
        "rank": line.rank,
        "config": row.candidate.name,
        "outcome": line.outcome,
        "tpmP": line.tpmP,
        "ratio_to_baseline": line.ratio_to_baseline,
        "p95_ms": line.p95_ms,
        "p99_ms": line.p99_ms,
        "max_ms": line.max_ms,
        "server_path_length": line.server_path_length,
        "host_path_length": line.host_path_length,
        "runs": line.runs,
        "connections": board.workload.connections,
        "device": board.device.data_dir,
        "durability": str(board.durability),
        **{name: value for name, value in place.items() if name not in ("rank",)},
        "at_most": line.at_most,
        "cut_short": line.cut_short,
        "failures": line.failures,
        "left_after_block": row.left.after_block if row.left else None,
        "left_reason": row.left.reason if row.left else "",
        "on_pareto_front": row.candidate.name in board.pareto,
        "by": {metric.value: _place(lines[row.candidate.name]) for metric, lines in by.items()},
        "device_id": board.device.pk,
        **NamedDeviceSerializer(board).data,
    }


def _place(line: Ranked) -> dict[str, Any]:
    return {
        "rank": line.rank,
        "ratio_to_baseline": line.ratio_to_baseline,
        "interval_low": _finite(line.interval.low) if line.interval else None,
        "interval_high": _finite(line.interval.high) if line.interval else None,
        "tied_with": list(line.tied_with),
        "better": line.better,
        "worse": line.worse,
    }


def _confirmation(one: Confirming) -> dict[str, Any]:
    found = one.found
    interval = found.interval if found else None
    return {
        "candidate": one.candidate.name,
        "state": found.state.value if found else "measuring",
        "pairs_done": one.done,
        "pairs": one.planned,
        "ratio_to_baseline": found.ratio if found else None,
        "interval_low": interval.low if interval else None,
        "interval_high": interval.high if interval else None,
        "sentence": found.sentence if found else "",
    }


def _finding(one: Finding, result: StudyResult) -> dict[str, Any]:
    """The claim as the list of templates has it, and what one place of the study says of it."""
    device = None if one.device_id is None else result.devices[one.device_id]
    interval = one.interval
    return {
        **ClaimSerializer(one.claim).data,
        "finding": one.kind.value,
        "sentence": one.sentence,
        "ratio": _finite(one.ratio),
        "interval_low": _finite(interval.low) if interval else None,
        "interval_high": _finite(interval.high) if interval else None,
        "device": device and device.data_dir,
        "device_id": one.device_id,
        "device_name": device and str(device),
        "device_kind": one.device_kind,
        "emulated": device and bool(device.emulation_label),
        "emulation": device and device.emulation_label,
        "connections": one.connections,
    }


def _finite(value: float | None) -> float | None:
    """JSON has no infinity, which is how far a bound from two blocks may lie."""
    return value if value is not None and isfinite(value) else None
