"""Reads knobs.yaml into frozen dataclasses, once per process."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.servers.binary import Flavour
from tuning.catalogue.knob import (
    Computed,
    Default,
    Durability,
    DurabilityRule,
    Dynamic,
    Facts,
    Kind,
    Knob,
    Limits,
    Of,
    SetBy,
    WorthTesting,
)
from tuning.catalogue.target import ServerTraits, Version, parse_version
from tuning.catalogue.timeline import Timeline
from tuning.datafiles import read_data_file

HERE = Path(__file__).resolve().parent
DATA_FILE = HERE / "knobs.yaml"
SCHEMA_FILE = HERE / "knobs.schema.json"


@dataclass(frozen=True)
class Catalogue:
    """All catalogued variables by name, and what the letters of their evidence mean."""

    knobs: Mapping[str, Knob]
    evidence: Mapping[str, str]

    def get(self, name: str) -> Knob | None:
        """The variable of that normalised name (lower case, underscores)."""
        return self.knobs.get(name)

    def tunable(self, target: ServerTraits) -> Iterator[Knob]:
        """The knobs that the target has and a config may set."""
        return (k for k in self.knobs.values() if k.set_by is None and k.exists_in(target))

    def closest(self, name: str, target: ServerTraits) -> str | None:
        """The knob of the target that `name` looks like a slip of, if any."""
        names = [knob.name for knob in self.tunable(target)]
        if name.lower() in names:
            return name.lower()
        found = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.75)
        return found[0] if found else None


@functools.cache
def load_catalogue() -> Catalogue:
    """The reviewed catalogue; raises InvalidDataFile when it breaks its schema."""
    content = read_data_file(DATA_FILE, SCHEMA_FILE)
    knobs = {name: _knob(name, entry) for name, entry in content["knobs"].items()}
    return Catalogue(MappingProxyType(knobs), MappingProxyType(content["evidence"]))


def _knob(name: str, entry: Mapping[str, Any]) -> Knob:
    kind = Kind(entry["type"])
    flavours: dict[Flavour, Facts] = {}
    for flavour in Flavour:  # MySQL comes first, which `as: mysql` relies on
        if flavour in entry:
            flavours[flavour] = _facts(entry[flavour], kind, flavours.get(Flavour.MYSQL))
    return Knob(
        name=name,
        does=entry["does"],
        group=entry["group"],
        kind=kind,
        unit=entry.get("unit", ""),
        set_by=SetBy(entry["set_by"]) if "set_by" in entry else None,
        pattern=entry.get("pattern", ""),
        new_data_dir=entry.get("new_data_dir", False),
        worth_testing=tuple(_worth_testing(part) for part in entry.get("worth_testing", ())),
        durability=tuple(_durability(rule) for rule in entry.get("durability", ())),
        durability_evidence=entry.get("durability_evidence", ""),
        notes=tuple(entry.get("notes", ())),
        flavours=MappingProxyType(flavours),
    )


def _worth_testing(part: Mapping[str, Any]) -> WorthTesting:
    return WorthTesting(
        source=part["source"],
        of=Of(part["of"]) if "of" in part else None,
        low=part.get("from"),
        high=part.get("to"),
        values=tuple(part.get("values", ())),
    )


def _durability(rule: Mapping[str, Any]) -> DurabilityRule:
    return DurabilityRule(
        durability=Durability(rule["class"]),
        loses=rule["loses"],
        values=frozenset(rule.get("values", ())),
        not_values=frozenset(rule.get("not_values", ())),
        above=rule.get("above"),
        only_with={name: frozenset(vs) for name, vs in rule.get("only_with", {}).items()},
    )


def _facts(entry: Mapping[str, Any], kind: Kind, mysql: Facts | None) -> Facts:
    base = Facts()
    if "as" in entry:
        if mysql is None:
            raise ValueError("`as: mysql` without facts of MySQL")
        # What was seen on MySQL's program is for Percona's only what the source says.
        evidence = {group: "S" if e == "B" else e for group, e in mysql.evidence.items()}
        base = replace(mysql, evidence=MappingProxyType(evidence))
    found: dict[str, Any] = {}
    for name in ("added", "deprecated", "ignored", "removed"):
        if name in entry:
            found[name] = _versions(entry[name])
    for name in ("tolerated", "successor", "note"):
        if name in entry:
            found[name] = entry[name]
    timelines: dict[str, tuple[str, Callable[[Any], object]]] = {
        "default": ("default", lambda value: _default(value, kind)),
        "range": ("limits", lambda value: Limits(*value)),
        "values": ("values", lambda value: tuple(str(v) for v in value)),
        "dynamic": ("dynamic", Dynamic),
        "shown_as": ("shown_as", str),
    }
    for name, (attribute, read) in timelines.items():
        if name in entry:
            found[attribute] = Timeline(
                (parse_version(since), read(value)) for since, value in entry[name].items()
            )
    if "evidence" in entry:
        found["evidence"] = MappingProxyType({**base.evidence, **entry["evidence"]})
    return replace(base, **found)


def _versions(entry: str | list[str]) -> tuple[Version, ...]:
    texts = [entry] if isinstance(entry, str) else entry
    return tuple(sorted(parse_version(text) for text in texts))


def _default(value: object, kind: Kind) -> Default:
    if isinstance(value, dict):
        return Computed(value["auto"])
    if value is None:
        return None
    return f"{value:g}" if kind is Kind.FLOAT and isinstance(value, float) else str(value)
