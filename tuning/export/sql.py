"""SQL for a running server: what can be set without a restart, and the way back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tuning.catalogue.knob import Durability
from tuning.configs.expected import default_ceiling
from tuning.configs.price import losses, may_lose
from tuning.configs.values import cnf_line
from tuning.configs.variables import IO_CAPACITY, IO_CEILING, POOL
from tuning.export.changes import (
    RESIZES,
    Change,
    ChangeMode,
    change,
    in_order,
    persists,
    statements,
)
from tuning.export.facts import ExportFacts
from tuning.export.lines import Line, default_of, implied_ceiling
from tuning.export.texts import SQL, about, comment, head, sized_back
from tuning.export.user_file import UserFile

_LATER = (ChangeMode.RESTART, ChangeMode.FILE)


def planned_changes(facts: ExportFacts, lines: Sequence[Line]) -> list[Change]:
    """Return the change of every written line, and of the limit that must change with them."""
    found = [line.change for line in lines if line.written and line.change is not None]
    ceiling = implied_ceiling(lines, facts)
    return [*found, ceiling] if ceiling is not None else found


def render_sql(facts: ExportFacts, lines: Sequence[Line], _: UserFile | None) -> str:
    """Return a script for any client: one statement per line, the rest comments.

    MySQL and Percona Server from 8.0 on keep the values (SET PERSIST), the others lose them at the
    next restart (SET GLOBAL). What requires a restart is in a comment.
    """
    server, planned = facts.server, planned_changes(facts, lines)
    by_name = {line.name: line for line in lines}
    now = [one for one in planned if one.how is ChangeMode.NOW]
    before = {one.knob.name: default_of(one.knob.name, facts) for one in now}
    text = head(facts, lines, "SQL recommended", mark=SQL)
    if persists(server):
        hint = (
            "SET PERSIST also writes mysqld-auto.cnf in the data directory, which overrides every "
            "my.cnf. It requires the privilege SYSTEM_VARIABLES_ADMIN."
        )
    else:
        hint = f"{server} loses these values at the next restart, so put them into my.cnf as well."
    text += [SQL, comment(hint, SQL)]
    verb = "PERSIST" if persists(server) else "GLOBAL"
    for one in in_order(now, {name: old for name, old in before.items() if old is not None}):
        line = by_name.get(one.knob.name)
        follows = "Follows innodb_io_capacity: a running server does not adjust it by itself."
        text += ["", comment(about(line, facts) if line else follows, SQL)]
        text += [comment(RESIZES, SQL)] if one.knob.name == POOL else []
        text += statements(one, verb, before[one.knob.name], server)
    text += ["", comment("The resulting values:" if now else "Nothing can be set now.", SQL)]
    text += [_show(now, facts)] if now else []
    if later := [one for one in planned if one.how is not ChangeMode.NOW]:
        text += ["", comment("Not set by this script:", SQL)]
        text += [comment(_why_later(one, by_name.get(one.knob.name), facts), SQL) for one in later]
    restarts = [one for one in later if one.how is ChangeMode.RESTART]
    if persists(server) and restarts:
        hint = (
            "Either put these lines into my.cnf, or remove the two dashes here: then the server "
            "uses them from its next restart on (privilege PERSIST_RO_VARIABLES_ADMIN)."
        )
        text += [SQL, comment(hint, SQL)]
        for one in restarts:
            text += [f"{SQL} {each}" for each in statements(one, "PERSIST_ONLY", None, server)]
    elif any(one.how in _LATER for one in later):
        text += [SQL, comment("Put these lines into my.cnf and restart.", SQL)]
    return "\n".join(text) + "\n"


def render_rollback_sql(
    facts: ExportFacts, lines: Sequence[Line], current: UserFile | None
) -> str:
    """Return SQL that undoes `render_sql`.

    The old values are those of `current`, else the ones that the baseline's run read back, else
    the fixed defaults of the catalogue.
    """
    server = facts.server
    planned = [one for one in planned_changes(facts, lines) if one.how is not ChangeMode.NOTHING]
    old = _old_values(planned, current, facts)
    unsafe = {
        name: f"WARNING: {may_lose(name, old[name], lost, ', as before,')}."
        for name, lost in losses(old).items()
    }
    text = head(facts, lines, "Rollback of the SQL recommended", mark=SQL, undo=True)
    text += [comment(warning, SQL) for warning in unsafe.values()]
    persisted = [one for one in planned if one.how in (ChangeMode.NOW, ChangeMode.RESTART)]
    if persisted and persists(server):
        hint = "Remove what was persisted. What you had persisted before, persist again."
        text += ["", comment(hint, SQL)]
        names = (one.knob.variable(server) for one in persisted)
        text += [f"RESET PERSIST IF EXISTS {name};" for name in names]
    back, later = [], []
    known = {} if facts.baseline_knobs else facts.baseline_variables
    for one in planned:
        name = one.knob.name
        undo = change(one.knob, old[name], one.value, server, known) if name in old else None
        if one.how is ChangeMode.NOW and undo is not None and undo.how is ChangeMode.NOW:
            back.append(undo)
        else:
            later.append(name)
    text += ["", comment("The previous values, on the running server:", SQL)] if back else []
    now = {one.knob.name: one.value for one in planned}
    for one in in_order(back, now):
        text += [comment(RESIZES, SQL)] if one.knob.name == POOL else []
        text += [comment(unsafe[one.knob.name], SQL)] if one.knob.name in unsafe else []
        text += statements(one, "GLOBAL", now[one.knob.name], server)
    text += [_show(back, facts)] if back else []
    if later:
        restored = f"Restored only by the old my.cnf and a restart: {', '.join(later)}"
        text += ["", comment(restored, SQL)]
    text += [] if planned else ["", comment("The recommendation sets nothing.", SQL)]
    return "\n".join(text) + "\n"


def _show(changes: Iterable[Change], facts: ExportFacts) -> str:
    names = ", ".join(f"'{one.knob.variable(facts.server)}'" for one in changes)
    return f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names});"


def _why_later(one: Change, line: Line | None, facts: ExportFacts) -> str:
    parts = [f"  {cnf_line(one.knob.name, one.value, facts.server)}: {one.why}"]
    if line is not None and line.durability > Durability.D0:
        parts.append(f"WARNING: {line.cost}")
    if line is not None and line.in_model and facts.model is not None:
        parts.append(sized_back(line, facts.model))
    return "; ".join(parts)


def _old_values(
    planned: Sequence[Change], current: UserFile | None, facts: ExportFacts
) -> dict[str, str]:
    """The previous values of a running server, as far as known."""
    own = current.values if current is not None else {}
    found: dict[str, str] = {}
    for name in (one.knob.name for one in planned):
        old = own[name] if name in own else default_of(name, facts)
        if old:
            found[name] = old
    if IO_CEILING in (one.knob.name for one in planned) and IO_CEILING not in own:
        follows = IO_CAPACITY in own or IO_CEILING not in found
        if follows and IO_CAPACITY in found:
            found[IO_CEILING] = default_ceiling(found[IO_CAPACITY], facts.server)
    return found
