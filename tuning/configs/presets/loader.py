"""Named configs as they were published, in files of `preset_files/`.

Values are carried over as they stand in the source, paths and retired knobs included; what
becomes of them on a server at hand is for `tuning.configs.translation.translate` to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.servers.binary import Flavour
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits, parse_version
from tuning.configs.notes import Action, Note
from tuning.configs.presets.scaling import Scaling, read_scaling
from tuning.configs.values import paper_number
from tuning.datafiles import read_data_file
from tuning.errors import UnknownPreset

FOLDER = Path(__file__).resolve().parent / "preset_files"
SCHEMA_FILE = FOLDER / "preset.schema.json"


@dataclass(frozen=True)
class Variant:
    """What a preset is on servers without the knob `lacks`, or of one `series` (8, 0)."""

    knobs: Mapping[str, str]
    scaling: Mapping[str, Scaling]
    because: Mapping[str, str]
    lacks: str | None = None
    series: tuple[int, int] | None = None

    def is_for(self, target: ServerTraits) -> bool:
        """Whether the target is such a server."""
        if self.lacks is not None:
            return not load_catalogue().knobs[self.lacks].exists_in(target)
        return not target.mariadb and target.series == self.series


@dataclass(frozen=True)
class Preset:
    """A published config. `knobs` in the source's own words, "" where it left one empty.

    `scaling` says of every knob what it grows with, `data_bytes` the data that those which grow
    with the data were chosen for; `written_for` is None where every server is meant. `variants`
    is for servers that need other knobs for the same thing, `adaptations` what was said of one.
    """

    name: str
    title: str
    source: str
    knobs: Mapping[str, str]
    written_for: ServerTraits | None = None
    data_bytes: int | None = None
    scaling: Mapping[str, Scaling] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)
    variants: tuple[Variant, ...] = ()
    adaptations: tuple[Note, ...] = ()

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
                        Note(name, Action.ADJUSTED, why.strip())
                        for name, why in variant.because.items()
                    ),
                )
        return self


def preset_names() -> list[str]:
    """The names of all presets."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_preset(name: str) -> Preset:
    """The preset of that name; raises UnknownPreset naming those there are."""
    # Looked up in the list, so that a name from the API never becomes a path.
    if name not in preset_names():
        known = ", ".join(preset_names())
        raise UnknownPreset(f"there is no preset {name!r}; there are: {known}")
    return read_preset(FOLDER / f"{name}.yaml")


def read_preset(path: Path) -> Preset:
    """The preset in a file; raises InvalidDataFile naming what is wrong with it."""
    content = read_data_file(path, SCHEMA_FILE)
    origin = content.get("written_for")
    data_bytes = paper_number(content["data_size"]) if "data_size" in content else None

    def scaling(part: Mapping[str, Any]) -> Mapping[str, Scaling]:
        entries = part.get("scaling", ())
        found = read_scaling(entries, part["knobs"], data_bytes, path.name)
        return MappingProxyType(dict(found))

    return Preset(
        name=path.stem,
        title=content["title"],
        source=content["source"].strip(),
        knobs=MappingProxyType(dict(content["knobs"])),
        written_for=origin
        and ServerTraits(Flavour(origin["flavour"]), parse_version(origin["version"])),
        data_bytes=data_bytes,
        scaling=scaling(content),
        remarks=MappingProxyType(dict(content.get("remarks", {}))),
        variants=tuple(
            Variant(
                knobs=MappingProxyType(dict(part["knobs"])),
                scaling=scaling(part),
                because=MappingProxyType(dict(part["because"])),
                lacks=part.get("lacks"),
                series=parse_version(part["series"])[:2] if "series" in part else None,
            )
            for part in content.get("variants", ())
        ),
    )
