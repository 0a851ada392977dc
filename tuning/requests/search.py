"""The request for a search: what it may change, what is best, and which limits are kept.

Every field also takes the text that a user types: `8` or `a, b` for `knobs`, `name=value` for
`pinned`, `name=low..high` for `bounds`, `p95<=50` for `keep`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, StrictBool, field_validator

from benchmarks.measurement.crash_test import GIVE_UP_S
from tuning.requests.fields import Cli, KnobName, Request, Value
from tuning.search_space.space_request import MAX_COUNT
from tuning.statistics.aim import Aim, limit_scale
from tuning.statistics.data import Metric

# The names of metrics where a user types them.
OBJECTIVES = {
    "throughput": Metric.THROUGHPUT,
    "p95": Metric.P95,
    "path-length": Metric.SERVER_PATH_LENGTH,
}
RECOVERY = "recovery"
_LIMITED = (*OBJECTIVES, RECOVERY)
# Knobs that a search changes, and knobs that are pinned or bounded.
MAX_KNOBS = MAX_COUNT
MAX_SETTINGS = 60
MAX_BOUND = 1e12
_COUNT = re.compile(r"[+-]?[0-9]+")
_KEEP = re.compile(r"\s*([A-Za-z0-9-]+)\s*(<=|>=)\s*([0-9.]+(?:[eE][0-9]+)?)\s*")


def _names(value: object) -> object:
    """Names with commas between them as a list, each once, as a my.cnf writes them."""
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return tuple(dict.fromkeys(_knob_name(one) for one in value))
    return value


def _knobs(value: object) -> object:
    """A number, or names."""
    if isinstance(value, str) and _COUNT.fullmatch(value.strip()):
        return int(value.strip()[:9])
    if isinstance(value, bool):
        raise ValueError("must be a number or names")
    return _names(value)


def settings(value: object) -> object:
    """Return texts of the form `name=value` by name."""
    return _by_name(map(_pair, _texts(value)), value)


def _bounds(value: object) -> object:
    """Texts of the form `name=low..high` by name."""
    pairs = []
    for text in _texts(value):
        name, _, limits = text.partition("=")
        low, dots, high = (part.strip() for part in limits.partition(".."))
        if not (name.strip() and low and dots and high):
            raise ValueError(f"{text!r} is not name=low..high")
        pairs.append((name, (low, high)))
    return _by_name(pairs, value)


def _keep(value: object) -> object:
    """Texts such as `p95<=50` by metric."""
    return _by_name((_limit(text) for text in _texts(value, "[,\n]")), value)


def _texts(value: object, mark: str = "\n") -> list[str]:
    """The parts of a text, or texts; none of a mapping."""
    if isinstance(value, str):
        value = re.split(mark, value)
    if not isinstance(value, list | tuple):
        return []
    return [f"{one}".strip() for one in value if f"{one}".strip()]


def _by_name(pairs: Iterable[tuple[str, object]], given: object) -> object:
    """A mapping of pairs, or what was `given` if that is a mapping."""
    items = list(given.items()) if isinstance(given, Mapping) else list(pairs)
    found: dict[str, object] = {}
    for name, value in items:
        if found.setdefault(_knob_name(f"{name}"), value) != value:
            raise ValueError(f"{name} is given two values")
    return found


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name and equals and value):
        raise ValueError(f"{text!r} is not name=value")
    return name, value


def _limit(text: str) -> tuple[str, float]:
    parsed = _KEEP.fullmatch(text)
    if parsed is None or parsed[1] not in _LIMITED:
        raise ValueError(f"{text!r} is no limit such as p95<=50 or throughput>=10000")
    if parsed[2] != _sign(parsed[1]):
        raise ValueError(f"{text!r}: a limit of {parsed[1]} is written with {_sign(parsed[1])}")
    return parsed[1], float(parsed[3])


def _sign(name: str) -> str:
    return ">=" if name in OBJECTIVES and OBJECTIVES[name].more_is_better else "<="


def _knob_name(text: str) -> str:
    """A name as the catalogue has it; metrics keep theirs."""
    name = text.strip()
    return name if name in OBJECTIVES else name.lower().replace("-", "_")


class SearchRequest(Request):
    """The variables of a search and its objective; the catalogue chooses the defaults."""

    knobs: Annotated[
        int | tuple[KnobName, ...] | None,
        BeforeValidator(_knobs, json_schema_input_type=int | tuple[str, ...] | None),
        Cli("knobs", "N|NAME[,NAME...]"),
    ] = Field(
        None,
        title="Variables to search",
        description="How many variables to search, or their names separated by commas.",
    )
    free: Annotated[
        tuple[KnobName, ...],
        BeforeValidator(_names),
        Field(max_length=MAX_KNOBS),
        Cli("free", "NAME[,NAME...]"),
    ] = Field(
        (),
        title="Also search",
        description="Names separated by commas: searched in any case, beside the variables that "
        "are chosen.",
    )
    objective: Annotated[str, Cli("objective")] = Field(
        "throughput",
        title="Objective",
        description="Metric to optimise.",
        json_schema_extra={"enum": list(OBJECTIVES)},
    )
    keep: Annotated[
        Mapping[str, Annotated[float, Field(strict=True)]],
        BeforeValidator(_keep, json_schema_input_type=Mapping[str, float]),
        Cli("keep", "LIMIT"),
    ] = Field(
        {},
        title="Limits",
        description="Recommend only configs within these limits: p95<=50 (ms), path-length<=3 "
        "(Mcycles per transaction), throughput>=5000, recovery<=60 (s to serve again after a "
        "kill under load).",
    )
    pinned: Annotated[
        Mapping[KnobName, Value],
        BeforeValidator(settings, json_schema_input_type=Mapping[str, str]),
        Field(max_length=MAX_SETTINGS),
        Cli("pin", "NAME=VALUE"),
    ] = Field(
        {},
        title="Pinned variables",
        description="Variables that every config of the search sets, such as "
        "innodb_flush_method=O_DIRECT.",
    )
    bounds: Annotated[
        Mapping[KnobName, tuple[Value, Value]],
        BeforeValidator(_bounds, json_schema_input_type=Mapping[str, tuple[str, str]]),
        Field(max_length=MAX_SETTINGS),
        Cli("bound", "NAME=LOW..HIGH"),
    ] = Field(
        {},
        title="Bounds",
        description="Lowest and highest value of a variable, such as "
        "innodb_buffer_pool_size=1G..4G.",
    )
    warm_start: Annotated[StrictBool, Cli("warm-start")] = Field(
        True,
        title="Begin with earlier studies",
        description="Measure the best configs of earlier studies on this kind of device first.",
    )

    @field_validator("knobs")
    @classmethod
    def _count(cls, knobs: int | tuple[str, ...] | None) -> int | tuple[str, ...] | None:
        count = knobs if isinstance(knobs, int) else len(knobs or ("any",))
        if not 1 <= count <= MAX_KNOBS:
            raise ValueError(f"a search can change 1 to {MAX_KNOBS} variables")
        return knobs or None

    @field_validator("objective")
    @classmethod
    def _objective(cls, name: str) -> str:
        if name not in OBJECTIVES:
            raise ValueError(f"{name!r} is none of {', '.join(OBJECTIVES)}")
        return name

    @field_validator("keep")
    @classmethod
    def _limits(cls, keep: Mapping[str, float]) -> Mapping[str, float]:
        for name, bound in keep.items():
            if name not in _LIMITED:
                raise ValueError(f"{name!r} is none of {', '.join(_LIMITED)}")
            if not 0 < bound < MAX_BOUND:
                raise ValueError(
                    f"{name} {bound:g}: a limit is above zero and below {MAX_BOUND:.0e}"
                )
        if keep.get(RECOVERY, 0) > GIVE_UP_S:
            raise ValueError(f"a server is waited for {GIVE_UP_S:.0f} s at most")
        return keep

    @property
    def aim(self) -> Aim:
        """The objective and the limits in the units of figures."""
        limits = {
            OBJECTIVES[name]: bound * limit_scale(OBJECTIVES[name])
            for name, bound in self.keep.items()
            if name in OBJECTIVES
        }
        return Aim(OBJECTIVES[self.objective], limits, self.keep.get(RECOVERY))

    @property
    def typed(self) -> dict[str, str | list[str]]:
        """The fields as the texts that a user types for them; empty ones are left out."""
        knobs = self.knobs if isinstance(self.knobs, tuple) else (self.knobs,)
        texts: dict[str, str | list[str]] = {
            "knobs": ",".join(f"{one}" for one in knobs if one),
            "free": ",".join(self.free),
            "objective": self.objective,
            "keep": [f"{name}{_sign(name)}{bound:g}" for name, bound in self.keep.items()],
            "pinned": [f"{name}={value}" for name, value in self.pinned.items()],
            "bounds": [f"{name}={low}..{high}" for name, (low, high) in self.bounds.items()],
        }
        return {name: found for name, found in texts.items() if found}
