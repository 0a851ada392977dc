"""Throughput by innodb_io_capacity on each device, like Figure 11 of the whitepaper."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.models import Config
from tuning.comparison.devices import DeviceComparison
from tuning.comparison.measured import RankedRun
from tuning.statistics.ratios import Spread, spread

KNOB = "innodb_io_capacity"
# Its maximum rises with it; everything else must be the same.
_SWEPT = (KNOB, "innodb_io_capacity_max")


@dataclass(frozen=True)
class IoCapacitySweep:
    """Throughput by device id and innodb_io_capacity, all else and connections equal."""

    connections: int
    throughput: Mapping[int, Mapping[int, Spread]]


def io_capacity_sweep(
    comparison: DeviceComparison, connections: int | None
) -> IoCapacitySweep | None:
    """Return the sweep with the most figures, preferably with `connections`.

    It is of the devices that are compared; None if no device has two configs that differ only in
    innodb_io_capacity.
    """
    shown = {device.pk for device in comparison.devices}
    measured = {at: there for at, there in comparison.measured.items() if at[0] in shown}
    ids = {key.config_id for there in measured.values() for key in there}
    knobs = dict(Config.objects.filter(pk__in=ids).values_list("pk", "knobs"))
    # By connections and all other knobs: by device the runs with each value.
    found: dict[tuple[int, object], dict[int, dict[int, Sequence[RankedRun]]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for (device, number), there in measured.items():
        for key, runs in there.items():
            value = str(knobs[key.config_id].get(KNOB, ""))
            if not value.isdigit():
                continue
            rest = {(k, str(v)) for k, v in knobs[key.config_id].items() if k not in _SWEPT}
            line = found[number, (frozenset(rest), key.logs_with_data)][device]
            # If two differ only in the maximum, the one measured more often stays.
            if len(runs) > len(line.get(int(value), ())):
                line[int(value)] = runs
    sweeps = {
        at: {device: line for device, line in lines.items() if len(line) > 1}
        for at, lines in found.items()
    }
    size = {at: sum(map(len, lines.values())) for at, lines in sweeps.items() if lines}
    if not size:
        return None
    best = max(size, key=lambda at: (at[0] == connections, size[at], at[0]))
    lines = {
        device: {
            value: seen
            for value, runs in sorted(line.items())
            if (seen := spread(run.throughput for run in runs)) is not None
        }
        for device, line in sweeps[best].items()
    }
    return IoCapacitySweep(best[0], lines)
