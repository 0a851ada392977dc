"""The rollback: a my.cnf fragment and SQL that restore the previous values.

The recommendation must be acknowledged as for every format. Values below D0 in the user's own file
are restored with a warning and need no further acknowledgement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchmarks.servers.option_file import option_line
from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.configs.effective.by_itself import default_ceiling
from tuning.configs.effective.durability import losses, may_lose
from tuning.configs.effective.variables import IO_CAPACITY, IO_CEILING, POOL
from tuning.configs.knobs import cnf_value
from tuning.configs.values import fixed_default, readable_value
from tuning.export.assignments import (
    RESIZES,
    Assignment,
    ChangeMode,
    assign,
    in_order,
    persists,
    statements,
)
from tuning.export.comments import CNF, SQL, comment, item
from tuning.export.current import CurrentLine, current_lines
from tuning.export.facts import ExportFacts
from tuning.export.header import header
from tuning.export.lines import default_of, lines_of
from tuning.export.persist import planned_assignments, show
from tuning.export.safety import require_acknowledged


def render_rollback_cnf(
    facts: ExportFacts,
    *,
    acknowledged: Durability = Durability.D0,
    current: bytes | None = None,
) -> str:
    """The lines that replace the recommended ones: those of `current`, else defaults.

    Raises TuningError for what was not acknowledged, InvalidConfig if `current` cannot be read.
    """
    require_acknowledged(facts, acknowledged)
    had = current_lines(current, facts.server) if current is not None else {}
    names = [
        line.name
        for line in lines_of(facts)
        if line.written or (line.name in had and had[line.name].value != line.value)
    ]
    old = {name: _old_text(name, had, facts) for name in names}
    source = "are the server's defaults"
    if current is not None:
        source = "come from your my.cnf; for lines that it does not have they are the defaults"
    hint = f"Use these lines instead of the recommended ones and restart. The values {source}."
    text = [*header(facts, "Rollback of the my.cnf recommended", undo=True), CNF, *comment(hint)]
    unsafe = _warnings({name: value for name, value in old.items() if value is not None})
    for warning in unsafe.values():
        text += comment(warning)
    text += ["", "[mysqld]"]
    for name, value in old.items():
        text += ["", *comment(unsafe.get(name, ""))]
        if value is not None or name in had:
            text.append(option_line(name, value and cnf_value(name, value, facts.server)))
        else:
            shown = readable_value(load_catalogue().get(name), default_of(name, facts) or "")
            seen = f"; {facts.baseline} was measured with {shown}" if shown else ""
            text += comment(f"{name}: delete the line, the server computes its default{seen}.")
    if not names:
        text += comment("The recommendation sets nothing, so there is nothing to undo.")
    return "\n".join(text) + "\n"


def render_rollback_sql(
    facts: ExportFacts,
    *,
    acknowledged: Durability = Durability.D0,
    current: bytes | None = None,
) -> str:
    """SQL that undoes `render_set_persist`: one statement per line, the rest comments.

    The old values are those of `current`, else the ones that the baseline's run read back, else
    the fixed defaults of the catalogue. Raises like `render_rollback_cnf`.
    """
    require_acknowledged(facts, acknowledged)
    had = current_lines(current, facts.server) if current is not None else {}
    planned = [one for one in planned_assignments(facts) if one.how is not ChangeMode.NOTHING]
    old = _old_values(planned, had, facts)
    unsafe = _warnings(old)
    text = [*header(facts, "Rollback of the SQL recommended", mark=SQL, undo=True)]
    for warning in unsafe.values():
        text += comment(warning, mark=SQL)
    text += _reset_persisted(planned, facts)
    back, later = [], []
    for one in planned:
        name, value = one.knob.name, old.get(one.knob.name)
        undo = None if value is None else assign(one.knob, value, one.value, facts)
        if one.how is ChangeMode.NOW and undo is not None and undo.how is ChangeMode.NOW:
            back.append(undo)
        else:
            later.append(name)
    if back:
        text += ["", *comment("The previous values, on the running server:", mark=SQL)]
    if POOL in (one.knob.name for one in back):
        text += comment(RESIZES, mark=SQL)
    now = {one.knob.name: one.value for one in planned}
    for one in in_order(back, now):
        text += comment(unsafe.get(one.knob.name, ""), mark=SQL)
        text += statements(one, "GLOBAL", now[one.knob.name], facts.server)
    if back:
        text.append(show(back, facts))
    if later:
        text += ["", *comment("Restored only by the old my.cnf and a restart:", mark=SQL)]
        text += [line for name in later for line in item(name, mark=SQL)]
    if not planned:
        text += ["", *comment("The recommendation sets nothing.", mark=SQL)]
    return "\n".join(text) + "\n"


def _reset_persisted(planned: list[Assignment], facts: ExportFacts) -> Iterator[str]:
    names = [
        one.knob.variable(facts.server)
        for one in planned
        if one.how in (ChangeMode.NOW, ChangeMode.RESTART)
    ]
    if names and persists(facts.server):
        hint = (
            "Remove what was persisted. If you had persisted one of these variables before, "
            "persist it again."
        )
        yield from ("", *comment(hint, mark=SQL))
        yield from (f"RESET PERSIST IF EXISTS {name};" for name in names)


def _old_text(name: str, had: Mapping[str, CurrentLine], facts: ExportFacts) -> str | None:
    """The value of the file, else the default; None if the line must be deleted."""
    if name in had:
        return had[name].text
    knob = load_catalogue().get(name)
    if knob is None or fixed_default(knob, facts.server) is None:
        return None
    return default_of(name, facts)


def _old_values(
    planned: list[Assignment], had: Mapping[str, CurrentLine], facts: ExportFacts
) -> dict[str, str]:
    """The previous values of a running server, as far as known."""
    found: dict[str, str] = {}
    for name in (one.knob.name for one in planned):
        old = had[name].value if name in had else default_of(name, facts)
        if old:
            found[name] = old
    if IO_CEILING in (one.knob.name for one in planned) and IO_CEILING not in had:
        follows = IO_CAPACITY in had or IO_CEILING not in found
        if follows and IO_CAPACITY in found:
            found[IO_CEILING] = default_ceiling(found[IO_CAPACITY], facts.server)
    return found


def _warnings(values: Mapping[str, str]) -> dict[str, str]:
    return {
        name: f"WARNING: {may_lose(name, values[name], lost, ', as before,')}."
        for name, lost in losses(values).items()
    }
