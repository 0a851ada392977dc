"""The request for a search: what it may change, what is best, and which limits are kept.

Every field also takes the text that a user types: `8` or `a, b` for `knobs`, `name=value` for
`pinned`, `name=low..high` for `bounds`, `p95<=50` for `keep`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StrictBool, field_validator

from benchmarks.measurement.crash_test import GIVE_UP_S
from tuning.requests.fields import Cli, KnobName, Request, Value
from tuning.search_space.space_request import MAX_COUNT
from tuning.statistics.aim import Aim, limit_scale
from tuning.statistics.data import Metric

Objective = Literal["throughput", "p95", "path-length"]
Limited = Literal["throughput", "p95", "path-length", "recovery"]
#: The metrics by the names that a user types.
OBJECTIVES: Mapping[str, Metric] = {
    "throughput": Metric.THROUGHPUT,
    "p95": Metric.P95,
    "path-length": Metric.SERVER_PATH_LENGTH,
}
_RECOVERY = "recovery"
# Knobs that a search changes, and knobs that are pinned or bounded.
MAX_KNOBS = MAX_COUNT
MAX_SETTINGS = 60
_COUNT = re.compile(r"[+-]?[0-9]+")
_TYPED = re.compile(r"\s*([^\s<>=]+)\s*(<=|>=|=)\s*(\S.*?)\s*")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][0-9]+)?")


def _knob_name(text: str) -> str:
    """Return a name as the catalogue has it; metrics keep theirs."""
    name = text.strip()
    return name if name in OBJECTIVES else name.lower().replace("-", "_")


def _names(value: object) -> object:
    """Names with commas between them as a list, each once, as a my.cnf writes them."""
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return tuple(dict.fromkeys(map(_knob_name, value)))
    return value


def _knobs(value: object) -> object:
    """A number, or names."""
    if isinstance(value, str) and _COUNT.fullmatch(value.strip()):
        return int(value.strip()[:9])
    if isinstance(value, bool):
        raise ValueError("must be a number or names")
    return _names(value)


def _by_name(
    value: object, form: str, read: Callable[[str, str, str], object], mark: str = "\n"
) -> dict[str, object]:
    """Return a mapping with names as the catalogue has them.

    `value` is a mapping, or texts as a user types them in the given form; `mark` divides a text
    into several. `read` returns the value for a name, a sign and what follows, None for one that
    cannot be meant. Raises ValueError.
    """
    pairs: list[tuple[str, object]] = []
    if isinstance(value, Mapping):
        pairs = [(_knob_name(f"{name}"), one) for name, one in value.items()]
    else:
        texts = re.split(mark, value) if isinstance(value, str) else value
        for text in texts if isinstance(texts, list | tuple) else ():
            typed = _TYPED.fullmatch(f"{text}")
            name = _knob_name(typed[1]) if typed else ""
            one = read(name, typed[2], typed[3]) if typed else None
            if one is not None:
                pairs.append((name, one))
            elif f"{text}".strip():
                raise ValueError(f"{text!r} is not {form}")
    found: dict[str, object] = {}
    for name, one in pairs:
        if found.setdefault(name, one) != one:
            raise ValueError(f"{name} is given two values")
    return found


def settings(value: object) -> object:
    """Return texts of the form `name=value` by name."""
    return _by_name(value, "name=value", lambda _, sign, text: text if sign == "=" else None)


def _bounds(value: object) -> object:
    def read(_: str, sign: str, text: str) -> tuple[str, str] | None:
        low, _, high = (part.strip() for part in text.partition(".."))
        return (low, high) if sign == "=" and low and high else None

    return _by_name(value, "name=low..high", read)


def _keep(value: object) -> object:
    def read(name: str, sign: str, text: str) -> float | None:
        is_meant = name in (*OBJECTIVES, _RECOVERY) and sign == _sign(name)
        return float(text) if is_meant and _NUMBER.fullmatch(text) else None

    return _by_name(value, "a limit such as p95<=50 or throughput>=10000", read, "[,\n]")


def _sign(name: str) -> str:
    return ">=" if name in OBJECTIVES and OBJECTIVES[name].more_is_better else "<="


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
        description="Names separated by commas: searched beside the variables that are chosen.",
    )
    objective: Annotated[Objective, Cli("objective")] = Field(
        "throughput", title="Objective", description="Metric to optimise."
    )
    keep: Annotated[
        Mapping[Limited, Annotated[float, Field(strict=True, gt=0, lt=1e12)]],
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

    @field_validator("keep")
    @classmethod
    def _recovery(cls, keep: Mapping[str, float]) -> Mapping[str, float]:
        if keep.get(_RECOVERY, 0) > GIVE_UP_S:
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
        return Aim(OBJECTIVES[self.objective], limits, self.keep.get("recovery"))

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
