"""How the knobs of a preset grow with the host: declared in its file, knob by knob."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tuning.catalogue.knob import Of
from tuning.catalogue.resources import HostResources
from tuning.configs.values import paper_number
from tuning.errors import InvalidDataFile


@dataclass(frozen=True)
class Step:
    """What holds where there is less than `below` (None: any) of a resource.

    Either `take`, a value, or `times`, a factor of the resource (bytes per CPU, say).
    """

    below: int | None = None
    take: int | None = None
    times: float | None = None


@dataclass(frozen=True)
class Scaling:
    """One knob's rule. Without `of` it stays as it is, and `why` says for what reason.

    `of` the data without steps: the share of the data that the preset was written for.
    """

    knob: str
    of: Of | None
    why: str = ""
    steps: tuple[Step, ...] = ()
    most: int | None = None

    def figure(
        self, published: int, written_for_bytes: int | None, resources: HostResources
    ) -> int | None:
        """The value for these resources, not rounded; None where it stays as published."""
        if self.of is None:
            return None
        if self.of is Of.DATA and not self.steps:
            return resources.data_bytes * published // (written_for_bytes or 1)
        amount = {
            Of.DATA: resources.data_bytes,
            Of.MEMORY: resources.memory_bytes,
            Of.CORES: resources.logical_cpus,
        }[self.of]
        step = next(s for s in self.steps if s.below is None or amount < s.below)
        value = step.take if step.take is not None else int(amount * (step.times or 0))
        return value if self.most is None else min(value, self.most)


def read_scaling(
    entries: Iterable[Mapping[str, Any]],
    knobs: Mapping[str, str],
    data_bytes: int | None,
    source: str,
) -> Mapping[str, Scaling]:
    """The rules of a preset file by knob, in its own order of knobs.

    Raises InvalidDataFile unless each knob has exactly one, and each rule can be worked out.
    """
    found: dict[str, Scaling] = {}
    for entry in entries:
        of = None if entry["with"] == "nothing" else Of(entry["with"])
        steps = tuple(_step(step) for step in entry.get("steps", ()))
        if of is Of.DATA and not data_bytes:
            raise InvalidDataFile(f"{source}: scales with the data, but has no data_size")
        if steps and ([s.below is None for s in steps] != [False] * (len(steps) - 1) + [True]):
            raise InvalidDataFile(f"{source}: the last step, and no other, holds without limit")
        most = paper_number(entry["most"]) if "most" in entry else None
        for name in entry["knobs"]:
            if name in found:
                raise InvalidDataFile(f"{source}: scaling names {name} twice")
            found[name] = Scaling(name, of, entry.get("why", "").strip(), steps, most)
    if differing := sorted(found.keys() ^ knobs.keys()):
        raise InvalidDataFile(f"{source}: scaling and knobs differ in {', '.join(differing)}")
    return {name: found[name] for name in knobs}


def _step(step: Mapping[str, Any]) -> Step:
    times = step.get("times")
    return Step(
        below=paper_number(step["below"]) if "below" in step else None,
        take=paper_number(step["take"]) if "take" in step else None,
        times=float(paper_number(times)) if isinstance(times, str) else times,
    )
