"""Reads study templates, each checked against the schema beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tuning.catalogue.knob import Durability
from tuning.datafiles import read_data_file
from tuning.errors import InvalidDataFile, UnknownTemplate
from tuning.study_templates.amounts import Amount, read_amount
from tuning.study_templates.claims import Claim, read_claim

HERE = Path(__file__).resolve().parent
SCHEMA_FILE = HERE / "template.schema.json"


@dataclass(frozen=True)
class TemplateVariant:
    """A candidate that a template makes itself: the preset `base` with other values for `knobs`.

    A knob of the base is replaced; `title` is a few words for people. With `logs_with_data` the
    redo log stays beside the data although the device has a directory of its own for it.
    """

    name: str
    title: str
    base: str
    knobs: Mapping[str, Amount]
    logs_with_data: bool = False


@dataclass(frozen=True)
class StudyTemplate:
    """What a study of this kind measures; times in seconds, `baseline` is one of its candidates.

    Either `connections` or `connections_per_core` is empty. `races` and `confirms` as in
    `tuning.models.Study`. `copies_of_baseline` are further names of the same config, measured
    apart: what they differ by is noise. `durability` is the least safe class of its own
    candidates. `needs_log_device` says that it asks about a log directory of the device's, and
    tells nothing where there is none. `repeats` names the figure that it repeats, `claims` what
    was found there.
    """

    name: str
    title: str
    warehouses: int
    connections: tuple[int, ...]
    warmup_s: int
    measure_s: int
    blocks: int
    presets: tuple[str, ...]
    baseline: str
    races: bool = True
    confirms: bool = True
    copies_of_baseline: int = 0
    connections_per_core: tuple[float, ...] = ()
    variants: Mapping[str, TemplateVariant] = field(default_factory=dict)
    durability: Durability = Durability.D0
    needs_log_device: bool = False
    repeats: str = ""
    claims: tuple[Claim, ...] = ()

    @property
    def candidates(self) -> tuple[str, ...]:
        """The names of its own candidates, without copies; the baseline first."""
        names = (*self.presets, *self.variants)
        return tuple(sorted(names, key=lambda name: name != self.baseline))

    def connections_on(self, logical_cpus: int) -> tuple[int, ...]:
        """The numbers of connections on a host with so many CPUs; no number twice."""
        if self.connections:
            return self.connections
        scaled = (max(round(times * logical_cpus), 1) for times in self.connections_per_core)
        return tuple(dict.fromkeys(scaled))


def template_names() -> list[str]:
    """The names of all templates."""
    return sorted(path.stem for path in HERE.glob("*.yaml"))


@cache
def load_template(name: str) -> StudyTemplate:
    """The template of that name; raises UnknownTemplate naming those there are."""
    # Looked up in the list, so that a name from the API never becomes a path.
    if name not in template_names():
        known = ", ".join(template_names())
        raise UnknownTemplate(f"there is no study template {name!r}; there are: {known}")
    return read_template(HERE / f"{name}.yaml")


def read_template(path: Path) -> StudyTemplate:
    """The template in a file; raises InvalidDataFile."""
    content = read_data_file(path, SCHEMA_FILE)
    connections = content["connections"]
    per_core = connections["per_core"] if isinstance(connections, dict) else ()
    template = StudyTemplate(
        name=path.stem,
        title=content["title"],
        warehouses=content["warehouses"],
        connections=() if per_core else tuple(connections),
        connections_per_core=tuple(map(float, per_core)),
        warmup_s=content["warmup_s"],
        measure_s=content["measure_s"],
        blocks=content["blocks"],
        presets=tuple(content.get("presets", ())),
        variants=_variants(content.get("variants", {})),
        baseline=content["baseline"],
        races=content.get("races", True),
        confirms=content.get("confirms", True),
        copies_of_baseline=content.get("copies_of_baseline", 0),
        durability=Durability(content.get("durability", Durability.D0)),
        needs_log_device=content.get("needs_log_device", False),
        repeats=content.get("repeats", "").strip(),
        claims=tuple(map(read_claim, content.get("claims", ()))),
    )
    _check_names(template, path.name)
    _check_logs(template, path.name)
    return template


def _variants(content: Mapping[str, Any]) -> Mapping[str, TemplateVariant]:
    return MappingProxyType(
        {
            name: TemplateVariant(
                name=name,
                title=part["title"],
                base=part.get("base", "server-default"),
                knobs=MappingProxyType(
                    {knob: read_amount(value) for knob, value in part.get("knobs", {}).items()}
                ),
                logs_with_data=part.get("logs_with_data", False),
            )
            for name, part in content.items()
        }
    )


def _check_names(template: StudyTemplate, source: str) -> None:
    """What a schema cannot see: every name that is used is that of one candidate."""
    if twice := sorted(set(template.presets) & set(template.variants)):
        raise InvalidDataFile(f"{source}: {', '.join(twice)} is a preset and a variant")
    if template.baseline not in template.candidates:
        raise InvalidDataFile(f"{source}: the baseline is not among the presets and variants")
    for claim in template.claims:
        if unknown := sorted(set(claim.statement.names) - set(template.candidates)):
            raise InvalidDataFile(
                f"{source}: a claim is about {', '.join(unknown)}, which is no candidate"
            )


def _check_logs(template: StudyTemplate, source: str) -> None:
    """Without a log directory such a variant is its base under another name."""
    with_data = [one.name for one in template.variants.values() if one.logs_with_data]
    if with_data and not template.needs_log_device:
        names = ", ".join(with_data)
        raise InvalidDataFile(f"{source}: needs_log_device is missing, and {names} needs one")
