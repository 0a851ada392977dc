"""The user's own devices side by side, like Tables 1 to 3 of the whitepaper.

Only runs of one run_set (`tuning.comparison.comparable_runs`) are compared, and of each device
only those with one configuration of the device. Published figures are in `tuning.published`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from statistics import median
from typing import Any

from benchmarks.models import Device, Host
from tuning.comparison.choice import (
    CellKey,
    ConfigChoice,
    ConfigKey,
    Measured,
    best_among,
    by_config,
    config_choices,
    config_names,
    count_of,
    durability_of,
    failed_configs,
    recommended_configs,
)
from tuning.comparison.comparable_runs import RunGroup, RunSet, ok_runs
from tuning.models import DurabilityClass
from tuning.results.document import short_names
from tuning.statistics.ratios import Ratio, Spread, ladder, ratio, spread

BEST = "best"
Columns = Mapping[str, Sequence[Any]]
_KINDS = ("hdd", "sata-ssd", "sas-ssd", "nvme", "tmpfs")


@dataclass(frozen=True)
class Cell:
    """One device with one number of connections, over the runs of one config.

    Times in ms, path lengths in cycles per New-Order, shares in % of all CPUs, IOPS as the sum of
    the data device and a separate log device. middle_run: the run nearest to the median tpmP.
    is_recommended: whether a study recommends that config for that device and workload.
    """

    config_key: ConfigKey
    config: str
    durability: DurabilityClass
    is_recommended: bool
    middle_run: int
    tpmP: Spread
    p95_ms: Spread | None
    max_ms: Spread | None
    busy_pct: Spread | None
    iowait_pct: Spread | None
    server_path_length: Spread | None
    read_iops: Spread | None
    write_iops: Spread | None


@dataclass(frozen=True)
class DeviceComparison:
    """Devices, slowest first, and their results by number of connections.

    names: short and unique, by id of the device. left_out: number of runs that do not count
    because the device was configured differently (scheduler, file system or mount options).
    measured: the runs that count.
    """

    run_set: RunSet
    devices: list[Device]
    names: Mapping[int, str]
    connections: list[int]
    cells: Mapping[CellKey, Cell]
    choice: ConfigChoice | None
    choices: list[ConfigChoice]
    left_out: int
    measured: Measured = field(repr=False)

    @property
    def pairs(self) -> list[tuple[Device, Device]]:
        """The ratio columns: slower, faster."""
        return [(self.devices[a], self.devices[b]) for a, b in ladder(len(self.devices))]

    def cell(self, device: Device, connections: int) -> Cell | None:
        return self.cells.get((device.pk, connections))

    def ratios(self, connections: int) -> list[Ratio | None]:
        """The ratios of tpmP, one for each of the pairs."""
        return [
            ratio(
                *(
                    cell.tpmP if (cell := self.cell(device, connections)) else None
                    for device in pair
                )
            )
            for pair in self.pairs
        ]

    @property
    def usual_connections(self) -> int | None:
        """The middle one of the connection counts that most devices were measured with."""
        devices = Counter(connections for _, connections in self.cells)
        most = max(devices.values(), default=0)
        shared = sorted(number for number, count in devices.items() if count == most)
        return shared[(len(shared) - 1) // 2] if shared else None


@dataclass(frozen=True)
class MeasuredRuns:
    """What was measured of a run_set, whichever config is looked at.

    by_config: the runs that count; left_out: as in DeviceComparison.
    """

    by_config: Measured
    names: Mapping[ConfigKey, str]
    choices: list[ConfigChoice]
    recommended: Mapping[CellKey, set[ConfigKey]]
    failed: Mapping[CellKey, set[ConfigKey]]
    left_out: int


def measured_runs(run_set: RunSet) -> MeasuredRuns:
    """Reads no run's figures."""
    groups = _of_one_setup(run_set.groups)
    return MeasuredRuns(
        by_config=by_config(groups),
        names=config_names(groups),
        choices=config_choices(groups),
        recommended=recommended_configs(run_set),
        failed=failed_configs(run_set),
        left_out=run_set.run_count - count_of(groups),
    )


def compare(
    run_set: RunSet, token: str = BEST, measured: MeasuredRuns | None = None
) -> DeviceComparison:
    """The run_set's devices with their best configs, or with the config that the token names.

    `measured`: its runs, if already known.

    "Best" is, for each device and number of connections, the config with the highest median tpmP
    among those that a study recommends; if there are none, among those with at least two runs;
    else among all. Only configs of durability D0 that never failed there.
    """
    measured = measured or measured_runs(run_set)
    recommended, failed = measured.recommended, measured.failed
    choice = next((one for one in measured.choices if one.token == token), None)
    asked = {
        at: best_among(there, recommended.get(at, ()), failed.get(at, ()))
        if choice is None
        else [choice.config_key]
        for at, there in measured.by_config.items()
        if choice is None or choice.config_key in there
    }
    cells = {}
    for at, there in read_figures(run_set, measured.by_config, asked, _FIGURES).items():
        key = max(there, key=lambda key: median(there[key]["tpmP"]))
        cells[at] = _cell(
            there[key],
            config_key=key,
            config=measured.names[key],
            durability=durability_of(measured.by_config[at][key]),
            is_recommended=key in recommended.get(at, ()),
        )
    compared = Device.objects.filter(pk__in={device for device, _ in cells})
    unused = "host__inventory", "host__datasets"
    devices = list(compared.select_related("host").defer(*unused))
    connections = sorted({number for _, number in cells})
    return DeviceComparison(
        run_set=run_set,
        devices=_slowest_first(devices, connections, cells),
        names=names_on_hosts(devices, run_set.hosts),
        connections=connections,
        cells=cells,
        choice=choice,
        choices=measured.choices,
        left_out=measured.left_out,
        measured=measured.by_config,
    )


