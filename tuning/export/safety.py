"""What an unsafe recommendation costs: asked for before it is exported, and said in every file."""

from __future__ import annotations

from collections.abc import Iterator

from tuning.catalogue.knob import Durability
from tuning.errors import TuningError
from tuning.export.facts import ExportFacts
from tuning.export.lines import Line, lines_of

WARNINGS = {
    Durability.D0: "D0: nothing in this file loses committed data.",
    Durability.D1: "D1: WARNING - with this file the last commits can be lost in a crash.",
    Durability.D2: "D2: WARNING - with this file a crash can corrupt the database.",
}


def durability_of_export(facts: ExportFacts) -> Durability:
    """The class of the least safe line, as it was asked for or as it is written."""
    return max((line.durability for line in lines_of(facts)), default=Durability.D0)


def require_acknowledged(facts: ExportFacts, acknowledged: Durability) -> None:
    """Raise TuningError (durability_not_acknowledged), naming what loses what."""
    given = durability_of_export(facts)
    if given > acknowledged:
        costs = "; ".join(
            cost_of(line) for line in lines_of(facts) if line.durability > acknowledged
        )
        raise TuningError(
            "durability_not_acknowledged",
            f"{facts.candidate} is durability class {given}; exporting it must be acknowledged: "
            f"{costs}",
        )


def cost_of(line: Line) -> str:
    """ "sync_binlog = 0 gives up ... (D1)"."""
    return f"{line.name} = {line.value} gives up {line.loses} ({line.durability})"


def warnings(facts: ExportFacts) -> Iterator[str]:
    """What stands at the top of a file below D0; nothing for D0."""
    given = durability_of_export(facts)
    if given > Durability.D0:
        yield f"{WARNINGS[given]} It was asked for and acknowledged."
        for line in lines_of(facts):
            if line.durability > Durability.D0:
                yield f"WARNING: {cost_of(line)}."
