"""Study templates, as in their files, with the claims of their sources.

`tuning.study_templates.evaluation` decides whether a study confirms the claims.
"""

from __future__ import annotations

from functools import cache
from math import inf
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictBool, StrictFloat, StrictInt
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import (
    STRICT,
    Count,
    Frozen,
    Named,
    Number,
    Some,
    distinct,
    read_data_file,
)
from benchmarks.storage.kinds import DeviceKind
from tuning.catalogue.facts import Name
from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.resources import WrittenAmount
from tuning.errors import UnknownTemplate
from tuning.statistics.data import Metric

HERE = Path(__file__).resolve().parent
#: The default template.
USUAL_TEMPLATE = "first-answer"
#: The template of a study with a profile of a real server.
YOUR_SERVER = "your-server"

Candidate = Annotated[str, Field(min_length=1)]
#: A fraction of 1.
Share = Annotated[Number, Field(gt=0, lt=1)]
Bound = Annotated[Number, Field(gt=0)]
Factor = Annotated[StrictFloat, Field(gt=0)]
VariantName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,59}$")]


def _several(written: Any) -> Any:
    return [written] if isinstance(written, str) else written


@dataclass(frozen=True, config=STRICT)
class Ratio:
    """The ratio of a metric between two configs, and its claimed range (None: no bound).

    `of` is divided by each of `to`, and the claim is about every one of these ratios. With
    `connections` it is one ratio of `of` alone: with the largest number of connections, divided by
    that with the largest number up to this share of it.
    """

    of: Candidate
    to: Annotated[Some[Candidate], BeforeValidator(_several), distinct()] = ()
    connections: Share | None = None
    above: Bound | None = None
    below: Bound | None = None
    metric: Metric = Metric.THROUGHPUT

    def __post_init__(self) -> None:
        if bool(self.to) == (self.connections is not None):
            raise ValueError("must have either `to` or `connections`")
        low, high = self.bounds
        if (low, high) == (0.0, inf) or low >= high:
            raise ValueError("must have `above`, `below` or both, and `above` the lesser")

    @property
    def names(self) -> tuple[str, ...]:
        return (self.of, *self.to)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.above or 0.0, self.below or inf


@dataclass(frozen=True, config=STRICT)
class Claim:
    """A claim of a source: its words, their place and its figures ("": none).

    `devices` are the kinds of device that it applies to; empty: all. With `needs_seeks` it is
    about seek times, which an emulated device does not have.
    """

    says: Annotated[str, Field(min_length=10)]
    source: Annotated[str, Field(min_length=10)]
    ratio: Ratio
    published: Annotated[str, Field(min_length=5)] = ""
    devices: Annotated[Some[DeviceKind], distinct()] = ()
    needs_seeks: StrictBool = False


@dataclass(frozen=True, config=STRICT)
class TemplateVariant:
    """A candidate of the template's own: the preset `base` with other values for `knobs`.

    A knob of the base is replaced; `title` is a few words for people. With `logs_with_data` the
    redo log stays with the data although the device has a separate directory for it.
    """

    name: VariantName
    title: Annotated[str, Field(min_length=3, max_length=100)]
    base: Candidate = "server-default"
    knobs: Frozen[Name, WrittenAmount] = Field(default_factory=dict)
    logs_with_data: StrictBool = False

    def __post_init__(self) -> None:
        knobs = load_catalogue().knobs
        if unknown := [name for name in self.knobs if name not in knobs or knobs[name].set_by]:
            raise ValueError(f"{', '.join(unknown)}: not a variable of the catalogue")


@dataclass(frozen=True, config=STRICT)
class StudyTemplate:
    """The measurements of a kind of study; times in seconds, `baseline` is one of its candidates.

    Either `connections` or `connections_per_core` is empty. `races`, `confirms` and `ablates` as
    in `tuning.models.Study`. `copies_of_baseline` is a number of copies of the same config,
    measured separately: their differences are noise. `proposals` are names of
    `tuning.proposals.rules`. With `searches` it continues with proposals of its own, for
    `budget_minutes` unless the user requests another budget. `minutes` are those of the whole
    study, after which no block and no second attempt begins. `durability` is the least safe class
    of its own candidates. `needs_log_device`: it is about a separate log directory and requires a
    device that has one. `repeats` names the published figure that it repeats, `claims` are its
    statements.
    """

    name: str
    title: Annotated[str, Field(min_length=3, max_length=200)]
    warehouses: Count
    warmup_s: Annotated[StrictInt, Field(ge=0)]
    measure_s: Count
    blocks: Count
    baseline: Candidate
    presets: Annotated[tuple[Candidate, ...], distinct()] = ()
    variants: Named[str, TemplateVariant] = Field(default_factory=dict)
    proposals: Annotated[tuple[Candidate, ...], distinct()] = ()
    connections: Annotated[tuple[Count, ...], distinct()] = ()
    connections_per_core: Annotated[tuple[Factor, ...], distinct()] = ()
    budget_minutes: Count | None = None
    races: StrictBool = True
    confirms: StrictBool = True
    ablates: StrictBool = False
    minutes: Count | None = None
    copies_of_baseline: Annotated[StrictInt, Field(ge=0, le=20)] = 0
    durability: Durability = Durability.D0
    needs_log_device: StrictBool = False
    searches: StrictBool = False
    repeats: Annotated[str, Field(min_length=10)] = ""
    claims: tuple[Claim, ...] = ()

    def __post_init__(self) -> None:
        """Every name must be that of one candidate, and `logs_with_data` needs a log device."""
        names = (*self.presets, *self.variants, *self.proposals)
        named = {name for claim in self.claims for name in claim.ratio.names}
        with_data = [one.name for one in self.variants.values() if one.logs_with_data]
        if bool(self.connections) == bool(self.connections_per_core):
            raise ValueError("must have either `connections` or `connections_per_core`")
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{', '.join(twice)} is more than one of preset, variant, proposal")
        if self.baseline not in {*self.presets, *self.variants}:
            raise ValueError("the baseline is not among the presets and variants")
        if unknown := sorted(named - set(self.candidates)):
            raise ValueError(f"a claim is about {', '.join(unknown)}, which is not a candidate")
        if with_data and not self.needs_log_device:  # it would equal its base
            raise ValueError(f"needs_log_device is missing, and {', '.join(with_data)} needs one")

    @property
    def candidates(self) -> tuple[str, ...]:
        """The names of its own candidates, without copies; the baseline first."""
        names = (*self.presets, *self.variants, *self.proposals)
        return tuple(sorted(names, key=lambda name: name != self.baseline))

    def connections_on(self, logical_cpus: int) -> tuple[int, ...]:
        """Return the connection counts on a host with that many CPUs; no number twice."""
        if self.connections:
            return self.connections
        scaled = (max(round(times * logical_cpus), 1) for times in self.connections_per_core)
        return tuple(dict.fromkeys(scaled))


def template_names() -> list[str]:
    """Return the names of all templates."""
    return sorted(path.stem for path in HERE.glob("*.yaml"))


@cache
def load_template(name: str) -> StudyTemplate:
    """Return the template of that name; raises UnknownTemplate naming the known ones."""
    # Looked up in the list, so that a name from the API never becomes a path.
    if name not in template_names():
        known = ", ".join(template_names())
        raise UnknownTemplate(f"unknown study template {name!r}; known are: {known}")
    return read_data_file(HERE / f"{name}.yaml", StudyTemplate, is_named=True)