_FIGURES = (
    "pk",
    "tpmP",
    "p95_ms",
    "max_ms",
    "cpu_user_pct",
    "cpu_sys_pct",
    "cpu_iowait_pct",
    "server_path_length",
    "data_read_iops",
    "data_write_iops",
    "log_read_iops",
    "log_write_iops",
)


def read_figures(
    run_set: RunSet,
    measured: Measured,
    asked: Mapping[CellKey, Sequence[ConfigKey]],
    names: tuple[str, ...],
) -> dict[CellKey, dict[ConfigKey, Columns]]:
    """Of each place that was asked for the configs' runs, by name a column of figures.

    Without what has gone meanwhile.
    """
    groups = [g for at, keys in asked.items() for key in keys for g in measured[at][key]]
    if not groups:
        return {}
    setups = {group.device_id: group.comparability_key for group in groups}
    numbers = {group.workload.pk: group.workload.connections for group in groups}
    rows: dict[tuple[CellKey, tuple[int, bool]], list[Sequence[Any]]] = defaultdict(list)
    of_the_run = "device_id", "workload_id", "comparability_key", "config_id", "logs_with_data"
    runs = ok_runs(run_set).filter(
        device__in=setups, config__in={group.config_id for group in groups}
    )
    for device, workload, setup, config, has_logs, *figures in runs.values_list(
        *of_the_run, *names
    ):
        if setups[device] == setup and workload in numbers:
            rows[(device, numbers[workload]), (config, has_logs)].append(figures)
    found: dict[CellKey, dict[ConfigKey, Columns]] = {
        at: {
            key: dict(zip(names, zip(*rows[at, key], strict=True), strict=True))
            for key in keys
            if (at, key) in rows
        }
        for at, keys in asked.items()
    }
    return {at: columns for at, columns in found.items() if columns}


def _of_one_setup(groups: Iterable[RunGroup]) -> list[RunGroup]:
    """For each device the runs with its most frequent configuration; in a tie the newest one."""
    count: dict[int, Counter[str]] = defaultdict(Counter)
    newest: dict[tuple[int, str], int] = defaultdict(int)
    for group in groups:
        device, setup = group.device_id, group.comparability_key
        count[device][setup] += group.count
        newest[device, setup] = max(newest[device, setup], group.newest)
    kept = {
        device: max(there, key=lambda setup: (there[setup], newest[device, setup]))
        for device, there in count.items()
    }
    return [group for group in groups if kept[group.device_id] == group.comparability_key]


def _cell(
    columns: Columns,
    *,
    config_key: ConfigKey,
    config: str,
    durability: DurabilityClass,
    is_recommended: bool,
) -> Cell:
    tpmp = spread(columns["tpmP"])
    if tpmp is None:
        raise ValueError("a successful run has a tpmP")
    runs = zip(columns["pk"], columns["tpmP"], strict=True)
    return Cell(
        config_key=config_key,
        config=config,
        durability=durability,
        is_recommended=is_recommended,
        middle_run=min(runs, key=lambda run: (abs(run[1] - tpmp.median), run[0]))[0],
        tpmP=tpmp,
        p95_ms=spread(columns["p95_ms"]),
        max_ms=spread(columns["max_ms"]),
        busy_pct=_spread_of_sum(columns, "cpu_user_pct", "cpu_sys_pct"),
        iowait_pct=spread(columns["cpu_iowait_pct"]),
        server_path_length=spread(columns["server_path_length"]),
        read_iops=_spread_of_sum(columns, "data_read_iops", optional="log_read_iops"),
        write_iops=_spread_of_sum(columns, "data_write_iops", optional="log_write_iops"),
    )


def _spread_of_sum(columns: Columns, *names: str, optional: str = "") -> Spread | None:
    """The spread of a sum of columns, over the runs that have all of them but the optional one."""
    others = columns[optional] if optional else repeat(None)
    return spread(
        None if None in parts else sum(parts) + (other or 0.0)
        for *parts, other in zip(*(columns[name] for name in names), others, strict=False)
    )


def _slowest_first(
    devices: list[Device], connections: Sequence[int], cells: Mapping[CellKey, Cell]
) -> list[Device]:
    """By tpmP with the fewest connections that all devices were measured with, else by kind."""
    for number in connections:
        there = {device.pk: cells.get((device.pk, number)) for device in devices}
        medians = {pk: cell.tpmP.median for pk, cell in there.items() if cell}
        if len(medians) == len(devices):
            return sorted(devices, key=lambda device: (medians[device.pk], device.pk))
    return sorted(devices, key=lambda device: (_kind_rank(device), device.pk))


def _kind_rank(device: Device) -> int:
    return _KINDS.index(device.kind) if device.kind in _KINDS else len(_KINDS)


def names_on_hosts(devices: Collection[Device], hosts: Collection[Host]) -> dict[int, str]:
    """As `device_names`; of several hosts each device has its host's name with it."""
    if len(hosts) == 1:
        return device_names(devices)
    return {
        pk: f"{host}: {name}"
        for host in hosts
        for pk, name in device_names(one for one in devices if one.host_id == host.pk).items()
    }


def device_names(devices: Iterable[Device]) -> dict[int, str]:
    """Short names; devices that would have the same name get their directories as well."""
    devices = list(devices)
    return short_names(
        {one.pk: one.what for one in devices}, {one.pk: str(one) for one in devices}
    )
