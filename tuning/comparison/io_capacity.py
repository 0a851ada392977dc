"""Throughput by innodb_io_capacity on each device, like Figure 11 of the whitepaper."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.models import Config
from tuning.comparison.choice import ConfigKey, Place, Row
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
    measured: Mapping[Place, Mapping[ConfigKey, list[Row]]], connections: int | None
) -> IoCapacitySweep | None:
    """The sweep with the most figures, preferably with `connections`.

    None if no device has runs of configs that differ only in innodb_io_capacity.
    """
    values, rest = _configs(measured)
    found: dict[tuple[int, object], dict[int, dict[int, list[Row]]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for (device, number), by_config in measured.items():
        for key, rows in by_config.items():
            if key.config_id in values:
                line = found[number, (rest[key.config_id], key.logs_with_data)][device]
                value = values[key.config_id]
                # Of two that differ only in the maximum, the one that was measured more often.
                line[value] = max(line.get(value, []), rows, key=len)
    sweeps = {
        key: {device: line for device, line in lines.items() if len(line) > 1}
        for key, lines in found.items()
    }
    size = {key: sum(map(len, lines.values())) for key, lines in sweeps.items() if lines}
    if not size:
        return None
    best = max(size, key=lambda key: (key[0] == connections, size[key], key[0]))
    return IoCapacitySweep(
        best[0], {device: _spreads(line) for device, line in sweeps[best].items()}
    )


def _configs(
    measured: Mapping[Place, Mapping[ConfigKey, list[Row]]],
) -> tuple[dict[int, int], dict[int, frozenset[tuple[str, str]]]]:
    """For each config that sets it: innodb_io_capacity, and all other knobs."""
    ids = {key.config_id for by_config in measured.values() for key in by_config}
    values, rest = {}, {}
    for pk, knobs in Config.objects.filter(pk__in=ids).values_list("pk", "knobs"):
        if str(knobs.get(KNOB, "")).isdigit():
            values[pk] = int(knobs[KNOB])
            rest[pk] = frozenset((k, str(v)) for k, v in knobs.items() if k not in SWEPT)
    return values, rest


def _spreads(line: Mapping[int, list[Row]]) -> dict[int, Spread]:
    found = {value: spread(row["tpmP"] for row in rows) for value, rows in sorted(line.items())}
    return {value: one for value, one in found.items() if one}
