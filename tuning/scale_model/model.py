"""A scale model of a user's server: its proportions, and its configs as the model has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any

from benchmarks.counted import percent
from benchmarks.emulation.profile import scale_model_text
from tuning.catalogue.knob import Kind, Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.resources import Scales
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import FileFit, PlannedCandidate
from tuning.configs.expected import (
    DEFAULT_CHUNK,
    FIXED_CHUNKS_UNTIL,
    GIB,
    MIB,
    Expected,
    HostFacts,
)
from tuning.configs.line import Action, Note
from tuning.configs.memory import MAX_SHARE
from tuning.configs.presets import unrounded_pool
from tuning.configs.situation import Situation
from tuning.configs.values import BadValue, normalise, readable_value
from tuning.configs.variables import CHUNK, DIRECT_METHODS, FLUSH_METHOD, POOL
from tuning.scale_model.sizes import GB, size_text

#: Assumed bytes of a warehouse: 10 take 991 MB with MySQL 9.7 and 931 MB with MariaDB 10.11.
WAREHOUSE_BYTES = GB // 10
#: Every server begins with a buffer pool of 128 MiB, which the baseline has to find room for.
MIN_MEMORY_BYTES = int(DEFAULT_CHUNK / MAX_SHARE)
# A pool grows in chunks: with fewer of them than this in all memory its sizes would be too coarse.
_MIN_CHUNKS = 128
# From here on a pool is given in whole GiB: every number of instances divides them evenly enough.
_WHOLE_GIB_FROM = 8 * GIB


@dataclass(frozen=True)
class ScaleModel:
    """A server of `data_bytes` and `memory_bytes`, modelled with so many warehouses.

    own_bytes: what a server needs whatever its size (code, performance schema, connections); the
    model gets it on top, because it does not shrink. limits_memory: whether a control group holds
    the server to its memory; else only its buffer pool is scaled, and all configs use O_DIRECT.
    """

    data_bytes: int
    memory_bytes: int
    warehouses: int
    own_bytes: int
    limits_memory: bool = True

    @property
    def model_data_bytes(self) -> int:
        """The data of the model."""
        return self.warehouses * WAREHOUSE_BYTES

    @property
    def model_memory_bytes(self) -> int:
        """The memory of the model for its buffer pool and its page cache."""
        return self.model_data_bytes * self.memory_bytes // self.data_bytes

    @property
    def scale(self) -> float:
        """How many times larger the real server is."""
        return self.data_bytes / self.model_data_bytes

    @property
    def limit_bytes(self) -> int:
        """The memory limit of the server, its own needs included."""
        return self.model_memory_bytes + self.own_bytes

    @property
    def title(self) -> str:
        """ "scale model 1:200"."""
        return scale_model_text(self.scale)

    @property
    def min_warehouses(self) -> int:
        """The fewest warehouses with which the model has memory enough for a server."""
        return ceil(MIN_MEMORY_BYTES * self.data_bytes / self.memory_bytes / WAREHOUSE_BYTES)

    def max_warehouses(self, memory_bytes: int) -> int:
        """The most warehouses of a model that fits into so much memory; 0 if none does."""
        room = max(memory_bytes - self.own_bytes, 0)
        by_memory = room * self.data_bytes // self.memory_bytes // WAREHOUSE_BYTES
        return min(by_memory, self.data_bytes // WAREHOUSE_BYTES)

    @property
    def sentence(self) -> str:
        """A sentence that says what was modelled and how memory was limited."""
        held = (
            f"mysqld is held to {size_text(self.limit_bytes)}: that and "
            f"{size_text(self.own_bytes)} for what does not shrink"
            if self.limits_memory
            else "memory could not be limited here, so only the buffer pool is scaled, and every "
            "config bypasses the page cache with O_DIRECT"
        )
        share = percent(self.memory_bytes / self.data_bytes)
        return (
            f"S{self.title[1:]}: {size_text(self.memory_bytes)} of memory for "
            f"{size_text(self.data_bytes)} of data ({share}), "
            f"measured as {size_text(self.model_memory_bytes)} for "
            f"{size_text(self.model_data_bytes)} ({self.warehouses} warehouses); {held}."
        )

    @property
    def note_on_sizes(self) -> str:
        """The note beside sizes that are shown as the model has them."""
        return f"Sizes that scale with memory are those of the {self.title}."

    def fitted(self, target: ServerTraits) -> dict[str, str]:
        """The options that every config sets only because it is in a model."""
        method = {} if self.limits_memory else {FLUSH_METHOD: "O_DIRECT"}
        return self.only_here(target) | method

    def only_here(self, target: ServerTraits) -> dict[str, str]:
        """The part of `fitted` that has no meaning outside the model."""
        chunk = self.chunk_bytes(target)
        return {} if chunk is None else {CHUNK: f"{chunk}"}

    def chunk_bytes(self, target: ServerTraits) -> int | None:
        """The unit in which a pool grows here; None where the server's own is fine enough."""
        has_chunks = not target.mariadb or target.version < FIXED_CHUNKS_UNTIL
        if not has_chunks or self.model_memory_bytes >= _MIN_CHUNKS * DEFAULT_CHUNK:
            return None
        chunk = MIB
        while chunk * 2 * _MIN_CHUNKS <= self.model_memory_bytes:
            chunk *= 2
        return chunk

    def as_json(self) -> dict[str, Any]:
        """Return the value of a row's column; `from_json` reads it back."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None) -> ScaleModel | None:
        """The model as stored with a study; None for a study without."""
        return cls(**stored) if stored else None


def real_host_facts(here: HostFacts, model: ScaleModel) -> HostFacts:
    """Return the facts of the real server, as far as they are stated; its device is like ours."""
    return replace(
        here,
        memory_budget_bytes=model.memory_bytes,
        host_memory_bytes=model.memory_bytes,
        pool_chunk_bytes=None,
        is_stated=True,
    )


def file_fit(model: ScaleModel | None, situation: Situation) -> FileFit | None:
    """Return how files for the real server are resized in a situation; None without a model."""
    if model is None:
        return None
    return FileFit(
        real_host_facts(situation.host, model),
        lambda knobs: in_model(knobs, model, situation.target, situation.host),
    )


def fitted(
    plan: PlannedCandidate, model: ScaleModel | None, situation: Situation
) -> PlannedCandidate:
    """Return the candidate with what every config of a scale model sets."""
    if model is None or plan.left_out:
        return plan
    added = model.fitted(situation.target)
    if CHUNK in plan.knobs:
        added.pop(CHUNK, None)
    expected = Expected(plan.knobs, situation.target, situation.host)
    if expected.text(FLUSH_METHOD) in DIRECT_METHODS:
        added.pop(FLUSH_METHOD, None)
    reasons = {
        CHUNK: f"fine steps for the buffer pool of the {model.title}",
        FLUSH_METHOD: "memory could not be limited here, so no config uses the page cache",
    }
    notes = [Note(name, Action.ADJUSTED, reasons[name]) for name in added]
    return replace(plan, knobs={**plan.knobs, **added}, notes=(*plan.notes, *notes))


def value_in_model(name: str, text: str, model: ScaleModel | None, situation: Situation) -> str:
    """Return a user's value for the real server as the model has it.

    What is no value of the knob stays, to be refused as it is.
    """
    knob = load_catalogue().get(name)
    if model is None or knob is None or not is_scaled(name):
        return text
    if not knob.exists_in(situation.target):
        return text
    try:
        value = normalise(knob, text, situation.target)
    except BadValue:
        return text
    return in_model({name: value}, model, situation.target, situation.host)[0][name]


def is_scaled(name: str) -> bool:
    """Whether a knob's value differs between the model and the real server."""
    knob = load_catalogue().get(name)
    return knob is not None and knob.scales in (Scales.MEMORY, Scales.DATA)


