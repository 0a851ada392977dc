"""The user's own devices side by side, like Tables 1 to 3 of the whitepaper.

Only runs of one run set are compared, and of each device only runs with one configuration of the
device. Published figures are in `tuning.published`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.models import Config, Device, Host, Run, Server
from tuning.comparison.measured import RankedRun
from tuning.comparison.run_sets import RunSet
from tuning.models import DurabilityClass, Recommendation, StudyState
from tuning.results.document import short_names
from tuning.results.series import middle_run
from tuning.statistics.ratios import Ratio, Spread, ladder, ratio, spread
from tuning.strategy.racing import FAULTS

BEST = "best"
_WITH_DATA = ".logs-with-data"
_KINDS = ("hdd", "sata-ssd", "sas-ssd", "nvme", "tmpfs")

Place = tuple[int, int]  # id of a device, connections


class ConfigKey(NamedTuple):
    """A config that was measured, and whether its redo log was on the data device."""

    config_id: int
    logs_with_data: bool


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

    Times in ms, path lengths in cycles per transaction, shares in % of CPUs, IOPS as the sum of
    the data device and a separate log device. middle_run: the run with the median throughput.
    is_recommended: whether a study recommends that config for that device and workload.
    """

    config: str
    durability: DurabilityClass
    is_recommended: bool
    middle_run: int
    throughput: Spread
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

    @property
    def pairs(self) -> list[tuple[Device, Device]]:
        """The ratio columns: slower, faster."""
        return [(self.devices[a], self.devices[b]) for a, b in ladder(len(self.devices))]

    def cell(self, device: Device, connections: int) -> Cell | None:
        return self.cells.get((device.pk, connections))

    def ratios(self, connections: int) -> list[Ratio | None]:
        """Return the ratios of throughput, one for each of the pairs."""

        def throughput(device: Device) -> Spread | None:
            cell = self.cell(device, connections)
            return cell.throughput if cell else None

        return [ratio(throughput(slow), throughput(fast)) for slow, fast in self.pairs]

    @property
    def usual_connections(self) -> int | None:
        """The middle one of the connection counts that most devices were measured with."""
        devices = Counter(connections for _, connections in self.cells)
        most = max(devices.values(), default=0)
        shared = sorted(number for number, count in devices.items() if count == most)
        return shared[(len(shared) - 1) // 2] if shared else None


def compare(run_set: RunSet, token: str = BEST) -> DeviceComparison:
    """Compare the devices with their best configs, or with the config that the token names.

    "Best" is, for each device and number of connections, the config with the highest median
    throughput among those that a study recommends; if there are none, among those with at least
    two runs; else among all. Only configs of durability D0 that never failed there.
    """
    runs = _of_one_setup(run_set.runs)
    measured: dict[Place, dict[ConfigKey, list[RankedRun]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for run in runs:
        measured[_place(run)][_key(run)].append(run)
    choices = _choices(runs)
    choice = next((one for one in choices.values() if one.token == token), None)
    recommended, failed = _recommended(run_set), _failed(run_set)
    cells = {}
    for at, there in measured.items():
        asked: Collection[ConfigKey] = [choice.config_key] if choice else ()
        if choice is None:
            asked = _best_among(there, recommended[at], failed[at])
        found = [
            _cell(choices[key], there[key], key in recommended[at])
            for key in asked
            if key in there
        ]
        if found:
            cells[at] = max(found, key=lambda cell: cell.throughput.median)
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
        choices=sorted(choices.values(), key=lambda one: (-one.devices, one.durability, one.name)),
        left_out=len(run_set.runs) - len(runs),
    )


def _place(run: RankedRun) -> Place:
    return run.device_id, run.connections


def _key(run: RankedRun) -> ConfigKey:
    return ConfigKey(run.config_id, run.logs_with_data)


def _of_one_setup(runs: Iterable[RankedRun]) -> list[RankedRun]:
    """Keep of each device the runs with its most frequent configuration; in a tie the newest."""
    found: dict[int, dict[str, list[RankedRun]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        found[run.device_id][run.comparability_key].append(run)
    usual = (
        max(setups.values(), key=lambda there: (len(there), there[-1].id))
        for setups in found.values()
    )
    return [run for there in usual for run in there]


def _choices(runs: Iterable[RankedRun]) -> dict[ConfigKey, ConfigChoice]:
    """Return the measured configs; each has its most frequent name, in a tie the shortest."""
    of_config: dict[ConfigKey, list[RankedRun]] = defaultdict(list)
    for run in runs:
        of_config[_key(run)].append(run)
    configs = Config.objects.filter(pk__in={key.config_id for key in of_config})
    hashes = dict(configs.values_list("pk", "hash"))
    found = {}
    for key, there in of_config.items():
        names = Counter(run.candidate for run in there)
        found[key] = ConfigChoice(
            config_key=key,
            token=hashes[key.config_id][:12] + (_WITH_DATA if key.logs_with_data else ""),
            name=min(names, key=lambda name: (-names[name], len(name), name)),
            durability=_durability(there),
            devices=len({run.device_id for run in there}),
        )
    return found


def _durability(runs: Iterable[RankedRun]) -> DurabilityClass:
    """Return the class of a config, as its newest run has it."""
    return DurabilityClass(max(runs, key=lambda run: run.id).durability)


def _recommended(run_set: RunSet) -> Mapping[Place, set[ConfigKey]]:
    """Return the D0 configs that ended studies recommend on the basis of runs of the run set."""
    advised = set(
        Recommendation.objects.filter(
            device__in=run_set.device_ids,
            study__state=StudyState.FINISHED,
            durability=DurabilityClass.D0,
            candidate__durability=DurabilityClass.D0,
        ).values_list("candidate", "device", "workload")
    )
    found: dict[Place, set[ConfigKey]] = defaultdict(set)
    for run in run_set.runs:
        if (run.candidate_id, run.device_id, run.workload_id) in advised:
            found[_place(run)].add(_key(run))
    return found


def _failed(run_set: RunSet) -> Mapping[Place, set[ConfigKey]]:
    """Return configs with a failed run that may be their fault: never the best, however fast.

    A run that was measured again, because the disk was full, is none of these.
    """
    servers = Server.objects.filter(pk__in={run.server_id for run in run_set.runs})
    rows = Run.objects.filter(
        host__in=run_set.hosts,
        state__in=FAULTS,
        retries=None,
        server__digest__in=servers.values("digest"),
        workload__driver=run_set.workload.driver,
        **{f"workload__{name}": value for name, value in run_set.workload.sizes.items()},
    ).values_list("device_id", "workload__connections", "config_id", "logs_with_data")
    found: dict[Place, set[ConfigKey]] = defaultdict(set)
    for device, connections, config, with_data in rows:
        found[device, connections].add(ConfigKey(config, with_data))
    return found


def _best_among(
    there: Mapping[ConfigKey, Sequence[RankedRun]],
    recommended: Collection[ConfigKey],
    failed: Collection[ConfigKey],
) -> list[ConfigKey]:
    """Return the configs of a place that may be its best, as `compare` defines it."""
    fit = [
        key
        for key, runs in there.items()
        if key not in failed and _durability(runs) == DurabilityClass.D0
    ]
    # A single run may be lucky, and the best of many single runs probably is.
    often = [key for key in fit if len(there[key]) > 1]
    return [key for key in fit if key in recommended] or often or fit


def _cell(choice: ConfigChoice, runs: Sequence[RankedRun], is_recommended: bool) -> Cell:
    throughput = spread(run.throughput for run in runs)
    if throughput is None:
        raise ValueError("a config that was measured has a run")
    return Cell(
        config=choice.name,
        durability=_durability(runs),
        is_recommended=is_recommended,
        middle_run=middle_run({run.id: run.throughput for run in runs}),
        throughput=throughput,
        p95_ms=spread(run.p95_ms for run in runs),
        max_ms=spread(run.max_ms for run in runs),
        busy_pct=spread(_sum(run.cpu_user_pct, run.cpu_sys_pct) for run in runs),
        iowait_pct=spread(run.cpu_iowait_pct for run in runs),
        server_path_length=spread(run.server_path_length for run in runs),
        read_iops=spread(_sum(run.data_read_iops, run.log_read_iops or 0.0) for run in runs),
        write_iops=spread(_sum(run.data_write_iops, run.log_write_iops or 0.0) for run in runs),
    )


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _slowest_first(
    devices: list[Device], connections: Sequence[int], cells: Mapping[Place, Cell]
) -> list[Device]:
    """Sort by throughput with the fewest connections that all devices have, else by kind."""
    for number in connections:
        there = {device.pk: cells.get((device.pk, number)) for device in devices}
        medians = {pk: cell.throughput.median for pk, cell in there.items() if cell}
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
