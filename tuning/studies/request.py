"""What a user may request, checked before anything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.inventory.device_lookup import DeviceRequest
from tuning.catalogue.costs import CostKind
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import parse_traits
from tuning.configs.translation.origin import ANY_VERSION, Origin
from tuning.errors import TuningError
from tuning.search_space.priority import MAX_COUNT
from tuning.statistics.aim import Aim
from tuning.study_templates.loader import USUAL_TEMPLATE, StudyTemplate

MAX_SIZES = {
    "warehouses": 10_000,
    "connections": 10_000,
    "warmup_s": 86_400,
    "measure_s": 86_400,
    "blocks": 1_000,
}
OLDER = "older"
# Each device and each number of connections is measured with its own blocks, and each config costs
# a run in every block.
MAX_DEVICES = 20
MAX_WORKLOADS = 20
MAX_LOAD_HOSTS = 20
MAX_CONFIGS = 20
# Of a search: knobs that it changes, and knobs that are pinned or bounded.
MAX_KNOBS = MAX_COUNT
MAX_SETTINGS = 60
MAX_MINUTES = 7 * 24 * 60
MIN_SIZES = {"warmup_s": 0}


class BadRequest(TuningError):
    """The request itself is invalid: a size out of range, nothing to compare."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__("bad_request", message, field=field)


@dataclass(frozen=True)
class SearchRequest:
    """What a search may change and its objective; the catalogue chooses the defaults.

    knobs: how many, or which. free: knobs that are searched in any case, beside those. pinned:
    knobs that every config of the search sets to that value. bounds: by knob the lowest and the
    highest value, as written in a my.cnf. warm_start: whether it begins with the best configs of
    earlier studies on the same kind of device.
    """

    knobs: int | tuple[str, ...] | None = None
    free: tuple[str, ...] = ()
    pinned: Mapping[str, str] = field(default_factory=dict)
    bounds: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    aim: Aim = field(default_factory=Aim)
    warm_start: bool = True

    def __post_init__(self) -> None:
        """Raises BadRequest for an invalid number."""
        count = self.knobs if isinstance(self.knobs, int) else len(self.knobs or ("any",))
        if not 1 <= count <= MAX_KNOBS:
            raise BadRequest(
                f"a search can change 1 to {MAX_KNOBS} variables", field="search.knobs"
            )
        if len(self.free) > MAX_KNOBS:
            raise BadRequest(
                f"a search can change at most {MAX_KNOBS} variables", field="search.free"
            )
        for name in ("pinned", "bounds"):
            if len(getattr(self, name)) > MAX_SETTINGS:
                raise BadRequest(
                    f"at most {MAX_SETTINGS} variables can be named", field=f"search.{name}"
                )


@dataclass(frozen=True)
class StudyRequest:
    """A request for a study; None means the value of the template or of the host.

    Without `host` it is for the only host, or for the machine that the request is made on. Server
    and devices are those that the host has, by its inventory. Without `devices` its usual one is
    used.

    `durability` is the least safe class that files may have; the template's own candidates may
    have that of the template. `translate_from` is the server that the files were written for
    ("mysql 5.7"), "older" if it is unknown, "" to use them unchanged. `keeps_duplicates` measures
    candidates with the same effective values separately. `allow` are the kinds of cost that
    proposals may have. `races` drops candidates that are measurably behind, `confirms` measures
    the winner again in fresh pairs, `takes_apart` then without some of its lines,
    `budget_minutes` limits the blocks by time instead of number.
    `recovery` kills baseline and winner under load and times how long they take to serve again;
    None: only for a search.
    `search` continues from the template's candidates with the advisor's own proposals; None leaves
    that to the template. `load_hosts` are the hosts that run the driver and share the
    connections; none runs it beside the server. `data_size` and `memory` are the bytes of the real
    server that the study is to be a scale model of, both or none.
    """

    template: str = USUAL_TEMPLATE
    name: str = ""
    host: str = ""
    devices: list[DeviceRequest] = field(default_factory=list)
    server: Path | None = None
    driver: str = "auto"
    configs: list[tuple[str, bytes]] = field(default_factory=list)
    warehouses: int | None = None
    connections: list[int] | None = None
    warmup_s: int | None = None
    measure_s: int | None = None
    blocks: int | None = None
    seed: int | None = None
    durability: Durability = Durability.D0
    translate_from: str = ""
    keeps_duplicates: bool = False
    races: bool | None = None
    confirms: bool | None = None
    takes_apart: bool | None = None
    budget_minutes: int | None = None
    allow: frozenset[CostKind] = frozenset()
    recovery: bool | None = None
    search: SearchRequest | None = None
    load_hosts: tuple[str, ...] = ()
    data_size: int | None = None
    memory: int | None = None


@dataclass(frozen=True)
class Sizes:
    """The sizes of a study; seconds are those of one run."""

    warehouses: int
    connections: tuple[int, ...]
    warmup_s: int
    measure_s: int
    blocks: int


def sizes_of(request: StudyRequest, template: StudyTemplate, logical_cpus: int) -> Sizes:
    """The requested sizes, else the template's; raises BadRequest for invalid ones.

    A template may scale its connections to the host's CPUs.
    """
    for name, most in (("devices", MAX_DEVICES), ("configs", MAX_CONFIGS)):
        if len(getattr(request, name)) > most:
            raise BadRequest(f"a study can have at most {most} {name}", field=name)
    connections = request.connections
    if connections is None:
        connections = list(template.connections_on(logical_cpus))
    sizes = Sizes(
        warehouses=_or(request.warehouses, template.warehouses),
        connections=tuple(connections),
        warmup_s=_or(request.warmup_s, template.warmup_s),
        measure_s=_or(request.measure_s, template.measure_s),
        blocks=_or(request.blocks, template.blocks),
    )
    for name, largest in MAX_SIZES.items():
        value = getattr(sizes, name)
        values = value if name == "connections" else [value]
        low = MIN_SIZES.get(name, 1)
        if not values or any(not low <= value <= largest for value in values):
            raise BadRequest(f"{name} must be between {low} and {largest}", field=name)
    if len(sizes.connections) > MAX_WORKLOADS:
        raise BadRequest(
            f"a study can have at most {MAX_WORKLOADS} connection counts", field="connections"
        )
    if request.budget_minutes is not None and not 1 <= request.budget_minutes <= MAX_MINUTES:
        raise BadRequest(
            f"budget_minutes must be between 1 and {MAX_MINUTES}", field="budget_minutes"
        )
    if len(set(sizes.connections)) != len(sizes.connections):
        raise BadRequest("connections has the same number twice", field="connections")
    return sizes


def origin_of(translate_from: str) -> Origin | None:
    """The origin that `StudyRequest.translate_from` names; raises BadRequest."""
    if not translate_from:
        return None
    if translate_from == OLDER:
        return ANY_VERSION
    try:
        return parse_traits(translate_from)
    except ValueError as error:
        raise BadRequest(f"translate_from is {error}", field="translate_from") from None


def _or(asked: int | None, otherwise: int) -> int:
    return otherwise if asked is None else asked
