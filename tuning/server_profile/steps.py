"""Steps to change a profiled server, in order: statement, what to watch, the way back.

Values are compared with the profile's, so that only real changes are steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.counted import percent
from tuning.catalogue.loader import load_catalogue
from tuning.configs.expected import Expected, by_itself
from tuning.configs.values import cnf_line, readable_value, same
from tuning.configs.variables import MAX_CONNECTIONS, MAX_STATEMENTS, POOL
from tuning.export.changes import Change, ChangeMode, change, in_order, persists, statements
from tuning.export.lines import Line
from tuning.server_profile.configs import own_knobs
from tuning.server_profile.figures import figures_of
from tuning.server_profile.profile import Profile

# Limits that a real application may need, however few connections and tables TPC-C has.
_NEVER_LOWERED = frozenset({MAX_CONNECTIONS, "table_open_cache", MAX_STATEMENTS})
_WATCH = "response times and errors for ten minutes"


@dataclass(frozen=True)
class Step:
    """One change.

    before: the value that the profile read; None if it read none. how: at once, at a restart or in
    the file only, with `why`. sql: statements for the running server; empty for a restart.
    back: statements, or the line of the my.cnf, that undo it. basis: what was measured of the
    value, and what was computed.
    """

    name: str
    before: str | None
    value: str
    how: ChangeMode
    why: str
    sql: tuple[str, ...]
    cnf: str
    back: tuple[str, ...]
    watch: str
    basis: str


def steps_of(profile: Profile, lines: Sequence[Line]) -> list[Step]:
    """Return the steps from the profiled server to these lines: first those that need no restart.

    Lines that only the server's own config has go back to their defaults.
    """
    target, wanted = profile.target, dict(_wanted(profile, lines))
    changes, before, known = [], {}, profile.knobs
    for name, (value, _) in wanted.items():
        old = known.get(name)
        if old is not None:
            is_lowered = name in _NEVER_LOWERED and float(value) < float(old)
            if is_lowered or same(old, value):
                continue
            before[name] = old
        knob = load_catalogue().knobs[name]
        changes.append(change(knob, value, old, target, profile.variables))
    now = in_order([one for one in changes if one.how is ChangeMode.NOW], before)
    later = [one for one in changes if one.how in (ChangeMode.RESTART, ChangeMode.FILE)]
    return [
        _step(one, before.get(one.knob.name), wanted[one.knob.name][1], profile)
        for one in (*now, *later)
    ]


def untested(profile: Profile) -> list[str]:
    """Return the figures of loads that the profile has and TPC-C does not, in sentences."""
    return [
        f"{one.title}: {one.text}"
        for one in figures_of(profile)
        if one.is_tested is False and one.value
    ]


def _wanted(profile: Profile, lines: Sequence[Line]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the name, the value and the basis of each variable of the config."""
    target = profile.target
    named = {line.name: line for line in lines if line.knob and line.knob.exists_in(target)}
    for name, line in named.items():
        if line.written or line.changed:
            yield name, (line.value, _basis(line, profile))
    settings = {name: line.value for name, line in named.items()}
    for name in own_knobs(profile):
        default = by_itself(name, Expected(settings, target))
        if name not in named and default is not None:
            yield name, (default, "measured: the winner does not set it")


def _basis(line: Line, profile: Profile) -> str:
    if not line.in_model:
        return line.evidence or "measured as it is"
    in_model = readable_value(line.knob, line.in_model)
    text = f"measured as {in_model} in the scale model, computed from it by the scale"
    data, memory = profile.data_bytes, profile.memory_bytes
    if line.name == POOL and data and memory:
        size = int(line.value)
        text += f": {percent(size / data)} of the data, {percent(size / memory)} of the memory"
    return text


def _step(one: Change, before: str | None, basis: str, profile: Profile) -> Step:
    target, name = profile.target, one.knob.name
    verb = "PERSIST" if persists(target) else "GLOBAL"
    is_now = one.how is ChangeMode.NOW
    return Step(
        name=name,
        before=None if before is None else readable_value(one.knob, before),
        value=readable_value(one.knob, one.value),
        how=one.how,
        why=one.why,
        sql=tuple(statements(one, verb, before, target)) if is_now else (),
        cnf=cnf_line(name, one.value, target),
        back=tuple(_back(one, before, profile)),
        watch=one.knob.watch or _WATCH,
        basis=basis,
    )


def _back(one: Change, before: str | None, profile: Profile) -> Iterator[str]:
    """Yield what undoes a change. A running server takes the old value as it took the new one."""
    target = profile.target
    if one.how is ChangeMode.NOW:
        if persists(target):
            yield f"RESET PERSIST IF EXISTS {one.knob.variable(target)};"
        if before is not None:
            undo = Change(one.knob, before, ChangeMode.NOW)
            yield from statements(undo, "GLOBAL", one.value, target)
    elif before is not None:
        yield f"{cnf_line(one.knob.name, before, target)}   # in my.cnf, then restart"


def sql_of(steps: Sequence[Step]) -> Mapping[str, str]:
    """Return the scripts: "apply" for the running server, and "back"."""
    return {
        "apply": "\n".join(text for step in steps for text in step.sql),
        "back": "\n".join(text for step in reversed(steps) if step.sql for text in step.back),
    }
