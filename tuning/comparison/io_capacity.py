"""Throughput by innodb_io_capacity on each device, like Figure 11 of the whitepaper."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.models import Config
from tuning.comparison.choice import ConfigKey, Measured, count_of
from tuning.comparison.device_comparison import DeviceComparison, read_figures
from tuning.statistics.ratios import Spread, spread

KNOB = "innodb_io_capacity"
# Its maximum rises with it; everything else must be the same.
SWEPT = (KNOB, "innodb_io_capacity_max")


@dataclass(frozen=True)
class IoCapacitySweep:
    """tpmP by device id and innodb_io_capacity, all else equal, with that many connections."""

    connections: int
    tpmP: Mapping[int, Mapping[int, Spread]]


def io_capacity_sweep(
    comparison: DeviceComparison, connections: int | None
) -> IoCapacitySweep | None:
    """The sweep with the most figures, preferably with `connections`.

    Of the devices that are compared; None if none of them has runs of configs that differ only in
    innodb_io_capacity.
    """
    shown = {device.pk for device in comparison.devices}
    measured = {place: there for place, there in comparison.measured.items() if place[0] in shown}
    values, rest = _configs(measured)
    found: dict[tuple[int, object], dict[int, dict[int, ConfigKey]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for (device, number), there in measured.items():
        for key, groups in there.items():
            if key.config_id in values:
                line = found[number, (rest[key.config_id], key.logs_with_data)][device]
                known = line.get(values[key.config_id])
                # Of two that differ only in the maximum, the one that was measured more often.
                if known is None or count_of(groups) > count_of(there[known]):
                    line[values[key.config_id]] = key
    sweeps = {
        key: {device: line for device, line in lines.items() if len(line) > 1}
        for key, lines in found.items()
    }
    size = {key: sum(map(len, lines.values())) for key, lines in sweeps.items() if lines}
    if not size:
        return None
    best = max(size, key=lambda key: (key[0] == connections, size[key], key[0]))
    return IoCapacitySweep(best[0], _spreads(comparison, best[0], sweeps[best]))


def _configs(
    measured: Measured,
) -> tuple[dict[int, int], dict[int, frozenset[tuple[str, str]]]]:
    """For each config that sets it: innodb_io_capacity, and all other knobs."""
    ids = {key.config_id for by_config in measured.values() for key in by_config}
    values, rest = {}, {}
    for pk, knobs in Config.objects.filter(pk__in=ids).values_list("pk", "knobs"):
        if str(knobs.get(KNOB, "")).isdigit():
            values[pk] = int(knobs[KNOB])
            rest[pk] = frozenset((k, str(v)) for k, v in knobs.items() if k not in SWEPT)
    return values, rest


def _spreads(
    comparison: DeviceComparison, number: int, lines: Mapping[int, Mapping[int, ConfigKey]]
) -> dict[int, dict[int, Spread]]:
    known = {
        (device, cell.config_key): cell.tpmP
        for (device, connections), cell in comparison.cells.items()
        if connections == number
    }
    asked = {
        (device, number): [key for key in line.values() if (device, key) not in known]
        for device, line in lines.items()
    }
    figures = read_figures(comparison.run_set, comparison.measured, asked, ("tpmP",))
    found: dict[int, dict[int, Spread]] = defaultdict(dict)
    for device, line in lines.items():
        columns = figures.get((device, number), {})
        for value, key in sorted(line.items()):
            one = spread(columns[key]["tpmP"]) if key in columns else known.get((device, key))
            if one is not None:
                found[device][value] = one
    return found
