"""The recommended lines: the value of each, the server's default, and what it may lose."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from tuning.catalogue.facts import Computed, Dynamic
from tuning.catalogue.knob import Durability, Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.costs import KnobCost, costs_of
from tuning.configs.effective.durability import losses
from tuning.configs.effective.readback import effective_values
from tuning.configs.effective.variables import CAPACITY, DEDICATED, POOL
from tuning.configs.values import fixed_default, same, usable
from tuning.export.facts import ExportFacts, made_once
from tuning.scale_model.conversion import is_scaled, on_real_server
from tuning.scale_model.model import ScaleModel


@dataclass(frozen=True)
class Line:
    """One knob of the recommendation.

    `value` is the one to write: the effective one if the server showed one that can be written,
    else the requested one. `default` is the server's own value, None if unknown. `changed`:
    whether the measured candidate differed from the baseline in this knob; `written`: whether it
    must be in a my.cnf. `in_model`: of a value that was sized back to the real server, the one
    that was measured in the scale model.
    """

    name: str
    requested: str
    value: str
    effective: str | None
    default: str | None
    written: bool
    changed: bool
    durability: Durability
    loses: str
    knob: Knob | None
    dynamic: Dynamic | None
    costs: tuple[KnobCost, ...] = ()
    in_model: str = ""

    @property
    def scope(self) -> str:
        """ "session" if every connection has its own value, else "global"."""
        return "session" if self.dynamic is Dynamic.SESSION else "global"


@made_once
def lines_of(facts: ExportFacts) -> Sequence[Line]:
    """Every knob of the recommendation, in order; those of a scale model are sized back."""
    found = _measured_lines(facts)
    if facts.model is None or facts.as_measured:
        return found
    return list(_sized_back(found, facts, facts.model))


def _sized_back(lines: Sequence[Line], facts: ExportFacts, model: ScaleModel) -> Iterator[Line]:
    """The lines for the real server; what only the model needed is left out.

    The server's default of a knob that scales with memory stands for more than that on the real
    server: such a line is written out.
    """
    only_here = model.only_here(facts.server)
    kept = [line for line in lines if only_here.get(line.name) != line.value]
    knobs = {line.name: line.value for line in kept}
    pool = effective_values([POOL], facts.candidate_variables, facts.server).get(POOL)
    pool = pool or default_of(POOL, facts)
    if POOL not in knobs and knobs.get(DEDICATED) != "ON" and pool is not None:
        kept.append(_unset_line(POOL, pool, facts))
    for line in kept:
        if not is_scaled(line.name):
            yield line
            continue
        others = {name: value for name, value in knobs.items() if name != line.name}
        value = on_real_server(line.name, line.value, model, facts.server, others)
        written = line.written or line.default is None or not same(line.default, value)
        yield replace(line, value=value, requested=value, written=written, in_model=line.value)


def _unset_line(name: str, value: str, facts: ExportFacts) -> Line:
    """A knob that candidate and server left at its default."""
    knob = load_catalogue().knobs[name]
    return Line(
        name=name,
        requested=value,
        value=value,
        effective=value,
        default=default_of(name, facts),
        written=False,
        changed=name in changed_names(facts),
        durability=Durability.D0,
        loses="",
        knob=knob,
        dynamic=knob.dynamic(facts.server),
    )


def _measured_lines(facts: ExportFacts) -> list[Line]:
    effective = effective_values(facts.knobs, facts.candidate_variables, facts.server)
    values = {
        name: _writable(name, effective.get(name), facts.server) or asked
        for name, asked in facts.knobs.items()
    }
    values.update(safeguards(facts, values))
    given_up = {**losses(facts.knobs, facts.server), **losses(values, facts.server)}
    differing, costs = changed_names(facts), _costs(values, facts)
    found = []
    for name, value in values.items():
        asked = facts.knobs.get(name, value)
        knob, default = load_catalogue().get(name), default_of(name, facts)
        durability, loses = given_up.get(name, (Durability.D0, ""))
        by_itself = default is not None and same(default, value)
        found.append(
            Line(
                name=name,
                requested=asked,
                value=value,
                effective=effective.get(name, None if name in facts.knobs else value),
                default=default,
                written=not by_itself
                or _follows_others(knob, facts)
                or _safer_than_default(knob, values, facts.server),
                changed=name in differing,
                durability=durability,
                loses=loses,
                knob=knob,
                dynamic=knob.dynamic(facts.server) if knob else None,
                costs=tuple(one for one in costs if one.name == name),
            )
        )
    return found


def _costs(values: Mapping[str, str], facts: ExportFacts) -> list[KnobCost]:
    """The costs of the lines; a redo log that the server sized itself is the one read back."""
    seen = effective_values([CAPACITY], facts.candidate_variables, facts.server).get(CAPACITY)
    redo = int(seen) if seen is not None and seen.isdigit() else None
    return costs_of(values, facts.server, redo_bytes=redo)


def safeguards(facts: ExportFacts, values: Mapping[str, str]) -> dict[str, str]:
    """Safe values that were measured without being requested, if the default is less safe.

    Without them the file would be less safe than what was measured: MariaDB does not sync the
    binary log by default.
    """
    names = [
        knob.name
        for knob in load_catalogue().tunable(facts.server)
        if knob.durability and knob.name not in values
    ]
    shown = effective_values(names, facts.candidate_variables, facts.server)
    return {
        name: text
        for name in shown
        if (text := _writable(name, shown[name], facts.server)) is not None
        and _safer_than_default(load_catalogue().get(name), {**values, name: text}, facts.server)
    }


def written_lines(facts: ExportFacts) -> list[Line]:
    """The lines of the my.cnf: what differs from the server's defaults."""
    return [line for line in lines_of(facts) if line.written]


