"""Facts of the catalogue in words, for the generated documentation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from benchmarks.servers.binary import Flavour
from tuning.catalogue.facts import Computed
from tuning.catalogue.knob import Kind, Knob, WorthTesting
from tuning.catalogue.resources import Resource
from tuning.catalogue.target import FLAVOUR_NAMES, ServerTraits, Version
from tuning.configs.values import readable

# One release of each documented series: the newest that was available.
DOCUMENTED = tuple(
    ServerTraits(flavour, version)
    for flavour, version in (
        (Flavour.MYSQL, (5, 7, 42)),
        (Flavour.MYSQL, (8, 0, 46)),
        (Flavour.MYSQL, (8, 4, 10)),
        (Flavour.MYSQL, (9, 7, 4)),
        (Flavour.PERCONA, (5, 7, 44)),
        (Flavour.PERCONA, (8, 0, 46)),
        (Flavour.PERCONA, (8, 4, 10)),
        (Flavour.MARIADB, (10, 6, 23)),
        (Flavour.MARIADB, (10, 11, 19)),
        (Flavour.MARIADB, (11, 8, 6)),
    )
)


def default_words(knob: Knob, target: ServerTraits) -> str:
    """The default for readers: 16M, ON, or the rule by which the server computes it."""
    default = knob.default(target)
    if isinstance(default, Computed):
        return f"auto ({default.rule})"
    if default is None:
        return "not set"
    return f"`{readable(int(default)) if knob.kind is Kind.BYTES else default}`"


def limit_words(value: float) -> str:
    """An end of a range; as a power of two if only the width of the number limits it."""
    return f"2^{math.log2(value):.0f}" if value >= 2**62 else readable(value)


def version_words(version: Version) -> str:
    """8.0.30, or 8.0 for the first of a series."""
    numbers = version[:2] if version[2] == 0 else version
    return ".".join(str(number) for number in numbers)


def removal_words(version: Version) -> str:
    """When a variable was removed; for MySQL 9 only the previous series is certain."""
    return "after 8.4" if version == (9, 0, 0) else f"in {version_words(version)}"


def by_server(targets: Sequence[ServerTraits], words: Callable[[ServerTraits], str]) -> list[str]:
    """Facts of several servers, grouped: "200 (MySQL 5.7, 8.0; MariaDB 10.6)"."""
    groups: dict[str, list[ServerTraits]] = {}
    for target in targets:
        groups.setdefault(words(target), []).append(target)
    if len(groups) == 1:
        return list(groups)
    return [f"{said} ({series_words(servers)})" for said, servers in groups.items()]


def series_words(targets: Sequence[ServerTraits]) -> str:
    """Servers by flavour and series: "MySQL 5.7, 8.0; MariaDB 10.6"."""
    flavours: dict[Flavour, list[str]] = {}
    for target in targets:
        flavours.setdefault(target.flavour, []).append(version_words((*target.series, 0)))
    return "; ".join(
        f"{FLAVOUR_NAMES[flavour]} {', '.join(series)}" for flavour, series in flavours.items()
    )


def worth_testing_words(knob: Knob, part: WorthTesting) -> str:
    """A range or words that are worth testing, with the source."""
    if part.values:
        said = ", ".join(f"`{value}`" for value in part.values)
    elif part.of is None:
        low, high = (_figure(knob, value) for value in (part.low or 0, part.high or 0))
        said = f"`{low}` to `{high}`"
    else:
        unit = {
            Resource.MEMORY: "the memory",
            Resource.CORES: "the CPUs",
            Resource.DATA: "the data",
        }[part.of]
        if knob.kind is Kind.BYTES and part.of is Resource.CORES:
            unit = "per CPU"
        factors = [_figure(knob, value) for value in (part.low or 0, part.high or 0)]
        times = " to ".join(dict.fromkeys(factors))
        said = f"{times} {unit}" if unit == "per CPU" else f"{times} x {unit}"
    return f"{said} ({part.source})"


def _figure(knob: Knob, value: float) -> str:
    return readable(value) if knob.kind is Kind.BYTES and value >= 1 else f"{value:g}"
