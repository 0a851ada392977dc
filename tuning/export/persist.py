"""SQL that applies the recommendation to a running server, as far as it can without restart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.configs.effective.variables import POOL
from tuning.configs.knobs import cnf_line
from tuning.export.assignments import (
    RESIZES,
    Assignment,
    ChangeMode,
    assign,
    in_order,
    persists,
    statements,
    with_ceilings,
)
from tuning.export.comments import SQL, comment, item
from tuning.export.facts import ExportFacts
from tuning.export.header import header
from tuning.export.lines import Line, default_of, written_lines
from tuning.export.safety import cost_of, require_acknowledged
from tuning.export.words import about_in_short, sized_back


def render_set_persist(facts: ExportFacts, *, acknowledged: Durability = Durability.D0) -> str:
    """A script for the mysql client or any other: one statement per line, the rest comments.

    MySQL and Percona Server from 8.0 on keep the values (SET PERSIST), the others lose them at the
    next restart (SET GLOBAL). What requires a restart is in a comment. Raises TuningError if the
    knobs are below the durability class that was `acknowledged`.
    """
    require_acknowledged(facts, acknowledged)
    planned = planned_assignments(facts)
    now = [one for one in planned if one.how is ChangeMode.NOW]
    lines = {line.name: line for line in written_lines(facts)}
    text = [*header(facts, "SQL recommended", mark=SQL), SQL, *_how_to_run(facts)]
    before = defaults_of(now, facts)
    verb = "PERSIST" if persists(facts.server) else "GLOBAL"
    for one in in_order(now, before):
        text += ["", *_about(lines.get(one.knob.name), one, facts)]
        text += statements(one, verb, before.get(one.knob.name), facts.server)
    if now:
        text += ["", *comment("The resulting values:", mark=SQL), show(now, facts)]
    else:
        text += ["", *comment("Nothing can be set on the running server.", mark=SQL)]
    text += _not_now([one for one in planned if one.how is not ChangeMode.NOW], lines, facts)
    return "\n".join(text) + "\n"


def planned_assignments(facts: ExportFacts) -> list[Assignment]:
    """Every written line as an assignment, plus the limits that must change with them."""
    values = {line.name: line.value for line in written_lines(facts) if line.knob is not None}
    return [
        assign(load_catalogue().knobs[name], value, default_of(name, facts), facts)
        for name, value in with_ceilings(values, facts).items()
    ]


def defaults_of(assignments: Iterable[Assignment], facts: ExportFacts) -> dict[str, str]:
    """The server's values before, as far as known."""
    found = {one.knob.name: default_of(one.knob.name, facts) for one in assignments}
    return {name: value for name, value in found.items() if value is not None}


def show(assignments: Iterable[Assignment], facts: ExportFacts) -> str:
    """A statement that shows the variables."""
    names = ", ".join(f"'{one.knob.variable(facts.server)}'" for one in assignments)
    return f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names});"


def _how_to_run(facts: ExportFacts) -> list[str]:
    if persists(facts.server):
        hint = (
            "SET PERSIST changes the running server and writes mysqld-auto.cnf in its data "
            "directory, which overrides every my.cnf. It requires the privilege "
            "SYSTEM_VARIABLES_ADMIN."
        )
    else:
        hint = (
            f"{facts.server} has no SET PERSIST: these values are lost at the next restart, so "
            "put them into my.cnf as well."
        )
    return comment(hint, mark=SQL)


def _about(line: Line | None, one: Assignment, facts: ExportFacts) -> Iterator[str]:
    if line is None:
        hint = "Follows innodb_io_capacity: a running server does not adjust it by itself."
        yield from comment(hint, mark=SQL)
    else:
        yield from comment(about_in_short(line, facts), mark=SQL)
    if one.knob.name == POOL:
        yield from comment(RESIZES, mark=SQL)


def _not_now(
    assignments: list[Assignment], lines: Mapping[str, Line], facts: ExportFacts
) -> list[str]:
    if not assignments:
        return []
    text = ["", *comment("Not set by this script:", mark=SQL)]
    for one in assignments:
        line = lines.get(one.knob.name)
        more = ""
        if line is not None and line.durability > Durability.D0:
            more = f". WARNING: {cost_of(line)}"
        if line is not None and line.in_model and facts.model is not None:
            more += f". {sized_back(line, facts.model).removesuffix('.')}"
        setting = cnf_line(one.knob.name, one.value, facts.server)
        text += item(f"{setting}: {one.why}{more}", mark=SQL)
    later = [one for one in assignments if one.how is ChangeMode.RESTART]
    if persists(facts.server) and later:
        hint = (
            "Either put these lines into my.cnf, or remove the two dashes here: then the server "
            "uses them from its next restart on (privilege PERSIST_RO_VARIABLES_ADMIN)."
        )
        text += [SQL, *comment(hint, mark=SQL)]
        for one in later:
            for statement in statements(one, "PERSIST_ONLY", None, facts.server):
                text.append(f"{SQL} {statement}")
    elif any(one.how in (ChangeMode.RESTART, ChangeMode.FILE) for one in assignments):
        text += [SQL, *comment("Put these lines into my.cnf and restart.", mark=SQL)]
    return text
