"""Reads knobs.yaml, once per process."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Frozen, Named, read_data_file
from tuning.catalogue.facts import Name
from tuning.catalogue.knob import AtMost, Knob
from tuning.catalogue.target import ServerTraits

DATA_FILE = Path(__file__).resolve().parent / "knobs.yaml"


@dataclass(frozen=True, config=STRICT)
class Catalogue:
    """All catalogued variables by name, and what the letters of their evidence mean."""

    knobs: Annotated[Named[Name, Knob], Field(min_length=1)]
    evidence: Frozen[str, str]

    def get(self, name: str) -> Knob | None:
        """The variable of that normalised name (lower case, underscores)."""
        return self.knobs.get(name)

    def tunable(self, target: ServerTraits) -> Iterator[Knob]:
        """The knobs that exist in the target and that a config may set."""
        return (k for k in self.knobs.values() if k.set_by is None and k.exists_in(target))

    def searched(self, target: ServerTraits) -> list[Knob]:
        """The knobs of the target in the order in which they get into a search."""
        found = [knob for knob in self.tunable(target) if knob.search]
        return sorted(found, key=lambda knob: knob.search)

    def limited(self) -> Iterator[tuple[str, AtMost]]:
        """The variables that may not exceed another one."""
        return ((k.name, k.at_most) for k in self.knobs.values() if k.at_most is not None)


@functools.cache
def load_catalogue() -> Catalogue:
    """The reviewed catalogue; raises InvalidDataFile."""
    return read_data_file(DATA_FILE, Catalogue)
