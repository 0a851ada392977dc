"""The catalogue as a document: docs/reference/knobs.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from tuning.catalogue.costs import MEANING, Cost
from tuning.catalogue.facts import Computed, Dynamic
from tuning.catalogue.knob import DurabilityRule, Kind, Knob, SetBy, WorthTesting
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.resources import Resource, Scales
from tuning.catalogue.target import FLAVOUR_NAMES, ServerTraits, Version, parse_traits
from tuning.configs.presets.loader import load_preset, preset_names
from tuning.configs.values import readable, readable_value

#: One release of each documented series: the newest that was available.
DOCUMENTED = tuple(
    parse_traits(f"{flavour} {version}")
    for flavour, versions in {
        "mysql": "5.7.42 8.0.46 8.4.10 9.7.4",
        "percona": "5.7.44 8.0.46 8.4.10",
        "mariadb": "10.6.23 10.11.19 11.8.6",
    }.items()
    for version in versions.split()
)
_CHANGE = {
    None: "in an unknown way",
    Dynamic.RESTART: "with a restart",
    Dynamic.GLOBAL: "while the server runs",
    Dynamic.SESSION: "while the server runs, for each session as well",
    Dynamic.PARTLY: "while the server runs, between some of its values",
    Dynamic.NO_EFFECT: "while the server runs, without effect",
}
_SET_BY = {
    SetBy.ADVISOR: "Not for a config: the advisor sets the location of files.",
    SetBy.STUDY: "Not for a config: binary logging is set for a study as a whole.",
}
_SCALES = {
    Scales.MEMORY: "Scales with the memory.",
    Scales.DATA: "Scales with the data.",
    Scales.WRITE_RATE: "Scales with what the load writes, not with the size of the server.",
    Scales.CORES: "Scales with the CPUs.",
    Scales.NONE: "Does not scale.",
}
_OF = {Resource.MEMORY: "x the memory", Resource.CORES: "x the CPUs", Resource.DATA: "x the data"}
_HEAD = """# The variables

Every server variable that the advisor knows: its purpose for OLTP, its default on each server,
how it can be changed, its risks, and which values are worth testing. A config may set these and no
others. This page is generated from `tuning/catalogue/knobs.yaml` by `manage.py knobs_docs`; a test
compares the catalogue with every installed server.

Servers: {servers}.
Facts about MySQL also hold for Percona Server of the same series unless it is named as well.

Durability: a config is D0 unless it sets a value that is marked below. D1 may lose the last
commits, D2 may corrupt data. The letter after a default is its source: {evidence}.

Costs: what a value gives up for speed, other than durability. The advisor proposes such a value
only if its kind is allowed (`--allow`): {costs}.

