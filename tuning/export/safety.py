"""What an unsafe recommendation may lose: acknowledged before export, and shown in every file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.configs.effective.durability import may_lose
from tuning.configs.effective.expected import Expected
from tuning.configs.effective.readback import effective_losses
from tuning.configs.gate.rules import broken_rules
from tuning.errors import InvalidConfig, Problem, TuningError
from tuning.export.facts import ExportFacts, made_once
from tuning.export.lines import Line, default_of, lines_of

WARNINGS = {
    Durability.D0: "D0: nothing in this file loses committed data.",
    Durability.D1: "D1: WARNING - with this file a crash can lose the last commits.",
    Durability.D2: "D2: WARNING - with this file a crash can corrupt the database.",
}


def durability_of_export(facts: ExportFacts) -> Durability:
    """The class of the least safe line: as requested, as written or as measured."""
    return max((line.durability for line in losing_lines(facts)), default=Durability.D0)


@made_once
def losing_lines(facts: ExportFacts) -> Sequence[Line]:
    """Every line below D0, and values below D0 that no line sets (`requested` is "")."""
    return [*(line for line in lines_of(facts) if line.durability > Durability.D0), *_unset(facts)]


def _unset(facts: ExportFacts) -> Iterator[Line]:
    """Values below D0 of the measured server that are defaults or set outside the config."""
    found = effective_losses(facts.candidate_variables, facts.server)
    for name, (given, loses) in found.items():
        knob = load_catalogue().knobs[name]
        if name not in facts.knobs:
            value = facts.candidate_variables[knob.variable(facts.server)]
            yield Line(
                name=name,
                requested="",
                value=value,
                effective=value,
                default=default_of(name, facts),
                written=False,
                changed=False,
                durability=given,
                loses=loses,
                knob=knob,
                dynamic=knob.dynamic(facts.server) if knob.exists_in(facts.server) else None,
            )


def require_acknowledged(facts: ExportFacts, acknowledged: Durability) -> None:
    """Raise TuningError (durability_not_acknowledged), naming what each knob may lose.

    Before that InvalidConfig, for knobs that the server would refuse or change.
    """
    knobs = facts.knobs
    if facts.model is not None and not facts.as_measured:
        knobs = {line.name: line.value for line in lines_of(facts)}
    if broken := broken_rules(Expected(knobs, facts.server)):
        raise InvalidConfig([Problem(facts.candidate, None, *found) for found in broken])
    given = durability_of_export(facts)
    if given > acknowledged:
        costs = "; ".join(
            cost_of(line) for line in losing_lines(facts) if line.durability > acknowledged
        )
        raise TuningError(
            "durability_not_acknowledged",
            f"{facts.candidate} is durability class {given}; exporting it must be acknowledged: "
            f"{costs}",
            field="acknowledge",
        )


def cost_of(line: Line) -> str:
    """ "sync_binlog = 0 may lose ... (D1)"."""
    unset = "" if line.requested else ", which was measured but is not set here,"
    return may_lose(line.name, line.value, (line.durability, line.loses), unset)


def warnings(facts: ExportFacts) -> Iterator[str]:
    """The warnings at the top of a file below D0; none for D0."""
    given = durability_of_export(facts)
    if given > Durability.D0:
        yield f"{WARNINGS[given]} This was acknowledged."
        for line in losing_lines(facts):
            yield f"WARNING: {cost_of(line)}."
