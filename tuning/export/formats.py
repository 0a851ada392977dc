"""Every export format by name, with the same request for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tuning.catalogue.knob import Durability
from tuning.errors import TuningError
from tuning.export.answer import answer_of
from tuning.export.facts import ExportFacts
from tuning.export.files import render_ansible, render_my_cnf, render_rds, render_rollback_cnf
from tuning.export.lines import Line, lines_of, losing_lines
from tuning.export.patch import UserFile, read_user_file, render_diff
from tuning.export.sql import render_rollback_sql, render_sql
from tuning.export.texts import durability_of_export, require_acknowledged
from tuning.results.document import Answer, LinesEffect, Recommendation


class ExportedLine(BaseModel):
    """A recommended variable; fields as in `tuning.export.lines.Line`.

    value: to set; of sizes in bytes. how: when a running server takes it: now, restart, file or
    nothing; null: unknown.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

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


class ExportDocument(BaseModel):
    """A recommendation for programs; warnings: what may be lost, also by values that no line sets.

    The study's own document has the figures.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["mysql-oltp-tuning-advisor/export"] = "mysql-oltp-tuning-advisor/export"
    version: Literal[3] = 3
    study: str
    study_url: str
    date: str
    server: str
    candidate: str
    baseline: str
    answer: Answer
    recommendation: Recommendation
    durability: str
    warnings: list[str]
    lines: list[ExportedLine]
    left_out: list[LinesEffect]
    not_tested: list[str]


def render_document(facts: ExportFacts, lines: Sequence[Line], _: UserFile | None) -> str:
    """Return the document as JSON text in ASCII."""
    found = ExportDocument(
        study=facts.study,
        study_url=facts.study_url,
        date=facts.date,
        server=str(facts.server),
        candidate=facts.candidate.name,
        baseline=facts.baseline.name,
        answer=answer_of(facts, lines),
        recommendation=facts.found,
        durability=durability_of_export(facts, lines),
        warnings=[one.cost for one in losing_lines(lines, facts)],
        lines=[
            ExportedLine(
                **{name: getattr(line, name) for name in ExportedLine.model_fields}
                | {"costs": {one.kind: one.loses for one in line.costs}}
            )
            for line in lines
        ],
        left_out=list(facts.left_out),
        not_tested=facts.not_tested,
    )
    return found.model_dump_json(indent=2, ensure_ascii=True) + "\n"


@dataclass(frozen=True)
class ExportRequest:
    """A request for an export.

    format: a name of FORMATS. acknowledged: the least safe durability class that the user
    accepted. current: the bytes of the user's my.cnf, by default those of the file that the
    recommendation came from.
    """

    format: str = "cnf"
    acknowledged: Durability = Durability.D0
    current: bytes | None = None


@dataclass(frozen=True)
class Format:
    """A format: the name and type of its file, a title for people and how it is rendered."""

    file_name: str
    content_type: str
    title: str
    render: Callable[[ExportFacts, Sequence[Line], UserFile | None], str | bytes]


@dataclass(frozen=True)
class Exported:
    """A file to download; the user's own one keeps its encoding."""

    file_name: str
    content_type: str
    data: bytes

    @property
    def text(self) -> str:
        """The file for people."""
        return self.data.decode("utf-8", "replace")


_CNF = "text/plain; charset=utf-8"
_SQL = "application/sql; charset=utf-8"
_YAML = "application/yaml; charset=utf-8"
FORMATS: dict[str, Format] = {
    "cnf": Format("my.cnf", _CNF, "my.cnf", render_my_cnf),
    "diff": Format("my.cnf.diff", "text/x-diff", "Diff against your my.cnf", render_diff),
    "sql": Format("set-persist.sql", _SQL, "SQL for the running server", render_sql),
    "rollback-cnf": Format("rollback.cnf", _CNF, "Rollback: my.cnf", render_rollback_cnf),
    "rollback-sql": Format("rollback.sql", _SQL, "Rollback: SQL", render_rollback_sql),
    "ansible": Format("mysqld.yml", _YAML, "Ansible variables", render_ansible),
    "rds": Format("rds-parameters.yml", _YAML, "RDS parameter group", render_rds),
    "json": Format("recommendation.json", "application/json", "JSON", render_document),
}


def export(facts: ExportFacts, request: ExportRequest) -> Exported:
    """Return the requested file.

    Raises TuningError (unknown_format, durability_not_acknowledged, current_config_needed) and
    InvalidConfig, for a `current` that is no my.cnf.
    """
    wanted = FORMATS.get(request.format)
    if wanted is None:
        reason = f"unknown format {request.format!r}; known are: {', '.join(FORMATS)}"
        raise TuningError("unknown_format", reason, field="format")
    own = request.current if request.current is not None else facts.file
    lines = lines_of(facts)
    require_acknowledged(facts, lines, request.acknowledged)
    current = None if own is None else read_user_file(own, facts.server)
    found = wanted.render(facts, lines, current)
    data = found.encode() if isinstance(found, str) else found
    return Exported(wanted.file_name, wanted.content_type, data)