Scales: how a value differs between a [scale model](../how-to/scale.md) and the real server.
"""


def reference_page() -> str:
    """Return the page, as Markdown."""
    catalogue = load_catalogue()
    evidence = ", ".join(f"{letter} {words}" for letter, words in catalogue.evidence.items())
    costs = "; ".join(f"`{kind}`, {words}" for kind, words in MEANING.items())
    lines = [_HEAD.format(servers=_series(DOCUMENTED), evidence=evidence, costs=costs)]
    for group in dict.fromkeys(knob.group for knob in catalogue.knobs.values()):
        lines += [f"## {group[0].upper()}{group[1:]}", ""]
        for knob in catalogue.knobs.values():
            if knob.group == group:
                lines += [f"### {knob.name}", "", knob.does, ""]
                lines += [f"- {point}" for point in _points(knob)] + [""]
    return "\n".join(lines).rstrip() + "\n"


def _points(knob: Knob) -> Iterator[str]:
    if knob.set_by is not None:
        yield _SET_BY[knob.set_by]
    owners = [target for target in DOCUMENTED if knob.exists_in(target)]
    if owners:
        yield f"On {_series(owners)}." if len(owners) < len(DOCUMENTED) else "On all servers."
        unit = f" in {knob.unit}" if knob.unit and knob.unit != "bytes" else ""
        yield f"Default{unit}: {_by_server(knob, owners, _default)}."
        if ranges := _by_server(knob, owners, _range):
            yield f"Takes {ranges}."
        yield f"Changes {_by_server(knob, owners, lambda k, t: _CHANGE[k.dynamic(t)])}."
    if knob.scales is not None:
        yield _SCALES[knob.scales]
    if knob.new_data_dir:
        yield "Fixed when the data directory is created."
    if knob.at_most is not None:
        yield f"May not exceed {knob.at_most.knob}."
    yield from _lifecycle(knob)
    for rule in knob.durability:
        yield f"{rule.durability} with {_values(rule)}: may lose {rule.loses}."
    for cost in knob.costs:
        known = f"({cost.source}) [{cost.evidence}]"
        yield f"Costs {cost.kind} with {_values(cost)}: {cost.loses} {known}."
    for part in knob.worth_testing:
        yield f"Worth testing: {_worth_testing(knob, part)} ({part.source})."
    published: dict[str, list[str]] = {}
    for name in preset_names():
        if name.startswith("whitepaper-") and (value := load_preset(name).knobs.get(knob.name)):
            published.setdefault(f"`{value}`", []).append(f"#{name[-1].upper()}")
    if published:
        parts = [f"{value} ({', '.join(names)})" for value, names in published.items()]
        yield f"In the whitepaper's configs: {', '.join(parts)}."
    yield from knob.notes


def _by_server(
    knob: Knob, owners: Sequence[ServerTraits], words: Callable[[Knob, ServerTraits], str]
) -> str:
    """Facts of several servers: "`200` [B] (MySQL 5.7, 8.0); `10000` [B] (MySQL 8.4)"."""
    groups: dict[str, list[ServerTraits]] = {}
    for target in owners:
        if target.flavour != "percona" or not _is_as_mysql(knob, target, owners):
            groups.setdefault(words(knob, target), []).append(target)
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{said} ({_series(servers)})" for said, servers in groups.items())


def _is_as_mysql(knob: Knob, target: ServerTraits, owners: Sequence[ServerTraits]) -> bool:
    """Whether a Percona Server has the facts of the MySQL of its series."""
    facts = (knob.default, knob.limits, knob.values, knob.dynamic)
    same = [one for one in owners if one.flavour == "mysql" and one.series == target.series]
    return any(all(fact(one) == fact(target) for fact in facts) for one in same)


def _series(targets: Sequence[ServerTraits]) -> str:
    """Servers by flavour and series: "MySQL 5.7, 8.0; MariaDB 10.6"."""
    flavours: dict[str, list[str]] = {}
    for target in targets:
        found = flavours.setdefault(FLAVOUR_NAMES[target.flavour], [])
        found.append(".".join(map(str, target.series)))
    return "; ".join(f"{flavour} {', '.join(series)}" for flavour, series in flavours.items())


def _default(knob: Knob, target: ServerTraits) -> str:
    default = knob.default(target)
    if isinstance(default, Computed):
        words = f"auto ({default.rule})"
    else:
        words = "not set" if default is None else f"`{readable_value(knob, default)}`"
    return f"{words} [{knob.facts(target).evidence.get('default', '')}]"


def _range(knob: Knob, target: ServerTraits) -> str:
    if words := knob.values(target):
        return ", ".join(f"`{word}`" for word in words)
    limits = knob.limits(target)
    return f"`{_number(limits.low)}` to `{_number(limits.high)}`" if limits else ""


def _number(value: float) -> str:
    """An end of a range; as a power of two if only the width of the number limits it."""
    return f"2^{math.log2(value):.0f}" if value >= 2**62 else readable(value)


def _lifecycle(knob: Knob) -> Iterator[str]:
    shared: list[str] = []
    notes: set[str] = set()
    for flavour, facts in knob.flavours.items():
        parts = []
        if facts.deprecated:
            parts.append(f"deprecated since {_version(facts.deprecated[0])}")
        if facts.ignored:
            parts.append(f"without effect since {_version(facts.ignored[0])}")
        if facts.removed == ((9, 0, 0),):  # only the previous series is certain
            parts.append("removed after 8.4")
        elif facts.removed:
            parts.append(f"removed in {_version(facts.removed[0])}")
        if facts.tolerated:
            parts.append("the name is still accepted, with a warning")
        if facts.successor and (parts or not facts.default):
            parts.append(f"use `{facts.successor}`")
        if parts and parts != shared:
            yield f"{FLAVOUR_NAMES[flavour]}: {', '.join(parts)}."
        shared = parts
        if facts.note and facts.note not in notes:
            yield f"{FLAVOUR_NAMES[flavour]}: {facts.note}."
            notes.add(facts.note)


def _version(version: Version) -> str:
    """8.0.30, or 8.0 for the first of a series."""
    return ".".join(map(str, version[:2] if version[2] == 0 else version))


def _values(rule: DurabilityRule | Cost) -> str:
    words = ", ".join(f"`{value}`" for value in sorted(rule.values))
    if rule.above is not None:
        words = f"more than `{_number(rule.above)}`"
    if isinstance(rule, DurabilityRule):
        if rule.not_values:
            unsafe = ", ".join(f"`{value}`" for value in sorted(rule.not_values))
            words = f"any value except {unsafe}"
        for name, values in rule.only_with.items():
            words += f" if {name} is {' or '.join(f'`{value}`' for value in sorted(values))}"
    return words


def _worth_testing(knob: Knob, part: WorthTesting) -> str:
    if part.values:
        return ", ".join(f"`{value}`" for value in part.values)
    is_size = knob.kind is Kind.BYTES
    ends = [
        readable(value) if is_size and value >= 1 else f"{value:g}"
        for value in dict.fromkeys((part.low or 0, part.high or 0))
    ]
    if part.of is None:
        return " to ".join(f"`{end}`" for end in ends)
    unit = "per CPU" if is_size and part.of is Resource.CORES else _OF[part.of]
    return f"{' to '.join(ends)} {unit}"
