"""Requirements of a workload on a config: enough connections and prepared statements."""

from __future__ import annotations

from typing import NamedTuple

from tuning.configs.effective.expected import Expected
from tuning.configs.effective.host import HostFacts
from tuning.configs.effective.variables import MAX_CONNECTIONS, MAX_STATEMENTS
from tuning.configs.notes import Action, Note

# Our connections besides the driver's: telemetry, the check of the server, a spare one.
_OWN_CONNECTIONS = 5
# tpcc-mysql and our sysbench script prepare 35 each.
_STATEMENTS_PER_CONNECTION = 40


class Requirement(NamedTuple):
    """The least that a limit must be, what we add if we choose the limit ourselves, and why."""

    needed: int
    spare: int
    why: str


def requirements(host: HostFacts) -> dict[str, Requirement]:
    """Return what the workload needs of each limit; empty if its connections are unknown."""
    opened = host.connections
    if opened is None:
        return {}
    why = f"the workload opens {opened} connections and the advisor {_OWN_CONNECTIONS} more"
    statements = opened * _STATEMENTS_PER_CONNECTION
    prepares = f"{opened} connections prepare up to {statements} statements"
    return {
        MAX_CONNECTIONS: Requirement(opened + _OWN_CONNECTIONS, 15, why),
        MAX_STATEMENTS: Requirement(statements, 1000, prepares),
    }


def fit_to_workload(expected: Expected, *, also_set: bool) -> tuple[dict[str, str], list[Note]]:
    """Return the limits that are too low for the workload, raised, with a note for each.

    Only with `also_set` a limit that the config sets is raised: presets were made for another
    workload.
    """
    found: dict[str, str] = {}
    notes: list[Note] = []
    for name, (needed, spare, _) in requirements(expected.host).items():
        has, is_set = expected.whole(name), name in expected.knobs
        if has is None or has >= needed or (is_set and not also_set):
            continue
        found[name] = f"{needed + spare}"
        detail = (
            f"{has}{'' if is_set else ' by default'} is too low for the workload's "
            f"{expected.host.connections} connections; raised to {found[name]}"
        )
        notes.append(Note(name, Action.ADJUSTED, detail))
    return found, notes
