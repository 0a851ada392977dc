"""Studies as JSON: the one place that says what the API and `advise --json` answer.

Numbers are plain: tpmP in New-Orders per minute, times in ms, path lengths in CPU cycles per
New-Order; null where there is no figure. Keys only ever get added.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tuning.models import Recommendation, Study
from tuning.services.exports import my_cnf_of
from tuning.services.progress import study_progress
from tuning.services.results import boards


def study_document(study: Study) -> dict[str, Any]:
    """The whole answer: `{"study", "ranking", "recommendation"}`.

    `recommendation` is None when the study has none; with several devices it is the first one's.
    """
    recommendation = (
        study.recommendations.select_related("candidate", "device").order_by("device_id").first()
    )
    return {
        "study": study_summary(study),
        "ranking": ranking_rows(study),
        "recommendation": recommendation and recommendation_document(recommendation),
    }


def study_summary(study: Study) -> dict[str, Any]:
    """What a study is and which state it is in, without its progress and results."""
    return {
        "id": study.pk,
        "name": study.name,
        "template": study.template,
        "state": study.state,
        "reason_code": study.reason_code,
        "reason": study.reason,
        "host": study.host.name,
        "server": {
            "flavour": study.server.flavour,
            "version": study.server.version,
            "path": study.server.path,
        },
        "devices": [
            {"id": device.pk, "kind": device.kind, "data_dir": device.data_dir}
            for device in study.devices.all()
        ],
        "workloads": [
            {
                "driver": workload.driver,
                "warehouses": workload.warehouses,
                "connections": workload.connections,
                "warmup_s": workload.warmup_s,
                "measure_s": workload.measure_s,
            }
            for workload in study.workloads.all()
        ],
        "blocks": study.blocks,
        "seed": study.seed,
        "durability": study.durability,
        "created_at": _time(study.created_at),
        "started_at": _time(study.started_at),
        "finished_at": _time(study.finished_at),
    }


def study_state(study: Study) -> dict[str, Any]:
    """The summary and how far the study is."""
    progress = study_progress(study)
    return {
        **study_summary(study),
        "progress": {
            "fraction": round(progress.fraction, 4),
            "text": progress.text,
            "candidate": progress.candidate,
            "block": progress.block,
            "blocks": progress.blocks,
            "step": progress.step,
            "runs_done": progress.runs_done,
            "runs_total": progress.runs_total,
            "eta_s": None if progress.eta_s is None else round(progress.eta_s, 1),
        },
    }


def ranking_rows(study: Study) -> list[dict[str, Any]]:
    """One row per candidate, device and number of connections, best first within each of these.

    While the study runs these are the medians so far.
    """
    return [
        {
            "rank": row.ranked.rank,
            "config": row.candidate.name,
            "outcome": row.ranked.outcome,
            "tpmP": row.ranked.tpmP,
            "ratio_to_baseline": row.ranked.ratio_to_baseline,
            "p95_ms": row.ranked.p95_ms,
            "p99_ms": row.ranked.p99_ms,
            "max_ms": row.ranked.max_ms,
            "server_path_length": row.ranked.server_path_length,
            "host_path_length": row.ranked.host_path_length,
            "runs": row.ranked.runs,
            "connections": board.workload.connections,
            "device": board.device.data_dir,
        }
        for board in boards(study)
        for row in board.rows
    ]


def recommendation_document(recommendation: Recommendation) -> dict[str, Any]:
    return {
        "config": recommendation.candidate.name,
        "device": recommendation.device.data_dir,
        "ratio_to_baseline": recommendation.ratio_to_baseline,
        "verdict": recommendation.verdict,
        "my_cnf": my_cnf_of(recommendation),
    }


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
