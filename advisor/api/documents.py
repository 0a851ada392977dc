"""Studies as JSON: the one place that says what the API and `advise --json` answer.

Numbers are plain: tpmP in New-Orders per minute, times in ms, path lengths in CPU cycles per
New-Order; null where there is no figure. Keys only ever get added.
"""

from __future__ import annotations

from typing import Any

from advisor.api.device_documents import device_reference, named_device
from advisor.api.results import ranking_of, results_document
from advisor.api.times import time_text
from advisor.pages.check.report import summary_of
from tuning.catalogue.knob import Durability
from tuning.errors import Problem
from tuning.export import FORMATS
from tuning.export.safety import losing_lines
from tuning.models import Candidate, Recommendation, Study
from tuning.results.boards import boards
from tuning.results.evidence import export_facts
from tuning.results.exports import my_cnf_of
from tuning.studies.check import CheckedText
from tuning.studies.progress import study_progress


def study_document(study: Study) -> dict[str, Any]:
    """The whole answer: `{"study", "ranking", "recommendation", "candidates", "recommendations",
    "boards", "trust", "findings"}`.

    `recommendation` is None when the study has none; where it has several it is the first of
    `recommendations`: of the first device and the fewest connections the safest class.
    """
    found = boards(study)
    rows = study.recommendations.select_related("candidate", "device", "workload")
    recommendations = [
        recommendation_document(one)
        for one in rows.order_by("device_id", "workload__connections", "durability")
    ]
    return {
        "study": study_summary(study),
        "ranking": ranking_of(found),
        "recommendation": recommendations[0] if recommendations else None,
        "candidates": candidate_documents(study),
        "recommendations": recommendations,
        **results_document(study, found),
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
        "devices": [device_reference(device) for device in study.devices.all()],
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
        "races": study.races,
        "confirms": study.confirms,
        "budget_minutes": study.budget_minutes,
        "keeps_duplicates": study.keeps_duplicates,
        "conclusions": study.conclusions,
        "created_at": time_text(study.created_at),
        "started_at": time_text(study.started_at),
        "finished_at": time_text(study.finished_at),
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
            "pair": progress.pair,
            "pairs": progress.pairs,
            "device": progress.device,
        },
        "candidates": candidate_documents(study),
    }


def candidate_documents(study: Study) -> list[dict[str, Any]]:
    """What is measured: its values, how they came about and how they were checked."""
    found = study.candidates.select_related("config", "merged_into")
    return [_candidate(candidate) for candidate in found]


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "name": candidate.name,
        "is_baseline": candidate.is_baseline,
        "durability": candidate.durability,
        "source": candidate.source,
        "knobs": candidate.config.knobs,
        "notes": candidate.notes,
        "lines": candidate.lines,
        "checks": [
            {
                "stage": check["stage"],
                "reached": check.get("reached", True),
                "passed": check["passed"],
                "seconds": check["seconds"],
                "problems": [
                    {"line": one["line"], "option": one["name"], "reason": one["reason"]}
                    for one in check["problems"]
                ],
                "differences": check["differences"],
                "log_tail": check["log_tail"],
            }
            for check in candidate.checks
        ],
        "refusal": candidate.refusal,
        "merged_into": candidate.merged_into and candidate.merged_into.name,
    }


def ranking_rows(study: Study) -> list[dict[str, Any]]:
    """The rankings as they stand, also while the study runs."""
    return ranking_of(boards(study))


def recommendation_document(recommendation: Recommendation) -> dict[str, Any]:
    """What won and what it costs; no file text before its durability class is acknowledged."""
    losses = losing_lines(export_facts(recommendation))
    needed = max((line.durability for line in losses), default=Durability.D0)
    return {
        "config": recommendation.candidate.name,
        "device": recommendation.device.data_dir,
        "ratio_to_baseline": recommendation.ratio_to_baseline,
        "verdict": recommendation.verdict,
        "my_cnf": my_cnf_of(recommendation) if needed is Durability.D0 else None,
        "device_id": recommendation.device_id,
        "durability": recommendation.durability,
        "acknowledge": needed.value,
        "losses": [
            {
                "name": line.name,
                "value": line.value,
                "durability": line.durability.value,
                "loses": line.loses,
            }
            for line in losses
        ],
        "formats": list(FORMATS),
        "connections": recommendation.workload.connections,
        "kind": recommendation.kind,
        "interval_low": recommendation.low,
        "interval_high": recommendation.high,
        "selected_ratio": recommendation.selected_ratio,
        "noise_floor": recommendation.noise_floor,
        "confirmation": recommendation.confirmation,
        **named_device(recommendation.device),
    }


def checked_document(checked: CheckedText) -> dict[str, Any]:
    """What would become of a my.cnf, line by line."""
    report = checked.report
    return {
        "name": report.source,
        "target": str(checked.target),
        "is_fine": not report.problems,
        "summary": summary_of(checked),
        "durability": checked.durability.value,
        "lines": [
            {
                "line": line.line,
                "name": line.name,
                "given": line.given,
                "action": line.action.value,
                "became": [list(pair) for pair in line.became],
                "detail": line.detail,
            }
            for line in report.lines
        ],
        "problems": [_problem(problem) for problem in report.problems],
        "notes": [
            {"name": note.name, "action": note.action.value, "detail": note.detail}
            for note in report.notes
        ],
        "knobs": report.knobs,
        "my_cnf": checked.cnf or None,
    }


def _problem(problem: Problem) -> dict[str, Any]:
    return {"line": problem.line, "option": problem.name, "reason": problem.reason}
