"""Sides laid beside each other: figures with intervals, ratios to the first, what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean, median

from benchmarks.measurement.fingerprint import comparable_facts, fact_name
from benchmarks.models import Run
from tuning.catalogue.target import traits_of
from tuning.comparison.sides import Block, Side
from tuning.configs.readback import effective_values
from tuning.results.document import Ranking
from tuning.statistics.compare import ALPHA
from tuning.statistics.estimate import Estimate
from tuning.statistics.ratios import mean_interval, ratio_of
from tuning.stored_documents import document_of

_WRITTEN = "bytes_written_per_transaction"
# Name of the column, and whether more is better; None where neither is.
FIGURES: tuple[tuple[str, bool | None], ...] = (
    ("throughput", True),
    ("p95_ms", False),
    ("p99_ms", False),
    ("max_ms", False),
    ("server_path_length", False),
    ("host_path_length", False),
    (_WRITTEN, False),
    ("cpu_user_pct", None),
    ("cpu_sys_pct", None),
    ("cpu_iowait_pct", None),
    ("data_read_iops", None),
    ("data_write_iops", None),
)


@dataclass(frozen=True)
class Figure:
    """One figure of one side: median over `runs`, and where the mean of such runs lies.

    change: to the first side; None for the first side and for what is not comparable with it.
    better: whether the whole interval is on the good side of no change, False if on the bad side,
    None if neither.
    """

    median: float
    runs: int
    interval: tuple[float, float] | None
    change: Estimate | None = None
    better: bool | None = None


@dataclass(frozen=True)
class Knob:
    """A variable with its value on each side; None where the server did not report it.

    is_set: by the side's config, else it is the server's default.
    """

    name: str
    values: list[str | None]
    is_set: list[bool]


@dataclass(frozen=True)
class SideBySide:
    """figures: by column name, one for each side, None where not measured.

    differs: what the sides were measured with that is not the same, each with the text of every
    side. Only without differences the sides are comparable and have ratios.
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
    """Compare at least one side, in their order."""
    rows = Run.objects.filter(pk__in={side.middle.pk for side in sides})
    read = {pk: (variables, facts) for pk, variables, facts in rows.values_list("pk", *_READ)}
    differs = _differences(sides, read)
    rankings = {} if differs else _rankings(sides)
    better = dict(FIGURES)
    if any(run.debt_grew for side in sides for run in side.runs):
        better[_WRITTEN] = None  # some wrote their pages after the measurement
    figures = {}
    for name, more_is_better in better.items():
        line = [_figure(_values(side, name)) for side in sides]
        if not differs:
            line[1:] = [
                _compared(found, sides, index, name, more_is_better, rankings.get(name))
                for index, found in enumerate(line[1:], 1)
            ]
        if any(line):
            figures[name] = line
    knobs, same = _knobs(sides, {pk: variables for pk, (variables, _) in read.items()})
    return SideBySide(list(sides), figures, knobs, same, differs)


_READ = "variables", "fingerprint"
_Read = Mapping[int, tuple[Mapping[str, str], Mapping[str, str]]]


def _rankings(sides: Sequence[Side]) -> Mapping[str, Ranking]:
    """Return the rankings of a board if the sides are its baseline and other candidates of it.

    Their changes are those of the study's own page. Any other sides are compared afresh.
    """
    first = sides[0]
    if not first.candidate.is_baseline or not all(
        one.is_candidate and one.study == first.study and one.place == first.place for one in sides
    ):
        return {}
    for board in document_of(first.study).boards:
        if board.place == first.place and all(board.row(one.candidate.pk) for one in sides):
            return {metric.value: ranking for metric, ranking in board.rankings.items()}
    return {}


def _figure(values: Mapping[int, float]) -> Figure | None:
    if not values:
        return None
    known = list(values.values())
    return Figure(median(known), len(known), mean_interval(known) if min(known) > 0 else None)


def _compared(
    found: Figure | None,
    sides: Sequence[Side],
    index: int,
    name: str,
    more_is_better: bool | None,
    ranking: Ranking | None,
) -> Figure | None:
    """Return the figure of a side with its change to the first one."""
    standing = ranking.standing(sides[index].candidate.pk) if ranking else None
    if found is not None and standing is not None:
        better = True if standing.better else False if standing.worse else None
        return replace(found, change=standing.estimate, better=better)
    first, values = _values(sides[0], name), _values(sides[index], name)
    if found is None or not first or min(*first.values(), *values.values()) <= 0:
        return found
    blocks = _by_block(sides[0], first), _by_block(sides[index], values)
    change = ratio_of(*blocks, ALPHA / (len(sides) - 1))
    better = None
    if change is not None and more_is_better is not None and change.excludes_no_change:
        better = (change.ratio > 1) == more_is_better
    return replace(found, change=change, better=better)


def _values(side: Side, name: str) -> dict[int, float]:
    pairs = ((run.pk, getattr(run, name)) for run in side.runs)
    return {pk: float(value) for pk, value in pairs if value is not None}


def _by_block(side: Side, values: Mapping[int, float]) -> dict[Block, float]:
    """Return the geometric mean within each block: a baseline runs twice in it."""
    blocks: dict[Block, list[float]] = {}
    for pk, value in values.items():
        blocks.setdefault(side.block_of[pk], []).append(value)
    return {block: geometric_mean(there) for block, there in blocks.items()}


def _differences(sides: Sequence[Side], read: _Read) -> list[tuple[str, list[str]]]:
    middles = [side.middle for side in sides]
    if len({(run.comparability_key, run.workload_id) for run in middles}) == 1:
        return []
    lines = {
        "Server": [str(run.server) for run in middles],
        "Device": [str(run.device) for run in middles],
        "Host": [str(run.host) for run in middles],
        "Workload": [str(run.workload) for run in middles],
        "Driver": [run.driver_version for run in middles],
        "Server program": [run.server.digest[:12] for run in middles],
    }
    facts = [comparable_facts(read[run.pk][1] or {}) for run in middles]
    for name in sorted({name for one in facts for name in one}):
        lines[fact_name(name)] = [one.get(name, "unknown") for one in facts]
    lines["binary log"] = [(read[run.pk][0] or {}).get("log_bin", "unknown") for run in middles]
    differing = [(name, texts) for name, texts in lines.items() if len(set(texts)) > 1]
    return differing or [("Dataset", [run.comparability_key[:12] for run in middles])]


def _knobs(
    sides: Sequence[Side], variables: Mapping[int, Mapping[str, str]]
) -> tuple[list[Knob], int]:
    """Return the variables that any side sets and that differ, and how many do not differ."""
    names = sorted({name for side in sides for name in side.knobs})
    columns: list[Mapping[str, str | None]] = []
    for side in sides:
        back = variables[side.middle.pk] or {}
        effective = effective_values(side.knobs, back, traits_of(side.middle.server))
        asked = {name: effective.get(name) or value for name, value in side.knobs.items()}
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
