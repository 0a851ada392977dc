"""A user's request for a search, from texts to values: in the terminal and in the form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from benchmarks.measurement.crash_test import GIVE_UP_S
from tuning.statistics.aim import Aim, limit_scale
from tuning.statistics.data import Metric
from tuning.studies.request import BadRequest

# What metrics are called where a user names them.
OBJECTIVES = {
    "tpmP": Metric.TPMP,
    "p95": Metric.P95,
    "path-length": Metric.SERVER_PATH_LENGTH,
}
RECOVERY = "recovery"
MAX_BOUND = 1e12
_COUNT = re.compile(r"-?[0-9]+")
_KEEP = re.compile(r"\s*([A-Za-z0-9-]+)\s*(<=|>=)\s*([0-9.]+(?:[eE][0-9]+)?)\s*")


def read_knobs(text: str) -> int | tuple[str, ...] | None:
    """A number, or names with commas between them; "" leaves it to the catalogue."""
    if not text.strip():
        return None
    if _COUNT.fullmatch(text.strip()):
        return int(text.strip()[:9])
    return read_names(text)


def read_names(text: str) -> tuple[str, ...]:
    """Names with commas between them, each once."""
    names = [_name(part) for part in text.split(",") if part.strip()]
    return tuple(dict.fromkeys(names))


def read_pinned(texts: Iterable[str]) -> dict[str, str]:
    """Knob to value, each text as `name=value`. Raises BadRequest."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise _bad("pinned", f"{text!r} is not name=value")
        if found.setdefault(_name(name), value.strip()) != value.strip():
            raise _bad("pinned", f"{_name(name)} is pinned to two values")
    return found


def read_bounds(texts: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Knob to lowest and highest value, each text as `name=low..high`. Raises BadRequest."""
    found: dict[str, tuple[str, str]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        low, dots, high = values.partition("..")
        if not equals or not dots or not (name.strip() and low.strip() and high.strip()):
            raise _bad("bounds", f"{text!r} is not name=low..high")
        both = low.strip(), high.strip()
        if found.setdefault(_name(name), both) != both:
            raise _bad("bounds", f"{_name(name)} has bounds twice")
    return found


def read_objective(text: str) -> Metric:
    """Raises BadRequest naming those there are."""
    if text not in OBJECTIVES:
        raise _bad("objective", f"{text!r} is none of {', '.join(OBJECTIVES)}")
    return OBJECTIVES[text]


def read_keep(texts: Iterable[str]) -> tuple[dict[Metric, float], float | None]:
    """Metric to bound, each text as `p95<=50` (ms), `path-length<=3.5` (millions of cycles per
    New-Order) or `tpmP>=10000`; and the bound of `recovery<=60`, in seconds. Raises BadRequest.
    """
    found: dict[Metric, float] = {}
    recovery_s: float | None = None
    for text in texts:
        parsed = _KEEP.fullmatch(text)
        metric = OBJECTIVES.get(parsed[1]) if parsed else None
        if parsed is not None and parsed[1] == RECOVERY:
            if parsed[2] != "<=":
                raise _bad("keep", f"{text!r}: of {RECOVERY} a limit is written with <=")
            if recovery_s is not None:
                raise _bad("keep", "two limits for one figure")
            recovery_s = recovery_bound(parsed[3])
            continue
        if parsed is None or metric is None:
            raise _bad("keep", f"{text!r} is no limit such as p95<=50 or tpmP>=10000")
        sign = ">=" if metric.more_is_better else "<="
        if parsed[2] != sign:
            raise _bad("keep", f"{text!r}: of {parsed[1]} a limit is written with {sign}")
        found[metric] = keep_bound(metric, parsed[3], found)
    return found, recovery_s


def keep_text(aim: Aim) -> str:
    """Its limits as `read_keep` takes them, with commas between."""
    names = {metric: name for name, metric in OBJECTIVES.items()}
    texts = [
        f"{names[metric]}{'>=' if metric.more_is_better else '<='}{bound / limit_scale(metric):g}"
        for metric, bound in aim.keep.items()
    ]
    if aim.max_recovery_s is not None:
        texts.append(f"{RECOVERY}<={aim.max_recovery_s:g}")
    return ", ".join(texts)


def recovery_bound(text: str) -> float:
    """The seconds of a limit of crash recovery; raises BadRequest."""
    seconds = _figure(text)
    if seconds > GIVE_UP_S:
        raise _bad("keep", f"{text}: a server is waited for {GIVE_UP_S:.0f} s at most")
    return seconds


def keep_bound(metric: Metric, text: str, others: Mapping[Metric, float]) -> float:
    """A limit's figure as it is stored; raises BadRequest."""
    bound = _figure(text)
    if metric in others:
        raise _bad("keep", "two limits for one figure")
    return bound * limit_scale(metric)


def _figure(text: str) -> float:
    try:
        bound = float(text)
    except ValueError:
        raise _bad("keep", f"{text!r} is no number") from None
    if not 0 < bound < MAX_BOUND:
        raise _bad("keep", f"{text}: a limit is above zero and below {MAX_BOUND:.0e}")
    return bound


def _name(text: str) -> str:
    return text.strip().lower().replace("-", "_")


def _bad(name: str, text: str) -> BadRequest:
    return BadRequest(text, field=f"search.{name}")
