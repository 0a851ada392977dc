"""The config that represents a device in a comparison: a chosen one, or the best so far."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from django.db.models import Exists, OuterRef

from benchmarks.models import Config, Run
from tuning.comparison.comparable_runs import RunGroup, RunSet, ok_runs
from tuning.models import DurabilityClass, Recommendation, StudyState
from tuning.strategy.racing import FAULTS

_WITH_DATA = ".logs-with-data"

CellKey = tuple[int, int]  # device's id, connections


class ConfigKey(NamedTuple):
    """What was measured: a config, and whether its redo log was on the data device."""

    config_id: int
    logs_with_data: bool


#: By place and config the runs that count, oldest first.
Measured = Mapping[CellKey, Mapping[ConfigKey, Sequence[RunGroup]]]


@dataclass(frozen=True)
class ConfigChoice:
    """A config that can be compared across devices; `token` is its name in URLs."""

    config_key: ConfigKey
    token: str
    name: str
    durability: DurabilityClass
    devices: int


def by_config(groups: Iterable[RunGroup]) -> Measured:
    """These by the device and number of connections, and the config that they measured."""
    found: dict[CellKey, dict[ConfigKey, list[RunGroup]]] = defaultdict(lambda: defaultdict(list))
    for group in groups:
        found[group.device_id, group.workload.connections][_config_key(group)].append(group)
    return found


def _config_key(group: RunGroup) -> ConfigKey:
    return ConfigKey(group.config_id, group.logs_with_data)


def count_of(groups: Iterable[RunGroup]) -> int:
    """How many runs they are."""
    return sum(group.count for group in groups)


def durability_of(groups: Iterable[RunGroup]) -> DurabilityClass:
    """The class of a config, as its newest run has it."""
    return DurabilityClass(max(groups, key=attrgetter("newest")).durability)


def config_choices(groups: Sequence[RunGroup]) -> list[ConfigChoice]:
    """The measured configs, those on the most devices first."""
    of_config: dict[ConfigKey, list[RunGroup]] = defaultdict(list)
    for group in groups:
        of_config[_config_key(group)].append(group)
    names = config_names(groups)
    hashes = dict(
        Config.objects.filter(pk__in={key.config_id for key in of_config}).values_list(
            "pk", "hash"
        )
    )
    found = [
        ConfigChoice(
            config_key=key,
            token=hashes[key.config_id][:12] + (_WITH_DATA if key.logs_with_data else ""),
            name=names[key],
            durability=durability_of(there),
            devices=len({group.device_id for group in there}),
        )
        for key, there in of_config.items()
    ]
    return sorted(found, key=lambda one: (-one.devices, one.durability, one.name))


def config_names(groups: Iterable[RunGroup]) -> dict[ConfigKey, str]:
    """A name per config: the one with the most runs, in a tie the shortest."""
    names: dict[ConfigKey, Counter[str]] = defaultdict(Counter)
    for group in groups:
        names[_config_key(group)][group.name] += group.count
    return {
        key: min(count, key=lambda name: (-count[name], len(name), name))
        for key, count in names.items()
    }


def recommended_configs(run_set: RunSet) -> Mapping[CellKey, set[ConfigKey]]:
    """The D0 configs that finished studies recommend on the basis of runs of the run_set."""
    found: dict[CellKey, set[ConfigKey]] = defaultdict(set)
    there = ok_runs(run_set).filter(
        slot__study=OuterRef("study"),
        slot__candidate=OuterRef("candidate"),
        device=OuterRef("device"),
        workload=OuterRef("workload"),
    )
    advised = Recommendation.objects.filter(
        Exists(there),
        device__in=run_set.device_ids,
        study__state=StudyState.FINISHED,
        durability=DurabilityClass.D0,
        candidate__durability=DurabilityClass.D0,
    )
    of_the_config = "candidate__config_id", "candidate__logs_with_data"
    rows = advised.values_list("device_id", "workload__connections", *of_the_config)
    for device, connections, config, with_data in rows:
        found[device, connections].add(ConfigKey(config, with_data))
    return found


def failed_configs(run_set: RunSet) -> Mapping[CellKey, set[ConfigKey]]:
    """Configs with a failed run that may be their fault: never the best, however fast.

    One that was measured again, because the disk was full, is not.
    """
    found: dict[CellKey, set[ConfigKey]] = defaultdict(set)
    failed = Run.objects.filter(
        host__in=run_set.hosts,
        state__in=FAULTS,
        retries=None,
        server__digest__in=run_set.digests,
        workload__driver=run_set.driver,
        workload__warehouses=run_set.warehouses,
    )
    columns = "device_id", "workload__connections", "config_id", "logs_with_data"
    for device, connections, config, with_data in failed.values_list(*columns):
        found[device, connections].add(ConfigKey(config, with_data))
    return found


def best_among(
    there: Mapping[ConfigKey, Sequence[RunGroup]],
    recommended: Collection[ConfigKey],
    failed: Collection[ConfigKey],
) -> list[ConfigKey]:
    """The configs of one place that may be its best, as `comparison.compare` defines it; none if
    no D0 config ran without failure.
    """
    fit = [
        key
        for key, groups in there.items()
        if key not in failed and durability_of(groups) == DurabilityClass.D0
    ]
    return (
        [key for key in fit if key in recommended]
        # A single run may be lucky, and the best of many single runs probably is.
        or [key for key in fit if count_of(there[key]) > 1]
        or fit
    )
