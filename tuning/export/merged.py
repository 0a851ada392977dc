"""What the user's own lines do beside the recommended ones, once both stand in one file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tuning.catalogue.knob import Durability
from tuning.configs.effective.durability import losses
from tuning.configs.effective.expected import Expected
from tuning.configs.gate.rules import broken_rules
from tuning.export.current import CurrentLine
from tuning.export.facts import ExportFacts
from tuning.export.lines import Line, lines_of


@dataclass(frozen=True)
class Merged:
    """`out` are knobs of the user's file that must go, with the reason.

    `unsafe` are the kept ones below D0: their value, class and what is lost. `refused` is what
    the server would settle its own way and no such line can mend.
    """

    out: dict[str, str]
    unsafe: dict[str, tuple[str, tuple[Durability, str]]]
    refused: list[str]


def merge(facts: ExportFacts, had: Mapping[str, CurrentLine]) -> Merged:
    """Judge the file `had` with the recommended lines in it; nothing is known of its host."""
    lines, server = lines_of(facts), facts.server
    recommended = _values(lines)
    own = {
        name: line.value
        for name, line in had.items()
        if line.value is not None and line.knob.exists_in(server)
    }
    kept = {name: value for name, value in own.items() if name not in recommended}
    by_itself = {
        *broken_rules(Expected(own, server)),
        *broken_rules(Expected(recommended, server)),
    }
    out: dict[str, str] = {}
    refused: list[str] = []
    while broken := _first(broken_rules(Expected({**recommended, **kept}, server)), by_itself):
        found = next((one for one in kept if _mends(one, broken, recommended, kept, facts)), None)
        if found is None:
            by_itself.add(broken)
            refused.append(f"{broken[0]}: {broken[1]}")
        else:
            out[found] = f"{broken[0]}: {broken[1]}"
            del kept[found]
    whole = losses({**recommended, **kept}, server)
    unsafe = {name: (value, whole[name]) for name, value in kept.items() if name in whole}
    return Merged(out, unsafe, refused)


def _values(lines: Iterable[Line]) -> dict[str, str]:
    return {line.name: line.value for line in lines}


def _first(
    found: Iterable[tuple[str, str]], known: Iterable[tuple[str, str]]
) -> tuple[str, str] | None:
    return next((broken for broken in found if broken not in known), None)


def _mends(
    name: str,
    broken: tuple[str, str],
    recommended: Mapping[str, str],
    kept: Mapping[str, str],
    facts: ExportFacts,
) -> bool:
    """Whether the rule holds without the user's line."""
    without = {other: value for other, value in kept.items() if other != name}
    return broken not in broken_rules(Expected({**recommended, **without}, facts.server))
