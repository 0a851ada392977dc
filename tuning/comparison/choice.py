"""The config that represents a device in a comparison: a chosen one, or the best so far."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef

from benchmarks.models import Config, Run
from tuning.comparison.comparable_runs import RunSet
from tuning.models import DurabilityClass, Recommendation, StudyState
from tuning.statistics.ratios import Spread, spread
from tuning.strategy.racing import FAULTS

_WITH_DATA = ".logs-with-data"

Row = Mapping[str, Any]
Place = tuple[int, int]  # device's id, connections


class ConfigKey(NamedTuple):
    """What was measured: a config, and whether its redo log was on the data device."""

    config_id: int
    logs_with_data: bool


@dataclass(frozen=True)
class ConfigChoice:
    """A config that can be compared across devices; `token` is its name in URLs."""

    config_key: ConfigKey
    token: str
    name: str
    durability: DurabilityClass
    devices: int


def place_of(row: Row) -> Place:
    """The device and the number of connections of a run."""
    return row["device_id"], row["workload__connections"]


def config_key_of(row: Row) -> ConfigKey:
    """The config that a run measured."""
    return ConfigKey(row["config_id"], row["logs_with_data"])


def config_choices(rows: Sequence[Row]) -> list[ConfigChoice]:
    """The measured configs, those on the most devices first."""
    names = config_names(rows)
    newest = {config_key_of(row): row for row in rows}
    devices = Counter(key for key, _ in {(config_key_of(row), row["device_id"]) for row in rows})
    hashes = dict(
        Config.objects.filter(pk__in={key.config_id for key in newest}).values_list("pk", "hash")
    )
    found = [
        ConfigChoice(
            config_key=key,
            token=hashes[key.config_id][:12] + (_WITH_DATA if key.logs_with_data else ""),
            name=names[key],
            durability=DurabilityClass(row["slot__candidate__durability"]),
            devices=devices[key],
        )
        for key, row in newest.items()
    ]
    return sorted(found, key=lambda one: (-one.devices, one.durability, one.name))


def config_names(rows: Iterable[Row]) -> dict[ConfigKey, str]:
    """A name per config: the one with the most runs, in a tie the shortest."""
    names: dict[ConfigKey, Counter[str]] = defaultdict(Counter)
    for row in rows:
        names[config_key_of(row)][row["slot__candidate__name"]] += 1
    return {
        key: min(count, key=lambda name: (-count[name], len(name), name))
        for key, count in names.items()
    }


def recommended_configs(run_set: RunSet) -> Mapping[Place, set[ConfigKey]]:
    """The D0 configs that finished studies recommend on the basis of runs of the run_set."""
    found: dict[Place, set[ConfigKey]] = defaultdict(set)
    there = run_set.ok_runs().filter(
        slot__study=OuterRef("study"),
        slot__candidate=OuterRef("candidate"),
        device=OuterRef("device"),
        workload=OuterRef("workload"),
    )
    for device, connections, config, with_data in Recommendation.objects.filter(
        Exists(there),
        device__in=run_set.device_ids,
        study__state=StudyState.FINISHED,
        durability=DurabilityClass.D0,
        candidate__durability=DurabilityClass.D0,
    ).values_list(
        "device_id",
        "workload__connections",
        "candidate__config_id",
        "candidate__logs_with_data",
    ):
        found[device, connections].add(ConfigKey(config, with_data))
    return found


def failed_configs(run_set: RunSet) -> Mapping[Place, set[ConfigKey]]:
    """Configs with a failed run that may be their fault: never the best, however fast.

    One that was measured again, because the disk was full, is not.
    """
    found: dict[Place, set[ConfigKey]] = defaultdict(set)
    for device, connections, config, with_data in (
        Run.objects.filter(
            host__in=run_set.hosts,
            server__digest__in=run_set.digests,
            device__in=run_set.device_ids,
            workload__driver=run_set.driver,
            workload__warehouses=run_set.warehouses,
            state__in=FAULTS,
            retries=None,
        )
        .values_list("device_id", "workload__connections", "config_id", "logs_with_data")
        .distinct()
    ):
        found[device, connections].add(ConfigKey(config, with_data))
    return found


def best_configs(
    measured: Mapping[Place, Mapping[ConfigKey, list[Row]]],
    recommended: Mapping[Place, set[ConfigKey]],
    failed: Mapping[Place, set[ConfigKey]],
) -> dict[Place, ConfigKey]:
    """The best so far, as `comparison.compare` defines it; places without one are left out."""
    best = {
        place: _best(there, recommended.get(place, set()), failed.get(place, set()))
        for place, there in measured.items()
    }
    return {place: key for place, key in best.items() if key is not None}


def _best(
    there: Mapping[ConfigKey, list[Row]], recommended: set[ConfigKey], failed: set[ConfigKey]
) -> ConfigKey | None:
    """The best of one place; None if no D0 config ran without failure."""
    fit = {
        key: rows
        for key, rows in there.items()
        if key not in failed and rows[-1]["slot__candidate__durability"] == DurabilityClass.D0
    }
    among = (
        [key for key in fit if key in recommended]
        # A single run may be lucky, and the best of many single runs probably is.
        or [key for key, rows in fit.items() if len(rows) > 1]
        or list(fit)
    )
    medians = {key: spread(row["tpmP"] for row in fit[key]) for key in among}
    return max(among, key=lambda key: _tpmp(medians[key]), default=None)


def _tpmp(found: Spread | None) -> float:
    return found.median if found else 0.0
