"""The user's own devices side by side, like Tables 1 to 3 of the whitepaper.

Only runs of one run set are compared, and of each device only runs with one configuration of the
device. Published figures are in `tuning.published`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from django.db.models import Exists, OuterRef

from benchmarks.models import Config, Device, Host, Run
from tuning.comparison.measured import ranked_slots
from tuning.comparison.run_sets import ConfigKey, Place, RunGroup, RunSet, count_of
from tuning.models import DurabilityClass, Recommendation, StudyState
from tuning.results.document import short_names
from tuning.statistics.ratios import Ratio, Spread, ladder, ratio, spread
from tuning.strategy.racing import FAULTS

BEST = "best"
_WITH_DATA = ".logs-with-data"
_KINDS = ("hdd", "sata-ssd", "sas-ssd", "nvme", "tmpfs")

#: By place and config the groups of runs that count, oldest first.
Measured = Mapping[Place, Mapping[ConfigKey, Sequence[RunGroup]]]
Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class ConfigChoice:
    """A config that can be compared across devices; `token` is its name in addresses."""

    config_key: ConfigKey
    token: str
    name: str
    durability: DurabilityClass
    devices: int


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
    """

    run_set: RunSet
    devices: list[Device]
    names: Mapping[int, str]
    connections: list[int]
    cells: Mapping[Place, Cell]
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
        """Return the ratios of tpmP, one for each of the pairs."""
        cells = {device.pk: self.cell(device, connections) for device in self.devices}
        tpmps = {pk: cell.tpmP if cell else None for pk, cell in cells.items()}
        return [ratio(tpmps[slow.pk], tpmps[fast.pk]) for slow, fast in self.pairs]

    @property
    def usual_connections(self) -> int | None:
        """The middle one of the connection counts that most devices were measured with."""
        devices = Counter(connections for _, connections in self.cells)
        most = max(devices.values(), default=0)
        shared = sorted(number for number, count in devices.items() if count == most)
        return shared[(len(shared) - 1) // 2] if shared else None


def compare(run_set: RunSet, token: str = BEST) -> DeviceComparison:
    """Compare the devices with their best configs, or with the config that the token names.

    "Best" is, for each device and number of connections, the config with the highest median tpmP
    among those that a study recommends; if there are none, among those with at least two runs;
    else among all. Only configs of durability D0 that never failed there.
    """
    groups = _of_one_setup(run_set.groups)
    measured = _by_config(groups)
    names, choices = _names(groups), _choices(groups)
    choice = next((one for one in choices if one.token == token), None)
    recommended = _recommended(run_set)
    if choice is not None:
        key = choice.config_key
        asked = {at: [key] for at, there in measured.items() if key in there}
    else:
        failed = _failed(run_set)
        asked = {
            at: _best_among(there, recommended[at], failed[at]) for at, there in measured.items()
        }
    cells = {}
    for at, there in read_figures(measured, asked).items():
        best = max(there, key=lambda key: median(there[key]["tpmP"]))
        cells[at] = _cell(
            there[best], best, names[best], measured[at][best], best in recommended[at]
        )
    compared = Device.objects.filter(pk__in={device for device, _ in cells})
    devices = list(compared.select_related("host").defer("host__inventory", "host__datasets"))
    connections = sorted({number for _, number in cells})
    return DeviceComparison(
        run_set=run_set,
        devices=_slowest_first(devices, connections, cells),
        names=names_on_hosts(devices, run_set.hosts),
        connections=connections,
        cells=cells,
        choice=choice,
        choices=choices,
        left_out=run_set.run_count - count_of(groups),
        measured=measured,
    )


def _of_one_setup(groups: Iterable[RunGroup]) -> list[RunGroup]:
    """Keep of each device the runs with its most frequent configuration; in a tie the newest."""
    found: dict[int, dict[str, list[RunGroup]]] = defaultdict(lambda: defaultdict(list))
    for group in groups:
        found[group.device_id][group.comparability_key].append(group)
    kept = [
        max(setups.values(), key=lambda there: (count_of(there), max(g.newest for g in there)))
        for setups in found.values()
    ]
    return [group for there in kept for group in there]


def _by_config(groups: Iterable[RunGroup]) -> Measured:
    found: dict[Place, dict[ConfigKey, list[RunGroup]]] = defaultdict(lambda: defaultdict(list))
    for group in groups:
        found[group.place][group.config_key].append(group)
    return found


def _durability(groups: Iterable[RunGroup]) -> DurabilityClass:
    """Return the class of a config, as its newest run has it."""
    return DurabilityClass(max(groups, key=lambda group: group.newest).durability)


def _names(groups: Iterable[RunGroup]) -> dict[ConfigKey, str]:
    """Return a name per config: the one with the most runs, in a tie the shortest."""
    names: dict[ConfigKey, Counter[str]] = defaultdict(Counter)
    for group in groups:
        names[group.config_key][group.name] += group.count
    return {
        key: min(count, key=lambda name: (-count[name], len(name), name))
        for key, count in names.items()
    }


def _choices(groups: Sequence[RunGroup]) -> list[ConfigChoice]:
    """Return the measured configs, those on the most devices first."""
    of_config: dict[ConfigKey, list[RunGroup]] = defaultdict(list)
    for group in groups:
        of_config[group.config_key].append(group)
    names = _names(groups)
    configs = Config.objects.filter(pk__in={key.config_id for key in of_config})
    hashes = dict(configs.values_list("pk", "hash"))
    found = [
        ConfigChoice(
            config_key=key,
            token=hashes[key.config_id][:12] + (_WITH_DATA if key.logs_with_data else ""),
            name=names[key],
            durability=_durability(there),
            devices=len({group.device_id for group in there}),
        )
        for key, there in of_config.items()
    ]
    return sorted(found, key=lambda one: (-one.devices, one.durability, one.name))


def _recommended(run_set: RunSet) -> Mapping[Place, set[ConfigKey]]:
    """Return the D0 configs that ended studies recommend on the basis of runs of the run set."""
    there = ranked_slots().filter(
        study=OuterRef("study"),
        candidate=OuterRef("candidate"),
        device=OuterRef("device"),
        workload=OuterRef("workload"),
        run__comparability_key__in={group.comparability_key for group in run_set.groups},
    )
    advised = Recommendation.objects.filter(
        Exists(there),
        device__in=run_set.device_ids,
        study__state=StudyState.FINISHED,
        durability=DurabilityClass.D0,
        candidate__durability=DurabilityClass.D0,
    )
    of_the_config = "candidate__config_id", "candidate__logs_with_data"
    return _keys(advised.values_list("device_id", "workload__connections", *of_the_config))


def _failed(run_set: RunSet) -> Mapping[Place, set[ConfigKey]]:
    """Return configs with a failed run that may be their fault: never the best, however fast.

    A run that was measured again, because the disk was full, is none of these.
    """
    load = run_set.newest.workload
    failed = Run.objects.filter(
        host__in=run_set.hosts,
        state__in=FAULTS,
        retries=None,
        server__digest__in={group.server.digest for group in run_set.groups},
        workload__driver=load.driver,
        workload__warehouses=load.warehouses,
    )
    of_the_config = "config_id", "logs_with_data"
    return _keys(failed.values_list("device_id", "workload__connections", *of_the_config))


def _keys(rows: Iterable[tuple[int, int, int, bool]]) -> Mapping[Place, set[ConfigKey]]:
    found: dict[Place, set[ConfigKey]] = defaultdict(set)
    for device, connections, config, with_data in rows:
        found[device, connections].add(ConfigKey(config, with_data))
    return found


def _best_among(
    there: Mapping[ConfigKey, Sequence[RunGroup]],
    recommended: Collection[ConfigKey],
    failed: Collection[ConfigKey],
) -> list[ConfigKey]:
    """Return the configs of a place that may be its best, as `compare` defines it."""
    fit = [
        key
        for key, groups in there.items()
        if key not in failed and _durability(groups) == DurabilityClass.D0
    ]
    # A single run may be lucky, and the best of many single runs probably is.
    often = [key for key in fit if count_of(there[key]) > 1]
    return [key for key in fit if key in recommended] or often or fit


_COLUMNS = (
    *("pk", "tpmP", "p95_ms", "max_ms", "cpu_user_pct", "cpu_sys_pct", "cpu_iowait_pct"),
    *("server_path_length", "data_read_iops", "data_write_iops"),
    *("log_read_iops", "log_write_iops"),
)


def read_figures(
    measured: Measured, asked: Mapping[Place, Sequence[ConfigKey]]
) -> dict[Place, dict[ConfigKey, Columns]]:
    """Return columns of figures for the configs asked for, without runs that have gone since."""
    groups = [g for at, keys in asked.items() for key in keys for g in measured[at][key]]
    setups = {(group.device_id, group.comparability_key) for group in groups}
    runs = ranked_slots().filter(
        run__comparability_key__in={key for _, key in setups},
        device__in={device for device, _ in setups},
        workload__in={group.workload.pk for group in groups},
        run__config__in={group.config_id for group in groups},
    )
    of_the_run = "device_id", "run__comparability_key", "workload__connections"
    config = "run__config_id", "run__logs_with_data"
    rows: dict[tuple[Place, ConfigKey], list[Sequence[Any]]] = defaultdict(list)
    columns = (f"run__{name}" for name in _COLUMNS)
    for device, setup, number, *key, in_columns in (
        (*row[:5], row[5:]) for row in runs.values_list(*of_the_run, *config, *columns)
    ):
        if (device, setup) in setups:
            rows[(device, number), ConfigKey(*key)].append(in_columns)
    found: dict[Place, dict[ConfigKey, Columns]] = defaultdict(dict)
    for (at, config_key), there in rows.items():
        if config_key in asked.get(at, ()):
            values = zip(*there, strict=True)
            found[at][config_key] = dict(zip(_COLUMNS, values, strict=True))
    return found


def _cell(
    columns: Columns,
    key: ConfigKey,
    name: str,
    groups: Sequence[RunGroup],
    is_recommended: bool,
) -> Cell:
    tpmp = spread(columns["tpmP"])
    if tpmp is None:
        raise ValueError("a successful run has a tpmP")
    runs = zip(columns["pk"], columns["tpmP"], strict=True)
    return Cell(
        config_key=key,
        config=name,
        durability=_durability(groups),
        is_recommended=is_recommended,
        middle_run=min(runs, key=lambda run: (abs(run[1] - tpmp.median), run[0]))[0],
        tpmP=tpmp,
        p95_ms=spread(columns["p95_ms"]),
        max_ms=spread(columns["max_ms"]),
        busy_pct=_sums(columns["cpu_user_pct"], columns["cpu_sys_pct"]),
        iowait_pct=spread(columns["cpu_iowait_pct"]),
        server_path_length=spread(columns["server_path_length"]),
        read_iops=_sums(columns["data_read_iops"], _or_none(columns["log_read_iops"])),
        write_iops=_sums(columns["data_write_iops"], _or_none(columns["log_write_iops"])),
    )


def _or_none(values: Iterable[float | None]) -> list[float]:
    """Return the figures of a separate log device, 0 without one."""
    return [value or 0.0 for value in values]


def _sums(first: Iterable[float | None], second: Iterable[float | None]) -> Spread | None:
    return spread(
        None if one is None or other is None else one + other
        for one, other in zip(first, second, strict=True)
    )


def _slowest_first(
    devices: list[Device], connections: Sequence[int], cells: Mapping[Place, Cell]
) -> list[Device]:
    """Sort by tpmP with the fewest connections that all devices have, else by kind."""
    for number in connections:
        there = {device.pk: cells.get((device.pk, number)) for device in devices}
        medians = {pk: cell.tpmP.median for pk, cell in there.items() if cell}
        if len(medians) == len(devices):
            return sorted(devices, key=lambda device: (medians[device.pk], device.pk))
    rank = {kind: at for at, kind in enumerate(_KINDS)}
    return sorted(devices, key=lambda device: (rank.get(device.kind, len(rank)), device.pk))


def names_on_hosts(devices: Collection[Device], hosts: Collection[Host]) -> dict[int, str]:
    """Return names as `device_names`; with several hosts each has its host's name before it."""
    if len(hosts) == 1:
        return device_names(devices)
    return {
        pk: f"{host}: {name}"
        for host in hosts
        for pk, name in device_names(one for one in devices if one.host_id == host.pk).items()
    }


def device_names(devices: Iterable[Device]) -> dict[int, str]:
    """Return short names; devices that would have the same name get their directories as well."""
    devices = list(devices)
    return short_names(
        {one.pk: one.what for one in devices}, {one.pk: str(one) for one in devices}
    )
