"""The recommendation for programs: JSON, whose schema is docs/reference/export.schema.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tuning.configs.notes import Note
from tuning.export.facts import Effect, ExportFacts
from tuning.export.lines import Line, losing_lines
from tuning.export.texts import durability_of_export
from tuning.results.document import LinesEffect


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True)


class ExportedLine(_Part):
    """A recommended variable; fields as in `tuning.export.lines.Line`.

    value: to set; of sizes in bytes. how: when a running server takes it: now, restart, file or
    nothing; null: unknown.
    """

    name: str
    value: str
    requested: str
    effective: str | None
    default: str | None
    in_model: str
    written: bool
    does: str
    evidence: str
    how: str | None
    durability: str
    loses: str
    costs: dict[str, str]


class ExportDocument(_Part):
    """warnings: what lines may lose, also of values that no line sets. scale_model: in words."""

    format: Literal["mysql-oltp-tuning-advisor/export"] = "mysql-oltp-tuning-advisor/export"
    version: Literal[2] = 2
    study: str
    study_url: str
    date: str
    device: str
    server: str
    candidate: str
    baseline: str
    source: str
    verdict: str
    durability: str
    warnings: list[str]
    data_bytes: int
    proportion: str
    scale_model: str
    as_measured: bool
    effect: Effect
    lines: list[ExportedLine]
    left_out: list[LinesEffect]
    not_tested: list[str]
    notes: list[Note]


def render_document(facts: ExportFacts, lines: Sequence[Line]) -> str:
    """Return the document as JSON text in ASCII."""
    made = {
        "server": str(facts.server),
        "durability": durability_of_export(facts, lines),
        "warnings": [one.cost for one in losing_lines(lines, facts)],
        "scale_model": facts.model.sentence if facts.model else "",
        "not_tested": list(facts.not_tested()),
        "lines": [
            {name: getattr(line, name) for name in ExportedLine.model_fields}
            | {"costs": {one.kind: one.loses for one in line.costs}}
            for line in lines
        ],
    }
    same = ExportDocument.model_fields.keys() - made.keys() - {"format", "version"}
    found = ExportDocument.model_validate({name: getattr(facts, name) for name in same} | made)
    return found.model_dump_json(indent=2, ensure_ascii=True) + "\n"
