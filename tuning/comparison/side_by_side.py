"""Sides laid beside each other: figures with intervals, ratios to the first, what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.measurement.fingerprint import comparable_facts, fact_name
from benchmarks.models import Run
from tuning.catalogue.target import traits_of
from tuning.comparison.sides import Side
from tuning.configs.effective.readback import effective_values
from tuning.statistics.analysis import Interval
from tuning.statistics.compare import ALPHA
from tuning.statistics.side_by_side import geometric_mean, mean_interval, ratio_of

# Name of the column, and whether more is better; None where neither is.
FIGURES: tuple[tuple[str, bool | None], ...] = (
    ("tpmP", True),
    ("p95_ms", False),
    ("p99_ms", False),
    ("max_ms", False),
    ("server_path_length", False),
    ("host_path_length", False),
    ("bytes_written_per_new_order", False),
    ("cpu_user_pct", None),
    ("cpu_sys_pct", None),
    ("cpu_iowait_pct", None),
    ("data_read_iops", None),
    ("data_write_iops", None),
)


@dataclass(frozen=True)
class Figure:
    """One figure of one side: median over `runs`, and where the mean of such runs lies.

    `ratio` to the first side and its interval; None for the first side and for what is not
    comparable with it. `better`: whether the whole interval is on the good side of no change,
    False if on the bad side, None if neither.
    """

    median: float
    runs: int
    interval: Interval | None
    ratio: float | None = None
    ratio_interval: Interval | None = None
    better: bool | None = None


@dataclass(frozen=True)
class Knob:
    """A variable with its value on each side; None where the server did not report it.

    `is_set`: by the side's config, else it is the server's default.
    """

    name: str
    values: list[str | None]
    is_set: list[bool]


@dataclass(frozen=True)
class SideBySide:
    """`figures` by column name, one for each side, None where not measured.

    `differs`: what the sides were measured with that is not the same, each with the text of every
    side; empty if they are comparable, and only then there are ratios.
    """

    sides: list[Side]
    figures: dict[str, list[Figure | None]]
    knobs: list[Knob]
    same_knobs: int
    differs: list[tuple[str, list[str]]]

    @property
    def is_comparable(self) -> bool:
        return not self.differs


def lay_side_by_side(sides: Sequence[Side]) -> SideBySide:
    """In the order of the sides, of which there is at least one; two queries more."""
    read = _read_back(sides)
    differs = _differences(sides, read)
    knobs, same = _knobs(sides, {pk: row["variables"] for pk, row in read.items()})
    figures = {name: _figures(sides, name, up, not differs) for name, up in FIGURES}
    there = {name: found for name, found in figures.items() if any(found)}
    return SideBySide(list(sides), there, knobs, same, differs)


def _figures(
    sides: Sequence[Side], name: str, more_is_better: bool | None, with_ratios: bool
) -> list[Figure | None]:
    values = [_values(side, name) for side in sides]
    alpha = ALPHA / max(len(sides) - 1, 1)
    found: list[Figure | None] = []
    for index, there in enumerate(values):
        if not there:
            found.append(None)
            continue
        known = list(there.values())
        is_positive = min(known) > 0
        interval = mean_interval(known) if is_positive else None
        ratio, bounds = None, None
        if index and with_ratios and is_positive and values[0] and min(values[0].values()) > 0:
            compared = ratio_of(
                _by_block(sides[0], values[0]), _by_block(sides[index], there), alpha
            )
            ratio, bounds = compared or (None, None)
        found.append(
            Figure(
                median(known), len(known), interval, ratio, bounds, _better(bounds, more_is_better)
            )
        )
    return found


def _values(side: Side, name: str) -> dict[int, float]:
    """By id of the run."""
    pairs = ((run.pk, getattr(run, name)) for run in side.runs)
    return {pk: float(value) for pk, value in pairs if value is not None}


def _by_block(side: Side, values: Mapping[int, float]) -> dict[tuple[int, str, int], float]:
    """The geometric mean within each block: a baseline runs twice in it."""
    blocks: dict[tuple[int, str, int], list[float]] = {}
    for pk, value in values.items():
        blocks.setdefault(side.block_of[pk], []).append(value)
    means = ((block, geometric_mean(there)) for block, there in blocks.items())
    return {block: mean for block, mean in means if mean is not None}


def _better(bounds: Interval | None, more_is_better: bool | None) -> bool | None:
    if bounds is None or more_is_better is None or bounds.low <= 1 <= bounds.high:
        return None
    return (bounds.low > 1) == more_is_better


_READ = ("variables", "fingerprint")


def _read_back(sides: Sequence[Side]) -> dict[int, dict[str, Mapping[str, str]]]:
    """By id of each side's middle run what it read back and where it ran."""
    wanted = {side.middle.pk for side in sides}
    rows = Run.objects.filter(pk__in=wanted).values("pk", *_READ)
    return {row["pk"]: {name: row[name] or {} for name in _READ} for row in rows}


def _differences(
    sides: Sequence[Side], read: Mapping[int, Mapping[str, Mapping[str, str]]]
) -> list[tuple[str, list[str]]]:
    lines = {
        "Server": [str(side.middle.server) for side in sides],
        "Device": [str(side.middle.device) for side in sides],
        "Host": [str(side.middle.host) for side in sides],
        "Workload": [str(side.middle.workload) for side in sides],
        "Driver": [side.middle.driver_version for side in sides],
        "Server program": [side.middle.server.digest[:12] for side in sides],
    }
    facts = [comparable_facts(read[side.middle.pk]["fingerprint"]) for side in sides]
    for name in sorted({name for one in facts for name in one}):
        lines[fact_name(name)] = [one.get(name, "unknown") for one in facts]
    log_bin = [read[side.middle.pk]["variables"].get("log_bin", "unknown") for side in sides]
    lines["binary log"] = log_bin
    differing = [(name, texts) for name, texts in lines.items() if len(set(texts)) > 1]
    keys = {(side.middle.comparability_key, side.middle.workload_id) for side in sides}
    if len(keys) > 1 and not differing:
        return [("Dataset", [side.middle.comparability_key[:12] for side in sides])]
    return differing if len(keys) > 1 else []


def _knobs(
    sides: Sequence[Side], variables: Mapping[int, Mapping[str, str]]
) -> tuple[list[Knob], int]:
    """The variables that any side sets and that are not the same everywhere; how many are."""
    names = sorted({name for side in sides for name in side.knobs})
    columns: list[Mapping[str, str | None]] = []
    for side in sides:
        back = variables[side.middle.pk]
        effective = effective_values(side.knobs, back, traits_of(side.middle.server))
        asked = {name: effective.get(name) or side.knobs.get(name) for name in side.knobs}
        columns.append({name: asked.get(name) or back.get(name) for name in names})
    found = [
        Knob(
            name,
            [column[name] for column in columns],
            [name in side.knobs for side in sides],
        )
        for name in names
    ]
    differing = [knob for knob in found if len(set(knob.values)) > 1]
    return differing, len(found) - len(differing)
