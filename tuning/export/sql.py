"""SQL for a running server: what can be set without a restart, and the way back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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
from tuning.export.files import text_of
from tuning.export.lines import Line, default_of, implied_ceiling
from tuning.export.patch import UserFile
from tuning.export.texts import SQL, about, comment, head, sized_back


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
    later = [one for one in planned if one.how is not ChangeMode.NOW]
    hint = f"{server} loses these values at the next restart, so put them into my.cnf as well."
    if persists(server):
        hint = (
            "SET PERSIST also writes mysqld-auto.cnf in the data directory, which overrides every "
            "my.cnf. It requires the privilege SYSTEM_VARIABLES_ADMIN."
        )
    text = [*head(facts, lines, "SQL recommended", mark=SQL), SQL, comment(hint, SQL)]
    follows = "Follows innodb_io_capacity: a running server does not adjust it by itself."
    above = {
        one.knob.name: about(by_name[one.knob.name], facts)
        if one.knob.name in by_name
        else follows
        for one in now
    }
    before = {name: old for name in above if (old := default_of(name, facts)) is not None}
    verb = "PERSIST" if persists(server) else "GLOBAL"
    text += _statements(now, verb, before, above, facts)
    text += [] if now else ["", comment("Nothing can be set now.", SQL)]
    if later:
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
    elif any(one.how in (ChangeMode.RESTART, ChangeMode.FILE) for one in later):
        text += [SQL, comment("Put these lines into my.cnf and restart.", SQL)]
    return text_of(text)


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
        text += [f"RESET PERSIST IF EXISTS {one.knob.variable(server)};" for one in persisted]
    known = {} if facts.baseline_knobs else facts.baseline_variables
    undone = [
        change(one.knob, old[one.knob.name], one.value, server, known)
        for one in planned
        if one.how is ChangeMode.NOW and one.knob.name in old
    ]
    back = [one for one in undone if one.how is ChangeMode.NOW]
    text += ["", comment("The previous values, on the running server:", SQL)] if back else []
    now = {one.knob.name: one.value for one in planned}
    text += _statements(back, "GLOBAL", now, unsafe, facts)
    restored = {one.knob.name for one in back}
    if later := ", ".join(name for name in now if name not in restored):
        text += ["", comment(f"Restored only by the old my.cnf and a restart: {later}", SQL)]
    return text_of(
        text if planned else [*text, "", comment("The recommendation sets nothing.", SQL)]
    )


def _statements(
    changes: Sequence[Change],
    verb: str,
    before: Mapping[str, str],
    above: Mapping[str, str],
    facts: ExportFacts,
) -> Iterable[str]:
    """Yield the statements in an order that the server accepts, and one that shows the result.

    before: the values until then. above: a comment by name.
    """
    for one in in_order(changes, before):
        name = one.knob.name
        yield ""
        if name in above:
            yield comment(above[name], SQL)
        if name == POOL:
            yield comment(RESIZES, SQL)
        yield from statements(one, verb, before.get(name), facts.server)
    if changes:
        names = ", ".join(f"'{one.knob.variable(facts.server)}'" for one in changes)
        yield from ("", comment("The resulting values:", SQL))
        yield f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names});"


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
    """Return the previous values of a running server, as far as known."""
    own = current.values if current is not None else {}
    names = [one.knob.name for one in planned]
    values = {name: own[name] if name in own else default_of(name, facts) for name in names}
    found = {name: old for name, old in values.items() if old}
    # The ceiling follows the capacity of the user's file.
    follows = IO_CEILING in names and (IO_CAPACITY in own or IO_CEILING not in found)
    if follows and IO_CEILING not in own and IO_CAPACITY in found:
        found[IO_CEILING] = default_ceiling(found[IO_CAPACITY], facts.server)
    return found
