"""Named configs as they were published, in files of `preset_files/`.

Values are carried over as they stand in the source, paths and retired knobs included; what
becomes of them on a server at hand is for `tuning.configs.translation.translate` to say.
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
from tuning.catalogue.resources import Of
from tuning.catalogue.target import ServerTraits, parse_traits
from tuning.configs.notes import Action, Note
from tuning.configs.presets.scaling import Rules, Size
from tuning.errors import UnknownPreset

FOLDER = Path(__file__).resolve().parent / "preset_files"


def _server(written: object) -> ServerTraits:
    return written if isinstance(written, ServerTraits) else parse_traits(f"{written}")


@dataclass(frozen=True, config=STRICT)
class Variant:
    """What a preset is on servers without the knob `lacks`, or of one `series` (8.0)."""

    knobs: Frozen[Name, str]
    scaling: Rules
    because: Annotated[Frozen[Name, Annotated[str, Field(min_length=10)]], Field(min_length=1)]
    lacks: Name | None = None
    series: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+$")] | None = None

    def __post_init__(self) -> None:
        if (self.lacks is None) == (self.series is None):
            raise ValueError("either `lacks` or `series`")
        if self.lacks and self.lacks not in load_catalogue().knobs:
            raise ValueError(f"lacks {self.lacks}, which is not in the catalogue")

    def is_for(self, target: ServerTraits) -> bool:
        """Whether the target is such a server."""
        if self.lacks is not None:
            return not load_catalogue().knobs[self.lacks].exists_in(target)
        return not target.mariadb and "{}.{}".format(*target.series) == self.series


@dataclass(frozen=True, config=STRICT)
class Preset:
    """A published config. `knobs` in the source's own words, "" where it left one empty.

    `scaling` says of every knob what it grows with, `data_bytes` the data that those which grow
    with the data were chosen for; `written_for` is None where every server is meant. `variants`
    is for servers that need other knobs for the same thing, `adaptations` what was said of one.
    """

    name: str
    title: Annotated[str, Field(min_length=3, max_length=100)]
    source: Annotated[str, Field(min_length=10)]
    knobs: Frozen[Name, str]
    written_for: Annotated[ServerTraits, PlainValidator(_server)] | None = None
    # No less than a MiB: "50" is a slip for "50G".
    data_bytes: Annotated[Size, Field(ge=1024**2)] | None = None
    scaling: Rules = Field(default_factory=dict, validate_default=True)
    remarks: Frozen[Name, Annotated[str, Field(min_length=5)]] = Field(default_factory=dict)
    variants: tuple[Variant, ...] = ()
    adaptations: tuple[InstanceOf[Note], ...] = ()

    def __post_init__(self) -> None:
        scalings = [self.scaling, *(variant.scaling for variant in self.variants)]
        rules = [rule for scaling in scalings for rule in scaling.values()]
        shares = [rule.knob for rule in rules if rule.of is Of.DATA and not rule.steps]
        if shares and self.data_bytes is None:
            raise ValueError(f"{shares[0]} grows with the data, but data_bytes is missing")
        if unknown := sorted(self.remarks.keys() - self.knobs.keys()):
            raise ValueError(f"remarks on {', '.join(unknown)}, which is not among the knobs")

    def for_server(self, target: ServerTraits) -> Preset:
        """The preset as it is meant for the target: itself, or the first variant that fits."""
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
    """The preset of that name; raises UnknownPreset naming those there are."""
    # Looked up in the list, so that a name from the API never becomes a path.
    if name not in preset_names():
        known = ", ".join(preset_names())
        raise UnknownPreset(f"there is no preset {name!r}; there are: {known}")
    return read_data_file(FOLDER / f"{name}.yaml", Preset, is_named=True)
