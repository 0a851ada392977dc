"""The one list that every format renders: a record for each recommended variable."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from benchmarks.counted import counted
from tuning.catalogue.facts import Computed, Dynamic
from tuning.catalogue.knob import Durability, Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.expected import default_ceiling
from tuning.configs.price import KnobCost, costs_of, losses, may_lose
from tuning.configs.readback import effective_losses, effective_values
from tuning.configs.values import fixed_default, readable_value, same, usable
from tuning.configs.variables import CAPACITY, DEDICATED, IO_CAPACITY, IO_CEILING, POOL
from tuning.export.changes import Change, change
from tuning.export.facts import ExportFacts
from tuning.scale_model.model import ScaleModel, is_scaled, on_real_server
from tuning.statistics.confirmation import RemovalState

NOTHING_LOST = (Durability.D0, "")


@dataclass(frozen=True)
class Line:
    """A variable of the recommendation.

    value: the one to write: the effective one if the server showed one that can be written, else
    the requested one. default: the server's own value, None if unknown. in_model: of a value that
    was sized back to the real server, the one that was measured. written: whether a my.cnf must
    have it. changed: whether the measured candidate differed from the baseline in it. evidence:
    what was measured of it, in words. change: how a running server takes it; None if unknown.
    """

    name: str
    requested: str
    value: str
    effective: str | None
    default: str | None
    written: bool
    changed: bool
    knob: Knob | None
    dynamic: Dynamic | None
    durability: Durability = Durability.D0
    loses: str = ""
    costs: tuple[KnobCost, ...] = ()
    in_model: str = ""
    evidence: str = ""
    change: Change | None = None

    @property
    def does(self) -> str:
        """The purpose of the variable."""
        return self.knob.does if self.knob else ""

    @property
    def how(self) -> str | None:
        """When a running server takes the value; None if unknown."""
        return self.change.how if self.change else None

    @property
    def cost(self) -> str:
        """Its possible loss: "sync_binlog = 0 may lose ... (D1)"."""
        unset = "" if self.requested else ", which was measured but is not set here,"
        return may_lose(self.name, self.value, (self.durability, self.loses), unset)


def lines_of(facts: ExportFacts) -> list[Line]:
    """Return every variable of the recommendation; those of a scale model are sized back."""
    found: Sequence[Line] = list(_measured_lines(facts))
    if facts.model is not None:
        found = list(_sized_back(found, facts, facts.model))
    differing = len(changed_names(facts))
    return [
        replace(
            line,
            evidence=_evidence(line, facts, differing),
            change=_change(line.knob, line.value, facts) if line.knob else None,
        )
        for line in found
    ]


def _change(knob: Knob, value: str, facts: ExportFacts) -> Change:
    """Return how a server that runs with its defaults takes the value."""
    known = facts.baseline_variables if not facts.baseline_knobs else {}
    return change(knob, value, default_of(knob.name, facts), facts.server, known)


def implied_ceiling(lines: Sequence[Line], facts: ExportFacts) -> Change | None:
    """Return the limit that a server adjusts to its capacity at a start, but not while it runs."""
    values = {line.name: line.value for line in lines if line.written}
    if IO_CAPACITY not in values or IO_CEILING in values:
        return None
    shown = facts.candidate_variables.get(IO_CEILING)
    value = shown or default_ceiling(values[IO_CAPACITY], facts.server)
    return _change(load_catalogue().knobs[IO_CEILING], value, facts)


def losing_lines(lines: Sequence[Line], facts: ExportFacts) -> list[Line]:
    """Return every line below D0, and values below D0 that no line sets (`requested` is "")."""
    found = [line for line in lines if line.durability > Durability.D0]
    for name, (given, loses) in effective_losses(facts.candidate_variables, facts.server).items():
        if name not in facts.knobs:
            knob = load_catalogue().knobs[name]
            value = facts.candidate_variables[knob.variable(facts.server)]
            unset = _line(name, value, value, facts, requested="")
            found.append(replace(unset, durability=given, loses=loses))
    return found


def default_of(name: str, facts: ExportFacts) -> str | None:
    """Return the server's value without any setting, None if unknown.

    Read back from the baseline if that set nothing, else a fixed value of the catalogue.
    """
    knob = load_catalogue().get(name)
    if knob is None:
        return None
    if not facts.baseline_knobs:
        shown = effective_values([name], facts.baseline_variables, facts.server).get(name)
        if shown:
            return shown
    return fixed_default(knob, facts.server)


def running_values(
    facts: ExportFacts,
    variables: Mapping[str, str],
    knobs: Mapping[str, str],
    names: Collection[str],
) -> dict[str, str]:
    """Return the values of a run: read back, else as requested, else the default."""
    found = {name: text for name in names if (text := default_of(name, facts)) is not None}
    shown = effective_values(names, variables, facts.server)
    return {**found, **knobs, **{name: text for name, text in shown.items() if text}}


def changed_names(facts: ExportFacts) -> Set[str]:
    """Return the variables in which the measured candidate differed from the baseline."""
    names = {**facts.knobs, **facts.baseline_knobs}
    here = running_values(facts, facts.candidate_variables, facts.knobs, names)
    there = running_values(facts, facts.baseline_variables, facts.baseline_knobs, names)
    both = here.keys() & there.keys()
    return names.keys() - {name for name in both if same(here[name], there[name])}


def absent_names(facts: ExportFacts, lines: Sequence[Line]) -> list[str]:
    """Return the variables that only the baseline set, to another value than the default."""
    absent = changed_names(facts) - {line.name for line in lines}
    return [name for name in facts.baseline_knobs if name in absent]


def value_text(line: Line, value: str | None) -> str:
    """Return a value of the line for people: bytes with their unit."""
    return "" if value is None else readable_value(line.knob, value)


def _line(
    name: str, value: str, effective: str | None, facts: ExportFacts, *, requested: str
) -> Line:
    knob = load_catalogue().get(name)
    return Line(
        name=name,
        requested=requested,
        value=value,
        effective=effective,
        default=default_of(name, facts),
        written=False,
        changed=False,
        knob=knob,
        dynamic=knob.dynamic(facts.server) if knob and knob.exists_in(facts.server) else None,
    )


def _measured_lines(facts: ExportFacts) -> Iterator[Line]:
    server, knobs = facts.server, facts.knobs
    effective = effective_values(knobs, facts.candidate_variables, server)
    values = {
        name: _writable(name, effective.get(name), server) or asked
        for name, asked in knobs.items()
    }
    values.update(_safeguards(facts, values))
    given_up = {**losses(knobs, server), **losses(values, server)}
    seen = effective_values([CAPACITY], facts.candidate_variables, server).get(CAPACITY)
    redo = int(seen) if seen is not None and seen.isdigit() else None
    differing, costs = changed_names(facts), costs_of(values, server, redo_bytes=redo)
    for name, value in values.items():
        shown = effective.get(name, None if name in knobs else value)
        line = _line(name, value, shown, facts, requested=knobs.get(name, value))
        durability, loses = given_up.get(name, NOTHING_LOST)
        is_default = line.default is not None and same(line.default, value)
        yield replace(
            line,
            written=not is_default
            or _follows_others(line.knob, facts)
            or _safer_than_default(line.knob, values, server),
            changed=name in differing,
            durability=durability,
            loses=loses,
            costs=tuple(one for one in costs if one.name == name),
        )


def _sized_back(lines: Sequence[Line], facts: ExportFacts, model: ScaleModel) -> Iterator[Line]:
    """Yield the lines for the real server, without what only the model needed.

    The server's default of a knob that scales with memory stands for more than that on the real
    server: such a line is written out.
    """
    only_here = model.only_here(facts.server)
    kept = [line for line in lines if only_here.get(line.name) != line.value]
    knobs = {line.name: line.value for line in kept}
    pool = effective_values([POOL], facts.candidate_variables, facts.server).get(POOL)
    pool = pool or default_of(POOL, facts)
    if POOL not in knobs and knobs.get(DEDICATED) != "ON" and pool is not None:
        unset = _line(POOL, pool, pool, facts, requested=pool)
        kept.append(replace(unset, changed=POOL in changed_names(facts)))
    for line in kept:
        if not is_scaled(line.name):
            yield line
            continue
        others = {name: value for name, value in knobs.items() if name != line.name}
        value = on_real_server(line.name, line.value, model, facts.server, others)
        written = line.written or line.default is None or not same(line.default, value)
        yield replace(line, value=value, requested=value, written=written, in_model=line.value)


def _safeguards(facts: ExportFacts, values: Mapping[str, str]) -> dict[str, str]:
    """Return safe values that were measured without being requested, if the default is less safe.

    Without them the file would be less safe than what was measured: MariaDB does not sync the
    binary log by default.
    """
    tunable = load_catalogue().tunable(facts.server)
    knobs = {one.name: one for one in tunable if one.durability and one.name not in values}
    shown = effective_values(list(knobs), facts.candidate_variables, facts.server)
    return {
        name: text
        for name in shown
        if (text := _writable(name, shown[name], facts.server)) is not None
        and _safer_than_default(knobs[name], {**values, name: text}, facts.server)
    }


def _writable(name: str, effective: str | None, server: ServerTraits) -> str | None:
    knob = load_catalogue().get(name)
    return usable(knob, effective, server) if knob and effective else None


def _safer_than_default(
    knob: Knob | None, values: Mapping[str, str], server: ServerTraits
) -> bool:
    """Whether the value loses less than the server's default."""
    default = fixed_default(knob, server) if knob and knob.durability else None
    if knob is None or default is None:
        return False
    there = losses({**values, knob.name: default}).get(knob.name, NOTHING_LOST)
    return there[0] > losses(values).get(knob.name, NOTHING_LOST)[0]


def _follows_others(knob: Knob | None, facts: ExportFacts) -> bool:
    """Whether the server computes this default from knobs that the config sets.

    Then the line is needed even if the baseline had the same value: with the other lines the
    server would compute another one (innodb_io_capacity_max becomes twice the capacity).
    """
    default = knob.default(facts.server) if knob else None
    if not isinstance(default, Computed):
        return False
    return not (facts.knobs.keys() | facts.baseline_knobs.keys()).isdisjoint(default.of)


def _evidence(line: Line, facts: ExportFacts, differing: int) -> str:
    """Describe the evidence for a line, which is one of `differing` that were changed together."""
    if facts.keeps_baseline:
        return ""
    own = facts.own_effect(line.name)
    if own is not None and own.state != RemovalState.UNTESTED:
        others = ", ".join(name for name in own.names if name != line.name)
        how = f"with {others}" if others else "on its own"
        return own.text if own.estimate is None else f"{own.text} by removing it {how}"
    if not line.changed:
        return f"same value as {facts.baseline.name}"
    if differing > 1:
        return f"measured with {counted(differing - 1, 'other setting')}"
    return "measured alone"
