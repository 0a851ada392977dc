"""The recommendation for programs; `document.schema.json` beside this file describes every key.

Keys are only added while `version` stays the same. The schema is a contract with other programs:
it is written by hand, not generated from this code, and tests validate every export with it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Set
from typing import Any

from tuning.catalogue.facts import Dynamic
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import ServerTraits
from tuning.configs.notes import Note
from tuning.export.facts import Effect, ExportFacts, LinesEvidence, ObjectiveEffect
from tuning.export.lines import Line, changed_names, lines_of
from tuning.export.safety import durability_of_export, require_acknowledged, warnings
from tuning.export.words import not_tested
from tuning.scale_model.model import ScaleModel

FORMAT = "mysql-oltp-tuning-advisor/export"
VERSION = 1
_ON_THE_FLY = {Dynamic.GLOBAL: True, Dynamic.SESSION: True, Dynamic.RESTART: False}


def export_document(
    facts: ExportFacts, *, acknowledged: Durability = Durability.D0
) -> dict[str, Any]:
    """Plain values, ready for JSON; raises TuningError if a risk was not acknowledged."""
    require_acknowledged(facts, acknowledged)
    changed = changed_names(facts)
    return {
        "format": FORMAT,
        "version": VERSION,
        "study": {"text": facts.study, "url": facts.study_url or None, "date": facts.date},
        "device": facts.device,
        "server": _server(facts.server),
        "candidate": facts.candidate,
        "baseline": facts.baseline,
        "origin": facts.source,
        "verdict": facts.verdict,
        "durability": f"{durability_of_export(facts)}",
        "warnings": list(warnings(facts)),
        "data_bytes": facts.data_bytes,
        "proportion": facts.proportion,
        "scale_model": None if facts.model is None else _model(facts, facts.model),
        "workloads": [_workload(effect) for effect in facts.effects],
        "lines": [_line(line, facts, changed) for line in lines_of(facts)],
        "left_out": [_evidence(one) for one in facts.left_out],
        "not_tested": list(not_tested(facts)),
        "notes": [{"name": note.name, **_note(note)} for note in facts.notes],
    }


def render_document(facts: ExportFacts, *, acknowledged: Durability = Durability.D0) -> str:
    """The document as JSON text in ASCII."""
    document = export_document(facts, acknowledged=acknowledged)
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _model(facts: ExportFacts, model: ScaleModel) -> dict[str, Any]:
    return {
        "text": model.sentence,
        "scale": model.scale,
        "data_bytes": model.data_bytes,
        "memory_bytes": model.memory_bytes,
        "model_data_bytes": model.model_data_bytes,
        "model_memory_bytes": model.model_memory_bytes,
        "limits_memory": model.limits_memory,
        "as_measured": facts.as_measured,
    }


def _server(server: ServerTraits) -> dict[str, str]:
    return {
        "flavour": f"{server.flavour}",
        "version": ".".join(str(number) for number in server.version),
        "text": str(server),
    }


def _workload(effect: Effect) -> dict[str, Any]:
    return {
        "workload": effect.workload,
        **_ratio(effect),
        "blocks": effect.blocks,
        "runs": effect.runs,
        "failures": effect.failures,
        "tpmP": _finite(effect.tpmP),
        "p95_ms": _finite(effect.p95_ms),
        "baseline_tpmP": _finite(effect.baseline_tpmP),
        "baseline_p95_ms": _finite(effect.baseline_p95_ms),
        "objective": _objective(effect),
    }


def _objective(effect: Effect) -> dict[str, Any] | None:
    """What decided, where that is not tpmP."""
    one = effect.objective
    return None if one is None else {"metric": one.metric.value, **_ratio(one)}


def _ratio(effect: Effect | ObjectiveEffect | LinesEvidence) -> dict[str, Any]:
    interval = effect.interval
    return {
        "ratio": _finite(effect.ratio),
        "interval": interval
        and {
            "low": _finite(interval.low),
            "high": _finite(interval.high),
            "confidence": _finite(interval.confidence),
        },
    }


def _line(line: Line, facts: ExportFacts, changed: Set[str]) -> dict[str, Any]:
    measured = line.changed and not facts.keeps_baseline
    return {
        "name": line.name,
        "value": line.value,
        "in_model": line.in_model or None,
        "requested": line.requested,
        "effective": line.effective,
        "default": line.default,
        "written": line.written,
        "durability": f"{line.durability}",
        "loses": line.loses or None,
        "costs": [{"kind": f"{one.kind}", "loses": one.loses} for one in line.costs],
        "change": f"{line.dynamic}" if line.dynamic else None,
        "dynamic": _ON_THE_FLY.get(line.dynamic) if line.dynamic else None,
        "scope": line.scope,
        "does": line.knob.does if line.knob else "",
        "effects": [
            {"workload": effect.workload, **_ratio(effect), "alone": len(changed) == 1}
            for effect in (facts.effects if measured else ())
        ],
        "own_effect": _evidence(own) if (own := facts.own(line.name)) else None,
        "notes": [_note(note) for note in facts.notes if note.name == line.name],
    }


def _evidence(one: LinesEvidence) -> dict[str, Any]:
    return {"lines": dict(one.lines), "state": one.state, "text": one.text, **_ratio(one)}


def _note(note: Note) -> dict[str, str]:
    return {"action": f"{note.action}", "detail": note.detail}


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
