"""Conflicts between the user's own lines and the recommended ones in one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tuning.catalogue.knob import Durability
from tuning.configs.effective.durability import losses
from tuning.configs.effective.expected import Expected
from tuning.configs.gate.rules import Broken, broken_rules
from tuning.export.current import CurrentLine
from tuning.export.facts import ExportFacts
from tuning.export.lines import lines_of


@dataclass(frozen=True)
class Merged:
    """`out` are knobs of the user's file that must be removed, with the reason.

    `unsafe` are the kept ones below D0: their value, class and what may be lost. `refused` are
    conflicts that the server would resolve by itself and that removing a line cannot solve.
    """

    out: dict[str, str]
    unsafe: dict[str, tuple[str, tuple[Durability, str]]]
    refused: list[str]


def merge(facts: ExportFacts, had: Mapping[str, CurrentLine]) -> Merged:
    """Check the file `had` with the recommended lines applied; its host is unknown."""
    server = facts.server
    recommended = {line.name: line.value for line in lines_of(facts)}

    def broken_with(others: Mapping[str, str]) -> list[Broken]:
        return broken_rules(Expected({**recommended, **others}, server))

    own = {
        name: line.value
        for name, line in had.items()
        if line.value is not None and line.knob.exists_in(server)
    }
    kept = {name: value for name, value in own.items() if name not in recommended}
    by_itself = {*broken_rules(Expected(own, server)), *broken_with({})}
    out: dict[str, str] = {}
    refused: list[str] = []
    while broken := next((one for one in broken_with(kept) if one not in by_itself), None):
        reason = f"{broken[0]}: {broken[1]}"
        for name in kept:
            if broken not in broken_with({one: kept[one] for one in kept if one != name}):
                out[name] = reason
                del kept[name]
                break
        else:
            by_itself.add(broken)
            refused.append(reason)
    whole = losses({**recommended, **kept}, server)
    unsafe = {name: (value, whole[name]) for name, value in kept.items() if name in whole}
    return Merged(out, unsafe, refused)
