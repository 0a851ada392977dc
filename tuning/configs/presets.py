"""Named configs as they were published, in files of `preset_files/`.

Values are carried over as they stand in the source, paths and retired knobs included; what
becomes of them on a server at hand is for `tuning.configs.translate` to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from benchmarks.servers.binary import Flavour
from tuning.configs.target import ServerTraits, parse_version
from tuning.configs.values import paper_number
from tuning.datafiles import read_data_file
from tuning.errors import UnknownPreset

FOLDER = Path(__file__).resolve().parent / "preset_files"
SCHEMA_FILE = FOLDER / "preset.schema.json"


@dataclass(frozen=True)
class Preset:
    """A published config. `knobs` in the source's own words, "" where it left one empty.

    `scale_with_data` names the knobs (bytes) that were chosen for `data_bytes` of data;
    `written_for` is None for the empty config, which fits every server.
    """

    name: str
    title: str
    source: str
    knobs: Mapping[str, str]
    written_for: ServerTraits | None = None
    data_bytes: int | None = None
    scale_with_data: frozenset[str] = frozenset()
    remarks: Mapping[str, str] = field(default_factory=dict)


def preset_names() -> list[str]:
    """The names of all presets."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_preset(name: str) -> Preset:
    """The preset of that name; raises UnknownPreset naming those there are."""
    # Looked up in the list, so that a name from the API never becomes a path.
    if name not in preset_names():
        known = ", ".join(preset_names())
        raise UnknownPreset(f"there is no preset {name!r}; there are: {known}")
    content = read_data_file(FOLDER / f"{name}.yaml", SCHEMA_FILE)
    origin = content.get("written_for")
    size = content.get("data_size")
    return Preset(
        name=name,
        title=content["title"],
        source=content["source"].strip(),
        knobs=MappingProxyType(dict(content["knobs"])),
        written_for=origin
        and ServerTraits(Flavour(origin["flavour"]), parse_version(origin["version"])),
        data_bytes=paper_number(size) if size else None,
        scale_with_data=frozenset(content.get("scale_with_data", ())),
        remarks=MappingProxyType(dict(content.get("remarks", {}))),
    )
