"""Requirements of a workload on a config: enough connections and prepared statements."""

from __future__ import annotations

from dataclasses import dataclass

from tuning.configs.effective.expected import Expected
from tuning.configs.effective.host import HostFacts
from tuning.configs.effective.variables import MAX_CONNECTIONS, MAX_STATEMENTS
from tuning.configs.notes import Action, Note

#: Our connections besides the driver's: telemetry, the check of the server, a spare one.
OWN_CONNECTIONS = 5
#: Spare connections if we choose the limit ourselves.
HEADROOM = 20
#: tpcc-mysql and our sysbench script prepare 35 each.
STATEMENTS_PER_CONNECTION = 40


@dataclass(frozen=True)
class Fitted:
    """The knobs that had to be added or raised, and a note for each."""

    knobs: dict[str, str]
    notes: tuple[Note, ...]


def connections_needed(host: HostFacts) -> int | None:
    """The smallest max_connections that is enough for the workload."""
    if host.connections is None:
        return None
    return host.connections + OWN_CONNECTIONS


def statements_needed(host: HostFacts) -> int | None:
    """The smallest max_prepared_stmt_count that is enough for the workload."""
    if host.connections is None:
        return None
    return host.connections * STATEMENTS_PER_CONNECTION


def fit_to_workload(expected: Expected, *, also_set: bool) -> Fitted:
    """Raise limits that are too low for the workload and not set by the config.

    With `also_set` also those that are set, because presets were made for another workload.
    """
    knobs, host = expected.knobs, expected.host
    found: dict[str, str] = {}
    notes: list[Note] = []
    wanted = {
        MAX_CONNECTIONS: (connections_needed(host), HEADROOM - OWN_CONNECTIONS),
        MAX_STATEMENTS: (statements_needed(host), 1000),
    }
    for name, (needed, spare) in wanted.items():
        has = expected.whole(name)
        if needed is None or has is None or has >= needed or (name in knobs and not also_set):
            continue
        found[name] = f"{needed + spare}"
        was = f"{has}" if name in knobs else f"{has} by default"
        detail = (
            f"{was} is too low for the workload's {host.connections} connections; "
            f"raised to {found[name]}"
        )
        notes.append(Note(name, Action.ADJUSTED, detail))
    return Fitted(found, tuple(notes))