def on_real_server(
    name: str, value: str, model: ScaleModel, target: ServerTraits, others: Mapping[str, str]
) -> str:
    """Return the value for the real server, beside the knobs `others` that it will have.

    The server does not round it; what does not scale stays.
    """
    if not is_scaled(name) or not value.isdigit():
        return value
    knob = load_catalogue().knobs[name]
    return _size(knob, int(value) * model.scale, target, others, HostFacts())


def in_model(
    knobs: Mapping[str, str], model: ScaleModel, target: ServerTraits, host: HostFacts
) -> tuple[dict[str, str], tuple[Note, ...]]:
    """Return knobs for the real server as the model has them, with a note for each change."""
    found, notes = dict(knobs), []
    for name, value in knobs.items():
        if not is_scaled(name) or not value.isdigit():
            continue
        knob = load_catalogue().knobs[name]
        others = {other: found[other] for other in found if other != name}
        found[name] = _size(knob, int(value) / model.scale, target, others, host)
        before, after = readable_value(knob, value), readable_value(knob, found[name])
        detail = f"{before} on the real server become {after} in the {model.title}"
        notes.append(Note(name, Action.ADJUSTED, detail))
    return found, tuple(notes)


def _size(
    knob: Knob,
    wanted: float,
    target: ServerTraits,
    others: Mapping[str, str],
    host: HostFacts,
) -> str:
    if wanted == 0:  # off, or whatever the server thinks right
        return "0"
    size = max(round(wanted), 1)
    if knob.name == POOL:
        if size >= _WHOLE_GIB_FROM:
            size = round(size / GIB) * GIB
        return f"{unrounded_pool(size, Expected(others, target, host))}"
    if knob.kind is Kind.BYTES and size >= MIB:
        size = round(size / MIB) * MIB
    limits = knob.limits(target)
    if limits is not None:
        size = int(min(max(size, limits.low), limits.high))
    return f"{size}"
