"""Reads study templates, each checked against the schema beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tuning.datafiles import read_data_file
from tuning.errors import InvalidDataFile, UnknownTemplate

HERE = Path(__file__).resolve().parent
SCHEMA_FILE = HERE / "template.schema.json"


@dataclass(frozen=True)
class StudyTemplate:
    """What a study of this kind measures; times in seconds, `baseline` is one of `presets`.

    `races` and `confirms` as in `tuning.models.Study`. `copies_of_baseline` are further names of
    the same config, measured apart: what they differ by is noise.
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


def template_names() -> list[str]:
    """The names of all templates."""
    return sorted(path.stem for path in HERE.glob("*.yaml"))


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
    if content["baseline"] not in content["presets"]:
        raise InvalidDataFile(f"{path.name}: the baseline is not among the presets")
    return StudyTemplate(
        name=path.stem,
        title=content["title"],
        warehouses=content["warehouses"],
        connections=tuple(content["connections"]),
        warmup_s=content["warmup_s"],
        measure_s=content["measure_s"],
        blocks=content["blocks"],
        presets=tuple(content["presets"]),
        baseline=content["baseline"],
        races=content.get("races", True),
        confirms=content.get("confirms", True),
        copies_of_baseline=content.get("copies_of_baseline", 0),
    )
