"""Published configs, in files of `preset_files/`, and the templates' variants, sized for the host.

Values are copied exactly from the source, including paths and retired knobs;
`tuning.configs.judge.translate_knobs` translates them for a server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, PlainValidator
from pydantic.dataclasses import dataclass

from benchmarks.counted import counted, percent
from benchmarks.datafiles import STRICT, Frozen, read_data_file
from tuning.catalogue.facts import Name
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.resources import Amount, HostResources, Resource, WrittenAmount
from tuning.catalogue.target import ServerTraits, parse_traits
from tuning.configs.expected import (
    DEFAULT_CHUNK,
    GIB,
    MIB,
    Expected,
    HostFacts,
    dedicated_pool,
    dedicated_redo,
)
from tuning.configs.line import Action, Note
from tuning.configs.values import readable
from tuning.configs.variables import CHUNK, DEDICATED, POOL, redo_settings
from tuning.errors import TuningError
from tuning.study_templates.loader import TemplateVariant

_FOLDER = Path(__file__).resolve().parent / "preset_files"
# InnoDB starts with 5 MiB, but fails when locks fill a large part of such a small pool.
_MIN_POOL = 16 * MIB


def _server(written: object) -> ServerTraits:
    return written if isinstance(written, ServerTraits) else parse_traits(f"{written}")


@dataclass(frozen=True, config=STRICT)
class Preset:
    """A published config. `knobs` as in the source, "" for one that it left empty.

    `sized` are the knobs whose published value depends on the host, with what they are on another;
    `written_for` is None if the preset is for every server.
    """

    name: str
    title: Annotated[str, Field(min_length=3, max_length=100)]
    source: Annotated[str, Field(min_length=10)]
    knobs: Frozen[Name, str]
    written_for: Annotated[ServerTraits, PlainValidator(_server)] | None = None
    sized: Frozen[Name, WrittenAmount] = Field(default_factory=dict)

    @property
    def words(self) -> str:
        """The title and the source, for people."""
        return f"{self.title}. {self.source}"


def preset_names() -> list[str]:
    """The names of all presets."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


@cache
def load_preset(name: str) -> Preset:
    """Return the preset of that name; raises TuningError with the known ones."""
    # Looked up in the list, so that a name from the API never becomes a path.
    if name not in preset_names():
        known = ", ".join(preset_names())
        raise TuningError("unknown_preset", f"unknown preset {name!r}; known are: {known}")
    return read_data_file(_FOLDER / f"{name}.yaml", Preset, is_named=True)


def variant_preset(variant: TemplateVariant, resources: HostResources) -> Preset:
    """Return the base preset with the variant's values; raises TuningError."""
    base = load_preset(variant.base)
    texts = {name: amount.figure(resources) for name, amount in variant.knobs.items()}
    kept = {name: amount for name, amount in base.sized.items() if name not in texts}
    own = {name: amount for name, amount in variant.knobs.items() if amount.of is not None}
    return replace(
        base,
        name=variant.name,
        title=variant.title,
        source=base.source if base.knobs else "Everything else is the server's default.",
        knobs={**base.knobs, **texts},
        sized={**kept, **own},
    )


def scale(
    knobs: Mapping[str, str],
    preset: Preset,
    target: ServerTraits,
    resources: HostResources,
    pool_chunk_bytes: int | None = None,
) -> tuple[dict[str, str], tuple[Note, ...]]:
    """Return the knobs sized for the host, and a note per knob that was changed.

    `knobs` are those of `preset`, translated for the target. The server does not need to round the
    resulting pool, which grows in chunks of `pool_chunk_bytes`, None for its default.
    """
    found = dict(knobs)
    host = HostFacts(logical_cpus=resources.logical_cpus, pool_chunk_bytes=pool_chunk_bytes)
    notes: list[Note] = []
    if DEDICATED in preset.knobs and not load_catalogue().knobs[DEDICATED].exists_in(target):
        notes += _size_as_dedicated(found, Expected(found, target, host), resources)
    for name, amount in preset.sized.items():
        if name in found:
            value = int(amount.figure(resources))
            if name == POOL:
                value = unrounded_pool(value, Expected(found, target, host))
            found[name] = f"{value}"
            notes.append(Note(name, Action.ADJUSTED, _said(amount, value, resources)))
    return found, tuple(notes)


def _size_as_dedicated(
    knobs: dict[str, str], expected: Expected, resources: HostResources
) -> list[Note]:
    """Set the sizes that MySQL 8.4 gives itself with innodb_dedicated_server."""
    memory, cpus = resources.memory_bytes, resources.logical_cpus
    pool = unrounded_pool(dedicated_pool(memory), expected)
    redo = dedicated_redo(cpus)
    names = redo_settings(redo, expected.target)
    knobs |= {POOL: f"{pool}", **names}
    why = "a rule of MySQL 8.4 that this server does not have, so its sizes are set explicitly"
    of_memory = f"{pool // MIB}M for {memory // MIB} MiB of memory ({percent(pool / memory)})"
    of_cpus = f"{readable(redo)} of redo log for {counted(cpus, 'CPU')}"
    return [
        Note(DEDICATED, Action.ADJUSTED, why),
        Note(POOL, Action.ADJUSTED, of_memory),
        Note(next(iter(names)), Action.ADJUSTED, of_cpus),
    ]


def unrounded_pool(wanted: int, expected: Expected) -> int:
    """Return the size in bytes nearest to `wanted` that the server does not change."""

    def is_kept(size: int) -> bool:
        knobs = {**expected.knobs, POOL: f"{size}"}
        return Expected(knobs, expected.target, expected.host).pool() == size

    size = max(wanted, _MIN_POOL)
    chunk = expected.whole(CHUNK) or DEFAULT_CHUNK
    near: set[int] = set()
    # Candidates around the limit of one instance as well, where the steps change.
    for value in (size, min(size, GIB - 1), max(size, GIB)):
        parts = expected.instances(value) or 1
        for step in (parts * MIB, parts * chunk):
            near |= {value // step * step, -(-value // step) * step}
    return min(filter(is_kept, sorted(near - {0})), key=lambda fit: abs(fit - size))


def _said(amount: Amount, value: int, resources: HostResources) -> str:
    if amount.of in (None, Resource.CORES):
        return f"{amount.text}: {readable(value)} for {counted(resources.logical_cpus, 'CPU')}"
    whole = resources.amount(amount.of)
    share = percent(value / whole)
    return f"{amount.text}: {value // MIB}M for {whole // MIB} MiB of {amount.of} ({share})"
