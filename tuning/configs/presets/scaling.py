"""How the knobs of a preset scale with the host, declared knob by knob in its file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, ValidationInfo
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Frozen, Number, Some
from tuning.catalogue.facts import Name
from tuning.catalogue.resources import HostResources, Resource
from tuning.configs.values import paper_number


def _read_size(written: object) -> object:
    """Bytes of "1G"; anything but text is returned unchanged."""
    if not isinstance(written, str):
        return written
    if not re.fullmatch(r"[0-9]+[KMGT]?", written):
        raise ValueError(f"not a size: {written!r}; write 512M or 1G")
    return paper_number(written)


#: Bytes (or a number), in files with the suffix that it has there: "1G".
Size = Annotated[StrictInt, BeforeValidator(_read_size)]


@dataclass(frozen=True, config=STRICT)
class Step:
    """The rule for less than `below` (None: any amount) of a resource.

    Either `take`, a value, or `times`, a multiple of the resource (such as bytes per CPU).
    """

    below: Size | None = None
    take: Size | None = None
    times: Annotated[Number, Field(gt=0), BeforeValidator(_read_size)] | None = None

    def __post_init__(self) -> None:
        if (self.take is None) == (self.times is None):
            raise ValueError("exactly one of `take` and `times` must be given")


@dataclass(frozen=True, config=STRICT)
class Scaling:
    """The rule of one knob. Without `of` it does not scale, for the reason `why`.

    With `of` data and no steps, its share of the data stays as published.
    """

    knob: Name
    of: Annotated[
        Resource | None,
        BeforeValidator(lambda of: None if of == "nothing" else of),
        Field(validation_alias="with"),
    ]
    why: Annotated[str, Field(min_length=10)] = ""
    steps: Some[Step] = ()
    most: Size | None = None

    def __post_init__(self) -> None:
        if self.of is None and not self.why:
            raise ValueError("with nothing: `why` must be given")
        if self.of is None and self.steps:
            raise ValueError("with nothing: `steps` must not be given")
        if self.of in (Resource.MEMORY, Resource.CORES) and not self.steps:
            raise ValueError(f"with {self.of}: `steps` must be given")
        has_no_limit = [step.below is None for step in self.steps]
        if any(has_no_limit[:-1]) or not all(has_no_limit[-1:]):
            raise ValueError("only the last step, and it always, must have no `below`")

    def figure(
        self, published: int, written_for_bytes: int | None, resources: HostResources
    ) -> int | None:
        """The value for these resources, not rounded; None if it stays as published."""
        if self.of is None:
            return None
        if self.of is Resource.DATA and not self.steps:
            return resources.data_bytes * published // (written_for_bytes or 1)
        amount = resources.amount(self.of)
        step = next(s for s in self.steps if s.below is None or amount < s.below)
        value = step.take if step.take is not None else int(amount * (step.times or 0))
        return value if self.most is None else min(value, self.most)


def _by_knob(written: object) -> object:
    """The rules of a file, each for several `knobs`, by knob."""
    if not isinstance(written, list):
        return written
    found: dict[str, object] = {}
    for rule in written:
        match rule:
            case {"with": "data", "steps": _}:
                raise ValueError("what grows with the data has no steps")
            case {"knobs": [_, *_] as knobs, **rest}:
                if twice := [name for name in knobs if name in found or knobs.count(name) > 1]:
                    raise ValueError(f"scaling names {twice[0]} twice")
                found |= {name: {**rest, "knob": name} for name in knobs}
            case _:
                raise ValueError("a rule of scaling has `knobs` and what they grow `with`")
    return found


def _of_each_knob(rules: Mapping[str, Scaling], info: ValidationInfo) -> Mapping[str, Scaling]:
    """The rules in the order of the knobs; raises ValueError unless each has exactly one."""
    knobs: Mapping[str, str] = info.data.get("knobs", rules)
    if differing := sorted(rules.keys() ^ knobs.keys()):
        raise ValueError(f"scaling and knobs do not match for {', '.join(differing)}")
    return {name: rules[name] for name in knobs}


#: Rules for each of the `knobs` of the class that has them, in their order.
Rules = Annotated[Frozen[Name, Scaling], BeforeValidator(_by_knob), AfterValidator(_of_each_knob)]
