"""Chosen configs side by side: where their knobs differ, and what was measured of each.

Figures of different setups are never mixed: a setup is what runs have in common that are ranked
together (`Run.comparability_key`, which stands for host, device, server and load).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.models import Config, Device, Host, Run, RunState, Server, Workload
from tuning.models import RANKED_PURPOSES
from tuning.statistics.ratios import Ratio, Spread, ratio, spread

#: Ids of host, device, server and workload, and the comparability key.
Key = tuple[int, int, int, int, str]
METRICS = ("tpmP", "p95_ms", "server_path_length")


@dataclass(frozen=True)
class Measured:
    """One config in one setup. `ratio` is of tpmP to that of the first config there."""

    config: Config
    figures: Mapping[str, Spread | None]
    ratio: Ratio | None


@dataclass(frozen=True)
class MeasuredSetup:
    """Where at least one of the configs was measured; `configs` in the order of the question."""

    host: Host
    device: Device
    server: Server
    workload: Workload
    configs: list[Measured]


@dataclass(frozen=True)
class ConfigComparison:
    """`differences`: by knob its value in each config, None where that leaves the default."""

    configs: list[Config]
    differences: Mapping[str, list[str | None]]
    setups: list[MeasuredSetup]


def differing_knobs(knobs: Sequence[Mapping[str, str]]) -> dict[str, list[str | None]]:
    """The knobs that are not the same in all, by name."""
    names = sorted({name for one in knobs for name in one})
    values = {name: [one.get(name) for one in knobs] for name in names}
    return {name: there for name, there in values.items() if len(set(there)) > 1}


def compare_configs(configs: Sequence[Config]) -> ConfigComparison:
    """The configs with all their successful runs, setups with most configs first."""
    rows = (
        Run.objects.filter(
            config__in=configs,
            state=RunState.OK,
            disturbances=[],
            slot__purpose__in=RANKED_PURPOSES,
            tpmP__isnull=False,
        )
        .order_by("pk")
        .values(
            "comparability_key",
            "config_id",
            "host_id",
            "device_id",
            "server_id",
            "workload_id",
            *METRICS,
        )
    )
    found: dict[Key, dict[int, list[Mapping[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        setup = (
            row["host_id"],
            row["device_id"],
            row["server_id"],
            row["workload_id"],
            row["comparability_key"],
        )
        found[setup][row["config_id"]].append(row)
    rows_of = _Rows(found)
    setups = sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))
    return ConfigComparison(
        list(configs),
        differing_knobs([one.knobs for one in configs]),
        [_setup(rows_of, key, there, configs) for key, there in setups],
    )


class _Rows:
    """The hosts, devices, servers and workloads of the setups, in a query each."""

    def __init__(self, setups: Collection[Key]) -> None:
        hosts, devices, servers, workloads, _ = zip(*setups, strict=True) if setups else [()] * 5
        self.hosts = Host.objects.defer("inventory").in_bulk(hosts)
        self.devices = Device.objects.in_bulk(devices)
        self.servers = Server.objects.in_bulk(servers)
        self.workloads = Workload.objects.in_bulk(workloads)
        Workload.objects.fetch_load_hosts(self.workloads.values())


def _setup(
    rows: _Rows,
    key: Key,
    there: Mapping[int, list[Mapping[str, Any]]],
    configs: Sequence[Config],
) -> MeasuredSetup:
    host, device, server, workload, _ = key
    figures = {
        one.pk: {name: spread(row[name] for row in there[one.pk]) for name in METRICS}
        for one in configs
        if one.pk in there
    }
    first = figures.get(configs[0].pk, {}).get("tpmP")
    return MeasuredSetup(
        rows.hosts[host],
        rows.devices[device],
        rows.servers[server],
        rows.workloads[workload],
        [
            Measured(
                one,
                figures[one.pk],
                None if one.pk == configs[0].pk else ratio(first, figures[one.pk]["tpmP"]),
            )
            for one in configs
            if one.pk in figures
        ],
    )
