"""Every export format by name, with the same request for all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tuning.catalogue.knob import Durability
from tuning.errors import TuningError
from tuning.export.diff import render_diff
from tuning.export.document import render_document
from tuning.export.facts import ExportFacts
from tuning.export.my_cnf import render_my_cnf
from tuning.export.persist import render_set_persist
from tuning.export.rollback import render_rollback_cnf, render_rollback_sql


@dataclass(frozen=True)
class ExportRequest:
    """A request for an export.

    `format` is a name of FORMATS. `acknowledged` is the least safe durability class that the user
    accepted. `current` are the bytes of the user's my.cnf: the diff requires them, the rollback
    uses them. `as_measured`: values of a scale model are not sized back to the real server.
    `keeps_lines` asks for the winner with all its lines, also those that contribute nothing
    measurable.
    """

    format: str = "cnf"
    acknowledged: Durability = Durability.D0
    current: bytes | None = None
    as_measured: bool = False
    keeps_lines: bool = False


Renderer = Callable[[ExportFacts, ExportRequest], str]


@dataclass(frozen=True)
class Format:
    """A format: the name and type of its file, a title for people and how it is rendered.

    `needs_current`: it requires the user's my.cnf.
    """

    file_name: str
    content_type: str
    title: str
    render: Renderer
    needs_current: bool = False


@dataclass(frozen=True)
class Exported:
    """A file to download; its text is UTF-8."""

    file_name: str
    content_type: str
    text: str


def _fresh(render: Callable[..., str]) -> Renderer:
    """A format that does not depend on the user's own my.cnf."""
    return lambda facts, request: render(facts, acknowledged=request.acknowledged)


def _rollback(render: Callable[..., str]) -> Renderer:
    """A format that restores the user's own my.cnf, if it is given."""
    return lambda facts, request: render(
        facts, acknowledged=request.acknowledged, current=request.current
    )


def _diff(facts: ExportFacts, request: ExportRequest) -> str:
    if request.current is None:
        raise TuningError(
            "current_config_needed",
            "a diff needs your current my.cnf",
            field="current",
        )
    return render_diff(facts, request.current, acknowledged=request.acknowledged)


_CNF = "text/plain; charset=utf-8"
_SQL = "application/sql; charset=utf-8"
FORMATS: dict[str, Format] = {
    "cnf": Format("my.cnf", _CNF, "my.cnf", _fresh(render_my_cnf)),
    "sql": Format(
        "set-persist.sql", _SQL, "SQL for the running server", _fresh(render_set_persist)
    ),
    "rollback-cnf": Format(
        "rollback.cnf", _CNF, "Rollback: my.cnf", _rollback(render_rollback_cnf)
    ),
    "rollback-sql": Format("rollback.sql", _SQL, "Rollback: SQL", _rollback(render_rollback_sql)),
    "diff": Format(
        "my.cnf.diff", "text/x-diff; charset=utf-8", "Diff against your my.cnf", _diff, True
    ),
    "json": Format("recommendation.json", "application/json", "JSON", _fresh(render_document)),
}


def wanted_facts(facts: ExportFacts, request: ExportRequest) -> ExportFacts:
    """The facts with the lines that the request is about."""
    if not request.keeps_lines or facts.all_lines is None:
        return facts
    return replace(facts.all_lines, study_url=facts.study_url)


def export(facts: ExportFacts, request: ExportRequest) -> Exported:
    """The requested file.

    Raises TuningError (unknown_format, durability_not_acknowledged, current_config_needed) and
    InvalidConfig, for a `current` that cannot be read.
    """
    wanted = FORMATS.get(request.format)
    if wanted is None:
        known = ", ".join(FORMATS)
        raise TuningError(
            "unknown_format",
            f"unknown format {request.format!r}; known are: {known}",
            field="format",
        )
    facts = wanted_facts(facts, request)
    if facts.as_measured != request.as_measured:
        facts = replace(facts, as_measured=request.as_measured)
    return Exported(wanted.file_name, wanted.content_type, wanted.render(facts, request))
