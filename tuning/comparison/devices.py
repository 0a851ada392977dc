"""The user's own devices side by side, like Tables 1 to 3 of the whitepaper.

Only runs of one run_set (`tuning.comparison.comparable_runs`) are compared, and of each device
only those with one configuration of the device. Published figures are in `tuning.published`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.models import Device
from tuning.comparison.choice import (
    ConfigChoice,
    ConfigKey,
    Place,
    Row,
    best_configs,
    config_choices,
    config_key_of,
    config_names,
    failed_configs,
    place_of,
    recommended_configs,
)
from tuning.comparison.comparable_runs import RunSet
from tuning.models import DurabilityClass
from tuning.statistics.ratios import Ratio, Spread, ladder, ratio, spread

BEST = "best"
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
    measured: the runs that count, oldest first.
    """

    run_set: RunSet
    devices: list[Device]
    names: Mapping[int, str]
    connections: list[int]
    cells: Mapping[Place, Cell]
    choice: ConfigChoice | None
    choices: list[ConfigChoice]
    left_out: int
    measured: Mapping[Place, Mapping[ConfigKey, list[Row]]] = field(repr=False)

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
    """All that is compared of a run_set, whichever config is looked at.

    by_config: the runs that count, oldest first; left_out: as in DeviceComparison.
    """

    by_config: Mapping[Place, Mapping[ConfigKey, list[Row]]]
    names: Mapping[ConfigKey, str]
    choices: list[ConfigChoice]
    recommended: Mapping[Place, set[ConfigKey]]
    failed: Mapping[Place, set[ConfigKey]]
    left_out: int


def measured_runs(run_set: RunSet) -> MeasuredRuns:
    """Reads every successful run of the run_set."""
    found = list(run_set.ok_runs().order_by("pk").values(*_FIELDS))
    rows = _of_one_setup(found)
    by_config: dict[Place, dict[ConfigKey, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        by_config[place_of(row)][config_key_of(row)].append(row)
    return MeasuredRuns(
        by_config=by_config,
        names=config_names(rows),
        choices=config_choices(rows),
        recommended=recommended_configs(run_set),
        failed=failed_configs(run_set),
        left_out=len(found) - len(rows),
    )


def compare(
    run_set: RunSet, token: str = BEST, measured: MeasuredRuns | None = None
) -> DeviceComparison:
    """The run_set's devices with their best configs, or with the config that the token names.

    `measured`: its runs, if already read.

    "Best" is, for each device and number of connections, the config with the highest median tpmP
    among those that a study recommends; if there are none, among those with at least two runs;
    else among all. Only configs of durability D0 that never failed there.
    """
    measured = measured or measured_runs(run_set)
    by_config, recommended = measured.by_config, measured.recommended
    choice = next((one for one in measured.choices if one.token == token), None)
    if choice is None:
        picked = best_configs(by_config, recommended, measured.failed)
    else:
        picked = {
            place: choice.config_key
            for place, there in by_config.items()
            if choice.config_key in there
        }
    cells = {
        place: _cell(by_config[place][key], measured.names[key], key in recommended.get(place, ()))
        for place, key in picked.items()
    }
    there = Device.objects.filter(pk__in={device for device, _ in cells})
    devices = list(there.select_related("host"))
    connections = sorted({number for _, number in cells})
    return DeviceComparison(
        run_set=run_set,
        devices=_slowest_first(devices, connections, cells),
        names=_names(devices, run_set),
        connections=connections,
        cells=cells,
        choice=choice,
        choices=measured.choices,
        left_out=measured.left_out,
        measured=by_config,
    )


_FIGURES = (
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
_FIELDS = (
    "pk",
    "device_id",
    "config_id",
    "logs_with_data",
    "comparability_key",
    "workload__connections",
    "slot__candidate__name",
    "slot__candidate__durability",
    *_FIGURES,
)


def _of_one_setup(rows: Iterable[Row]) -> list[Row]:
    """For each device the runs with its most frequent configuration; in a tie the newest one."""
    by_device: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        by_device[row["device_id"]].append(row)
    kept = []
    for there in by_device.values():
        count = Counter(row["comparability_key"] for row in there)
        last = {row["comparability_key"]: row["pk"] for row in there}
        key = max(count, key=lambda key: (count[key], last[key]))
        kept += [row for row in there if row["comparability_key"] == key]
    return kept


def _cell(rows: Sequence[Row], name: str, is_recommended: bool) -> Cell:
    tpmp = spread(row["tpmP"] for row in rows)
    if tpmp is None:
        raise ValueError("a successful run has a tpmP")
    newest = rows[-1]
    return Cell(
        config_key=config_key_of(newest),
        config=name,
        durability=DurabilityClass(newest["slot__candidate__durability"]),
        is_recommended=is_recommended,
        middle_run=min(rows, key=lambda row: abs(row["tpmP"] - tpmp.median))["pk"],
        tpmP=tpmp,
        p95_ms=_spread(rows, "p95_ms"),
        max_ms=_spread(rows, "max_ms"),
        busy_pct=_spread(rows, "cpu_user_pct", "cpu_sys_pct"),
        iowait_pct=_spread(rows, "cpu_iowait_pct"),
        server_path_length=_spread(rows, "server_path_length"),
        read_iops=_spread(rows, "data_read_iops", optional="log_read_iops"),
        write_iops=_spread(rows, "data_write_iops", optional="log_write_iops"),
    )


def _spread(rows: Sequence[Row], *names: str, optional: str = "") -> Spread | None:
    """The spread of a sum of columns, over the runs that have all of them but the optional one."""
    sums = []
    for row in rows:
        parts = [row[name] for name in names]
        if None not in parts:
            sums.append(sum(parts) + ((row[optional] or 0.0) if optional else 0.0))
    return spread(sums)


def _slowest_first(
    devices: list[Device], connections: Sequence[int], cells: Mapping[Place, Cell]
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


def _names(devices: list[Device], run_set: RunSet) -> dict[int, str]:
    """Of several hosts each device has its host's name with it."""
    if len(run_set.hosts) == 1:
        return device_names(devices)
    return {
        pk: f"{host}: {name}"
        for host in run_set.hosts
        for pk, name in device_names(one for one in devices if one.host_id == host.pk).items()
    }


def _what(device: Device) -> str:
    if profile := device.profile:
        return f"emulated {profile.name}"
    return device.model if device.kind == "other" and device.model else device.kind


def device_names(devices: Iterable[Device]) -> dict[int, str]:
    """Short names; devices that would have the same name get their directories as well."""
    devices = list(devices)
    short = {device.pk: _what(device) for device in devices}
    long = {device.pk: str(device) for device in devices}
    names = {}
    for pk, name in short.items():
        if list(short.values()).count(name) > 1:
            name = long[pk]
            if list(long.values()).count(name) > 1:
                name = f"{name} (device {pk})"
        names[pk] = name
    return names
