"""The catalogue as a document: docs/reference/knobs.md."""

from __future__ import annotations

from collections.abc import Iterator

from tuning.catalogue.costs import MEANING, Cost
from tuning.catalogue.facts import Dynamic
from tuning.catalogue.knob import DurabilityRule, Knob, SetBy
from tuning.catalogue.loader import Catalogue, load_catalogue
from tuning.catalogue.resources import Scales
from tuning.catalogue.target import FLAVOUR_NAMES, ServerTraits
from tuning.configs.presets.loader import load_preset, preset_names
from tuning.knob_docs.wording import (
    DOCUMENTED,
    by_server,
    default_words,
    limit_words,
    removal_words,
    series_words,
    version_words,
    worth_testing_words,
)

_CHANGE = {
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
    """The page, as Markdown."""
    catalogue = load_catalogue()
    evidence = ", ".join(f"{letter} {words}" for letter, words in catalogue.evidence.items())
    costs = "; ".join(f"`{kind}`, {words}" for kind, words in MEANING.items())
    lines = [_HEAD.format(servers=series_words(DOCUMENTED), evidence=evidence, costs=costs)]
    groups: dict[str, list[Knob]] = {}
    for knob in catalogue.knobs.values():
        groups.setdefault(knob.group, []).append(knob)
    for group, knobs in groups.items():
        lines += [f"## {group[0].upper()}{group[1:]}", ""]
        for knob in knobs:
            lines += [f"### {knob.name}", "", knob.does, ""]
            lines += [f"- {point}" for point in _points(knob, catalogue)] + [""]
    return "\n".join(lines).rstrip() + "\n"


def _points(knob: Knob, catalogue: Catalogue) -> Iterator[str]:
    if knob.set_by is not None:
        yield _SET_BY[knob.set_by]
    owners = [target for target in DOCUMENTED if knob.exists_in(target)]
    said = [target for target in owners if not _as_mysql(knob, target)]
    if owners:
        yield f"On {series_words(owners)}." if len(owners) < len(DOCUMENTED) else "On all servers."
        unit = f" {knob.unit}" if knob.unit and knob.unit != "bytes" else ""
        defaults = by_server(said, lambda target: _default(knob, target))
        yield f"Default{f' in{unit}' if unit else ''}: {'; '.join(defaults)}."
        ranges = by_server(said, lambda target: _range(knob, target))
        if ranges != [""]:
            yield f"Takes {'; '.join(ranges)}."
        yield f"Changes {'; '.join(by_server(said, lambda target: _change(knob, target)))}."
    if knob.scales is not None:
        yield _SCALES[knob.scales]
    if knob.new_data_dir:
        yield "Fixed when the data directory is created."
    yield from (_lifecycle(knob, catalogue))
    for rule in knob.durability:
        yield f"{rule.durability} with {_values(rule)}: may lose {rule.loses}."
    for cost in knob.costs:
        known = f"({cost.source}) [{cost.evidence}]"
        yield f"Costs {cost.kind} with {_values(cost)}: {cost.loses} {known}."
    for part in knob.worth_testing:
        yield f"Worth testing: {worth_testing_words(knob, part)}."
    if published := _published(knob):
        yield f"In the whitepaper's configs: {published}."
    yield from knob.notes


def _published(knob: Knob) -> str:
    """The values of the presets of the whitepaper (2016): "`3GB` (1), `12GB` (2, 3)"."""
    configs: dict[str, list[str]] = {}
    for name in preset_names():
        paper, _, config = name.rpartition("whitepaper-")
        if not paper and len(config) == 1 and (value := load_preset(name).knobs.get(knob.name)):
            configs.setdefault(value, []).append(f"#{config.upper()}")
    return ", ".join(f"`{value}` ({', '.join(names)})" for value, names in configs.items())


def _as_mysql(knob: Knob, target: ServerTraits) -> bool:
    """Whether Percona Server has the same facts as MySQL of the same series."""
    if target.flavour.value != "percona":
        return False
    [mysql] = [t for t in DOCUMENTED if t.flavour.value == "mysql" and t.series == target.series]
    return knob.exists_in(mysql) and all(
        words(knob, target) == words(knob, mysql) for words in (default_words, _range, _change)
    )


def _default(knob: Knob, target: ServerTraits) -> str:
    evidence = knob.facts(target).evidence.get("default", "")
    return f"{default_words(knob, target)} [{evidence}]"


def _range(knob: Knob, target: ServerTraits) -> str:
    if words := knob.values(target):
        return ", ".join(f"`{word}`" for word in words)
    limits = knob.limits(target)
    return f"`{limit_words(limits.low)}` to `{limit_words(limits.high)}`" if limits else ""


def _change(knob: Knob, target: ServerTraits) -> str:
    dynamic = knob.dynamic(target)
    return _CHANGE[dynamic] if dynamic else "in an unknown way"


def _lifecycle(knob: Knob, catalogue: Catalogue) -> Iterator[str]:
    shared: list[str] = []
    said: set[str] = set()
    for flavour, facts in knob.flavours.items():
        parts = [
            f"{word} {version_words(releases[0])}"
            for word, releases in (
                ("deprecated since", facts.deprecated),
                ("without effect since", facts.ignored),
            )
            if releases
        ]
        if facts.removed:
            parts.append(f"removed {removal_words(facts.removed[0])}")
        if facts.tolerated:
            parts.append("the name is still accepted, with a warning")
        if facts.successor in catalogue.knobs and (parts or not facts.default):
            parts.append(f"use `{facts.successor}`")
        if parts and parts != shared:
            yield f"{FLAVOUR_NAMES[flavour]}: {', '.join(parts)}."
        shared = parts
        if facts.note and facts.note not in said:
            yield f"{FLAVOUR_NAMES[flavour]}: {facts.note}."
            said.add(facts.note)


def _values(rule: DurabilityRule | Cost) -> str:
    said = ""
    if rule.above is not None:
        said = f"more than `{limit_words(rule.above)}`"
    elif rule.values:
        said = ", ".join(f"`{value}`" for value in sorted(rule.values))
    if isinstance(rule, Cost):
        return said
    if rule.not_values:
        said = f"any value except {', '.join(f'`{value}`' for value in sorted(rule.not_values))}"
    for name, values in rule.only_with.items():
        said += f" if {name} is {' or '.join(f'`{value}`' for value in sorted(values))}"
    return said
