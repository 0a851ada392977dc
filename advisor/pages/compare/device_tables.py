"""The template context of the device comparison."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from advisor.pages.compare.device_charts import CHARTS, ChartWords, connections_of
from advisor.pages.compare.device_choice import ComparisonChoice
from advisor.wording.formatting import ABSENT
from advisor.wording.hosts import compared_memory
from benchmarks.measurement.fingerprint import fact_name
from benchmarks.models import Device
from tuning.comparison.devices import BEST, Cell, DeviceComparison, compare
from tuning.comparison.measured import MAX_STUDIES
from tuning.comparison.run_sets import RunSet, chosen_run_set, labels, run_sets
from tuning.creation.groups import hosts_of_group
from tuning.published.loader import Statement, whitepaper
from tuning.statistics.ratios import Ratio


@dataclass(frozen=True)
class Line:
    """One number of connections: a cell for each device, a ratio for each pair."""

    connections: int
    cells: list[Cell | None]
    ratios: list[Ratio | None]


@dataclass(frozen=True)
class ChartView:
    """A chart, and the paper's statements about the figures that it repeats."""

    words: ChartWords
    statements: list[Statement]
    has_layer: bool


def comparison_context(choice: ComparisonChoice) -> dict[str, Any]:
    """Everything on the page."""
    found = run_sets()
    run_set = chosen_run_set(found, choice.run_set, hosts_of_group(choice.group))
    context: dict[str, Any] = {"choice": choice, **_published()}
    if run_set is None:
        return context
    comparison = compare(run_set, choice.config)
    is_config_gone = choice.config != BEST and comparison.choice is None
    number = connections_of(comparison, choice.connections)
    texts = labels(found)
    return context | {
        # Charts and links refer to what is shown, even if newer runs appear meanwhile.
        "choice": replace(
            choice,
            run_set=run_set.key,
            config=BEST if is_config_gone else choice.config,
            connections=number,
        ),
        "is_config_gone": is_config_gone,
        "comparison": comparison,
        "max_studies": MAX_STUDIES,
        "run_sets": [(one, texts[one.key]) for one in found],
        "run_set_text": texts[run_set.key].removeprefix(f"{run_set.hosts_text}: "),
        "hosts_text": run_set.hosts_text,
        "differing": _differing(run_set),
        "devices": [(device, comparison.names[device.pk]) for device in comparison.devices],
        "pairs": [
            tuple(comparison.names[device.pk] for device in pair) for pair in comparison.pairs
        ],
        "lines": _lines(comparison),
        "detail": _detail(comparison),
        "single_runs": any(cell.throughput.runs == 1 for cell in comparison.cells.values()),
        "charts": _charts(),
    }


def _differing(run_set: RunSet) -> list[tuple[str, list[str]]]:
    """Return the differences of the hosts apart from their devices, with the text of each host."""
    return [
        (fact_name(name), [_fact(name, text) for text in there.values()])
        for name, there in run_set.differing.items()
    ]


def _fact(name: str, text: str) -> str:
    return (compared_memory(text) if name == "memory_bytes" else text) or ABSENT


def _lines(comparison: DeviceComparison) -> list[Line]:
    return [
        Line(
            number,
            [comparison.cell(device, number) for device in comparison.devices],
            comparison.ratios(number),
        )
        for number in comparison.connections
    ]


def _detail(comparison: DeviceComparison) -> list[tuple[str, Device, int, Cell]]:
    """The figures behind the charts: name, device, connections and cell, device by device."""
    return [
        (comparison.names[device.pk], device, number, cell)
        for device in comparison.devices
        for number in comparison.connections
        if (cell := comparison.cell(device, number))
    ]


def _charts() -> list[ChartView]:
    said = {one.figure: one for one in whitepaper().statements}
    return [
        ChartView(
            words,
            [said[number] for number in words.figures if number in said],
            words.key in ("throughput", "path-length"),
        )
        for words in CHARTS
    ]


def _published() -> dict[str, Any]:
    """The figures of others, a line for each number of connections; a missing one is a dash."""
    paper = whitepaper()
    lines = [
        (number, [_text(line[number]) for line in paper.throughput.values()])
        for number in paper.connections
    ]
    return {"published": paper, "published_lines": lines}


def _text(value: float | None) -> str:
    return ABSENT if value is None else f"{value:,.2f}".rstrip("0").rstrip(".")
