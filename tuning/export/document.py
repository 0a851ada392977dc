"""The recommendation for programs: JSON, whose schema is docs/reference/export.schema.json."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tuning.catalogue.facts import Dynamic
from tuning.export.facts import ExportFacts
from tuning.export.lines import Line, losing_lines
from tuning.export.texts import durability_of_export
from tuning.results.document import Estimate, Figures, LinesEffect


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExportedNote(_Part):
    name: str
    action: str
    detail: str


class ExportedLine(_Part):
    """A recommended variable. value: to set. in_model: what `value` was in the scale model.

    written: false for the server's own default. change: whether a running server takes the value:
    now, restart, file or nothing. evidence: what was measured of it. loses, costs: "" and empty if
    nothing.
    """

    name: str
    value: str
    requested: str
    effective: str | None
    default: str | None
    in_model: str | None
    unit: str
    written: bool
    does: str
    evidence: str
    dynamic: bool | None = Field(description="null: partly, or unknown")
    change: Literal["now", "restart", "file", "nothing"] | None
    durability: str
    loses: str
    costs: dict[str, str]


class ExportDocument(_Part):
    """effect: of throughput. objective: of `metric`, where another metric decided."""

    format: Literal["mysql-oltp-tuning-advisor/export"] = "mysql-oltp-tuning-advisor/export"
    version: Literal[2] = 2
    study: str
    url: str
    date: str
    device: str
    server: str
    candidate: str
    baseline: str
    origin: str
    verdict: str
    durability: str
    warnings: list[str]
    data_bytes: int
    proportion: str
    scale_model: str
    as_measured: bool
    workload: str
    runs: int
    failures: int
    figures: Figures
    baseline_figures: Figures
    effect: Estimate | None
    metric: str
    objective: Estimate | None
    lines: list[ExportedLine]
    left_out: list[LinesEffect]
    not_tested: list[str]
    notes: list[ExportedNote]


def render_document(facts: ExportFacts, lines: Sequence[Line]) -> str:
    """Return the document as JSON text in ASCII."""
    effect = facts.effect
    found = ExportDocument(
        study=facts.study,
        url=facts.study_url,
        date=facts.date,
        device=facts.device,
        server=str(facts.server),
        candidate=facts.candidate,
        baseline=facts.baseline,
        origin=facts.source,
        verdict=facts.verdict,
        durability=durability_of_export(facts, lines).value,
        warnings=[one.cost for one in losing_lines(lines, facts)],
        data_bytes=facts.data_bytes,
        proportion=facts.proportion,
        scale_model=facts.model.sentence if facts.model else "",
        as_measured=facts.as_measured,
        workload=effect.workload,
        runs=effect.runs,
        failures=effect.failures,
        figures=effect.figures,
        baseline_figures=effect.baseline,
        effect=effect.tpmP,
        metric=effect.metric.value,
        objective=effect.objective,
        lines=list(_lines(lines)),
        left_out=list(facts.left_out),
        not_tested=list(facts.not_tested()),
        notes=[
            ExportedNote(name=one.name, action=one.action.value, detail=one.detail)
            for one in facts.notes
        ],
    )
    return found.model_dump_json(indent=2, ensure_ascii=True) + "\n"


_DYNAMIC = {Dynamic.GLOBAL: True, Dynamic.SESSION: True, Dynamic.RESTART: False}


def _lines(lines: Iterable[Line]) -> Iterable[ExportedLine]:
    for line in lines:
        yield ExportedLine(
            name=line.name,
            value=line.value,
            requested=line.requested,
            effective=line.effective,
            default=line.default,
            in_model=line.in_model or None,
            unit=line.knob.unit if line.knob else "",
            written=line.written,
            does=line.knob.does if line.knob else "",
            evidence=line.evidence,
            dynamic=_DYNAMIC.get(line.dynamic) if line.dynamic else None,
            change=line.change.how.value if line.change else None,
            durability=line.durability.value,
            loses=line.loses,
            costs={one.kind.value: one.loses for one in line.costs},
        )
