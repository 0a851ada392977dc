"""Reads knobs.yaml, once per process."""

from __future__ import annotations

import difflib
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

    def __post_init__(self) -> None:
        for knob in self.knobs.values():
            named = {facts.successor for facts in knob.flavours.values() if facts.successor}
            named.update(*(rule.only_with for rule in knob.durability))
            named |= {knob.at_most.knob} if knob.at_most else set()
            if unknown := sorted(named - self.knobs.keys()):
                raise ValueError(f"{knob.name} names {', '.join(unknown)}, which does not exist")

    def get(self, name: str) -> Knob | None:
        """The variable of that normalised name (lower case, underscores)."""
        return self.knobs.get(name)

    def tunable(self, target: ServerTraits) -> Iterator[Knob]:
        """The knobs that exist in the target and that a config may set."""
        return (k for k in self.knobs.values() if k.set_by is None and k.exists_in(target))

    def limited(self) -> Iterator[tuple[str, AtMost]]:
        """The variables that may not exceed another one."""
        return ((k.name, k.at_most) for k in self.knobs.values() if k.at_most is not None)

    def closest(self, name: str, target: ServerTraits) -> str | None:
        """The knob of the target that `name` probably means, if any."""
        names = [knob.name for knob in self.tunable(target)]
        if name.lower() in names:
            return name.lower()
        found = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.75)
        return found[0] if found else None


@functools.cache
def load_catalogue() -> Catalogue:
    """The reviewed catalogue; raises InvalidDataFile."""
    return read_data_file(DATA_FILE, Catalogue)
