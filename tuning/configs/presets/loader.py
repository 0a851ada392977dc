"""Published configs, in files of `preset_files/`, and the templates' variants of them.

Values are copied exactly from the source, including paths and retired knobs;
`tuning.configs.translation.translate` translates them for a server.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, PlainValidator
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Frozen, read_data_file
from tuning.catalogue.facts import Name
from tuning.catalogue.resources import HostResources, WrittenAmount
from tuning.catalogue.target import ServerTraits, parse_traits
from tuning.errors import TuningError
from tuning.study_templates.loader import TemplateVariant

FOLDER = Path(__file__).resolve().parent / "preset_files"


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

    def __post_init__(self) -> None:
        if unknown := sorted(self.sized.keys() - self.knobs.keys()):
            raise ValueError(f"sized: {', '.join(unknown)} is not one of the knobs")
        if plain := [name for name, amount in self.sized.items() if amount.of is None]:
            raise ValueError(f"sized: {plain[0]} must be like `6 % of data`")

    @property
    def words(self) -> str:
        """The title and the source, for people."""
        return f"{self.title}. {self.source}"


def preset_names() -> list[str]:
    """The names of all presets."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def load_preset(name: str) -> Preset:
    """Return the preset of that name; raises TuningError with the known ones."""
    # Looked up in the list, so that a name from the API never becomes a path.
    if name not in preset_names():
        known = ", ".join(preset_names())
        raise TuningError("unknown_preset", f"unknown preset {name!r}; known are: {known}")
    return read_data_file(FOLDER / f"{name}.yaml", Preset, is_named=True)


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