@made_once
def changed_names(facts: ExportFacts) -> Set[str]:
    """The knobs in which the measured candidate differed from the baseline."""
    names = {**facts.knobs, **facts.baseline_knobs}
    here = _running(facts, facts.candidate_variables, facts.knobs, names)
    there = _running(facts, facts.baseline_variables, facts.baseline_knobs, names)
    return {
        name
        for name in names
        if name not in here or name not in there or not same(here[name], there[name])
    }


def default_of(name: str, facts: ExportFacts) -> str | None:
    """The server's value without any setting, None if unknown.

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


def _writable(name: str, effective: str | None, server: ServerTraits) -> str | None:
    """The effective value, if it can be written in an option file."""
    knob = load_catalogue().get(name)
    return usable(knob, effective, server) if knob and effective else None


def _running(
    facts: ExportFacts,
    variables: Mapping[str, str],
    knobs: Mapping[str, str],
    names: Collection[str],
) -> dict[str, str]:
    """The values of a run: read back, else as requested, else the default."""
    found = {name: text for name in names if (text := default_of(name, facts)) is not None}
    shown = effective_values(names, variables, facts.server)
    return {**found, **knobs, **{name: text for name, text in shown.items() if text}}


def _safer_than_default(
    knob: Knob | None, values: Mapping[str, str], server: ServerTraits
) -> bool:
    """Whether the value loses less than the server's default."""
    default = fixed_default(knob, server) if knob and knob.durability else None
    if knob is None or default is None:
        return False
    nothing = (Durability.D0, "")
    there = losses({**values, knob.name: default}).get(knob.name, nothing)
    return there[0] > losses(values).get(knob.name, nothing)[0]


def _follows_others(knob: Knob | None, facts: ExportFacts) -> bool:
    """Whether the server computes this default from knobs that the config sets.

    Then the line is needed even if the baseline had the same value: with the other lines the
    server would compute another one (innodb_io_capacity_max becomes twice the capacity).
    """
    default = knob.default(facts.server) if knob else None
    if knob is None or not isinstance(default, Computed):
        return False
    return not (facts.knobs.keys() | facts.baseline_knobs.keys()).isdisjoint(default.of)
