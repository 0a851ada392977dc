"""Published configs, in files of `preset_files/`.

Values are copied exactly from the source, including paths and retired knobs;
`tuning.configs.translation.translate` translates them for a server.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, InstanceOf, PlainValidator
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Frozen, read_data_file
from tuning.catalogue.facts import Name
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.resources import Resource
from tuning.catalogue.target import ServerTraits, parse_traits
from tuning.configs.notes import Action, Note
from tuning.configs.presets.scaling import Rules, Size
from tuning.errors import UnknownPreset

FOLDER = Path(__file__).resolve().parent / "preset_files"


def _server(written: object) -> ServerTraits:
    return written if isinstance(written, ServerTraits) else parse_traits(f"{written}")


@dataclass(frozen=True, config=STRICT)
class Variant:
    """The form of a preset on servers without the knob `lacks`, or of one `series` (8.0)."""

    knobs: Frozen[Name, str]
    scaling: Rules
    because: Annotated[Frozen[Name, Annotated[str, Field(min_length=10)]], Field(min_length=1)]
    lacks: Name | None = None
    series: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+$")] | None = None

    def __post_init__(self) -> None:
        if (self.lacks is None) == (self.series is None):
            raise ValueError("exactly one of `lacks` and `series` must be given")
        if self.lacks and self.lacks not in load_catalogue().knobs:
            raise ValueError(f"lacks: {self.lacks} is not in the catalogue")

    def is_for(self, target: ServerTraits) -> bool:
        """Whether the target is such a server."""
        if self.lacks is not None:
            return not load_catalogue().knobs[self.lacks].exists_in(target)
        return not target.mariadb and "{}.{}".format(*target.series) == self.series


@dataclass(frozen=True, config=STRICT)
class Preset:
    """A published config. `knobs` as in the source, "" for one that it left empty.

    `scaling` defines for every knob what it scales with, `data_bytes` is the data size that the
    values were chosen for; `written_for` is None if the preset is for every server. `variants` are
    for servers that need other knobs for the same purpose, `adaptations` the notes of one.
    """

    name: str
    title: Annotated[str, Field(min_length=3, max_length=100)]
    source: Annotated[str, Field(min_length=10)]
    knobs: Frozen[Name, str]
    written_for: Annotated[ServerTraits, PlainValidator(_server)] | None = None
    # At least 1 MiB: "50" is a typing error for "50G".
    data_bytes: Annotated[Size, Field(ge=1024**2)] | None = None
    scaling: Rules = Field(default_factory=dict, validate_default=True)
    remarks: Frozen[Name, Annotated[str, Field(min_length=5)]] = Field(default_factory=dict)
    variants: tuple[Variant, ...] = ()
    adaptations: tuple[InstanceOf[Note], ...] = ()

    def __post_init__(self) -> None:
        scalings = [self.scaling, *(variant.scaling for variant in self.variants)]
        rules = [rule for scaling in scalings for rule in scaling.values()]
        shares = [rule.knob for rule in rules if rule.of is Resource.DATA and not rule.steps]
        if shares and self.data_bytes is None:
            raise ValueError(f"{shares[0]} scales with the data, but data_bytes is missing")
        if unknown := sorted(self.remarks.keys() - self.knobs.keys()):
            raise ValueError(f"remarks on {', '.join(unknown)}, which is not one of the knobs")

    def for_server(self, target: ServerTraits) -> Preset:
        """The preset for the target: itself, or the first variant that applies."""
        for variant in self.variants:
            if variant.is_for(target):
                return replace(
                    self,
                    knobs=variant.knobs,
                    scaling=variant.scaling,
                    remarks={},
                    variants=(),
                    adaptations=tuple(
                        Note(name, Action.ADJUSTED, why) for name, why in variant.because.items()
                    ),
                )
        return self


def preset_names() -> list[str]:
    """The names of all presets."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def load_preset(name: str) -> Preset:
    """The preset of that name; raises UnknownPreset naming the known ones."""
    # Looked up in the list, so that a name from the API never becomes a path.
    if name not in preset_names():
        known = ", ".join(preset_names())
        raise UnknownPreset(f"unknown preset {name!r}; known are: {known}")
    return read_data_file(FOLDER / f"{name}.yaml", Preset, is_named=True)
