"""The catalogue as a document: docs/reference/knobs.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeVar

from tuning.catalogue.costs import MEANING, Cost
from tuning.catalogue.facts import Computed, Default, Dynamic, Facts, Limits, Timeline
from tuning.catalogue.knob import DurabilityRule, Kind, Knob, SetBy, WorthTesting
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.resources import Resource, Scales
from tuning.catalogue.target import FLAVOUR_NAMES, Version
from tuning.configs.values import readable, readable_value

T = TypeVar("T")

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
_OF = {Resource.MEMORY: "x the memory", Resource.CORES: "x the CPUs", Resource.DATA: "x the data"}
_HEAD = """# The variables

Every server variable that the advisor knows: its purpose for OLTP, its default on each server,
how it can be changed, its risks, and which values are worth testing. A config may set these and no
others. This page is generated from `tuning/catalogue/knobs.yaml` by `manage.py knobs_docs`; a test
compares the catalogue with every installed server.

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
    lines = [_HEAD.format(evidence=evidence, costs=costs)]
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
    said: set[str] = set()
    for flavour, facts in knob.flavours.items():
        text = "; ".join(_facts(knob, facts))
        # A fact that MySQL's program shows [B] is for Percona Server as good as documented [S].
        if (alike := text.replace("[B]", "[S]")) not in said:
            yield f"{FLAVOUR_NAMES[flavour]}: {text}."
        said.add(alike)
    if knob.scales is not None:
        yield _SCALES[knob.scales]
    if knob.new_data_dir:
        yield "Fixed when the data directory is created."
    if knob.at_most is not None:
        yield f"May not exceed {knob.at_most.knob}."
    for rule in knob.durability:
        yield f"{rule.durability} with {_values(rule)}: may lose {rule.loses}."
    for cost in knob.costs:
        known = f"({cost.source}) [{cost.evidence}]"
        yield f"Costs {cost.kind} with {_values(cost)}: {cost.loses} {known}."
    for part in knob.worth_testing:
        yield f"Worth testing: {_worth_testing(knob, part)} ({part.source})."
    yield from knob.notes


def _facts(knob: Knob, facts: Facts) -> Iterator[str]:
    """Yield the facts of one flavour, each change with the version from which it holds."""
    if facts.added:
        yield f"since {_version(facts.added[0])}"
    if facts.default:
        unit = f" in {knob.unit}" if knob.unit and knob.unit != "bytes" else ""
        words = _over_time(facts.default, lambda default: _default(knob, default))
        yield f"default{unit} {words} [{facts.evidence['default']}]"
    if facts.limits:
        yield f"takes {_over_time(facts.limits, _range)}"
    if facts.values:
        yield f"takes {_over_time(facts.values, lambda words: ', '.join(map(_code, words)))}"
    if facts.dynamic:
        yield f"changes {_over_time(facts.dynamic, lambda how: _CHANGE[how])}"
    if facts.deprecated:
        yield f"deprecated since {_version(facts.deprecated[0])}"
    if facts.ignored:
        yield f"without effect since {_version(facts.ignored[0])}"
    if facts.removed:
        # Only the series of releases after 8.4 is certain.
        is_certain = facts.removed != ((9, 0, 0),)
        yield f"removed in {_version(facts.removed[0])}" if is_certain else "removed after 8.4"
    if facts.tolerated:
        yield "the name is still accepted, with a warning"
    if facts.successor:
        yield f"use {_code(facts.successor)}"
    if facts.note:
        yield facts.note


def _over_time(timeline: Timeline[T], words: Callable[[T], str]) -> str:
    """Return facts with their versions: "`200`, from 8.4 `10000`"."""
    (_, first), *later = timeline
    return ", ".join([words(first), *(f"from {_version(at)} {words(one)}" for at, one in later)])


def _code(word: str) -> str:
    return f"`{word}`"


def _default(knob: Knob, default: Default) -> str:
    if isinstance(default, Computed):
        return f"auto ({default.rule})"
    return "not set" if default is None else _code(readable_value(knob, default))


def _range(limits: Limits) -> str:
    return f"`{_number(limits.low)}` to `{_number(limits.high)}`"


def _number(value: float) -> str:
    """An end of a range; as a power of two if only the width of the number limits it."""
    return f"2^{math.log2(value):.0f}" if value >= 2**62 else readable(value)


def _version(version: Version) -> str:
    """8.0.30, or 8.0 for the first of a series."""
    return ".".join(map(str, version[:2] if version[2] == 0 else version))


def _values(rule: DurabilityRule | Cost) -> str:
    words = ", ".join(map(_code, sorted(rule.values)))
    if rule.above is not None:
        words = f"more than `{_number(rule.above)}`"
    if isinstance(rule, DurabilityRule):
        if rule.not_values:
            words = f"any value except {', '.join(map(_code, sorted(rule.not_values)))}"
        for name, values in rule.only_with.items():
            words += f" if {name} is {' or '.join(map(_code, sorted(values)))}"
    return words


def _worth_testing(knob: Knob, part: WorthTesting) -> str:
    if part.values:
        return ", ".join(map(_code, part.values))
    is_size = knob.kind is Kind.BYTES
    ends = dict.fromkeys((part.low or 0, part.high or 0))
    texts = [readable(end) if is_size and end >= 1 else f"{end:g}" for end in ends]
    if part.of is None:
        return " to ".join(map(_code, texts))
    unit = "per CPU" if is_size and part.of is Resource.CORES else _OF[part.of]
    return f"{' to '.join(texts)} {unit}"
