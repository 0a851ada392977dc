"""Which config stands for a device in a comparison: one by name, or the best so far."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef

from benchmarks.models import Config, Run
from tuning.comparison.comparable_runs import Family
from tuning.models import DurabilityClass, Recommendation, StudyState
from tuning.statistics.ratios import Spread, spread
from tuning.strategy.racing import FAULTS

_WITH_DATA = ".logs-with-data"

Row = Mapping[str, Any]
Place = tuple[int, int]  # device's id, connections


class Arm(NamedTuple):
    """What was measured: a config, and whether it left the redo log with the data."""

    config_id: int
    logs_with_data: bool


@dataclass(frozen=True)
class ConfigChoice:
    """A config that could stand for the devices; `token` is its name in addresses."""

    arm: Arm
    token: str
    name: str
    durability: DurabilityClass
    devices: int


def place_of(row: Row) -> Place:
    """Where a run was measured."""
    return row["device_id"], row["workload__connections"]


def arm_of(row: Row) -> Arm:
    """What a run measured."""
    return Arm(row["config_id"], row["logs_with_data"])


def config_choices(rows: Sequence[Row]) -> list[ConfigChoice]:
    """The configs that were measured, those on the most devices first."""
    names = arm_names(rows)
    newest = {arm_of(row): row for row in rows}
    devices = Counter(arm for arm, _ in {(arm_of(row), row["device_id"]) for row in rows})
    hashes = dict(
        Config.objects.filter(pk__in={arm.config_id for arm in newest}).values_list("pk", "hash")
    )
    found = [
        ConfigChoice(
            arm=arm,
            token=hashes[arm.config_id][:12] + (_WITH_DATA if arm.logs_with_data else ""),
            name=names[arm],
            durability=DurabilityClass(row["slot__candidate__durability"]),
            devices=devices[arm],
        )
        for arm, row in newest.items()
    ]
    return sorted(found, key=lambda one: (-one.devices, one.durability, one.name))


def arm_names(rows: Iterable[Row]) -> dict[Arm, str]:
    """One config may have had several names: the one with the most runs, of these the shortest."""
    names: dict[Arm, Counter[str]] = defaultdict(Counter)
    for row in rows:
        names[arm_of(row)][row["slot__candidate__name"]] += 1
    return {
        arm: min(count, key=lambda name: (-count[name], len(name), name))
        for arm, count in names.items()
    }


def recommended_arms(family: Family) -> Mapping[Place, set[Arm]]:
    """The D0 configs that finished studies recommend by runs of the family."""
    found: dict[Place, set[Arm]] = defaultdict(set)
    there = family.ok_runs().filter(
        slot__study=OuterRef("study"),
        slot__candidate=OuterRef("candidate"),
        device=OuterRef("device"),
        workload=OuterRef("workload"),
    )
    for device, connections, config, with_data in Recommendation.objects.filter(
        Exists(there),
        device__in=family.device_ids,
        study__state=StudyState.FINISHED,
        durability=DurabilityClass.D0,
        candidate__durability=DurabilityClass.D0,
    ).values_list(
        "device_id",
        "workload__connections",
        "candidate__config_id",
        "candidate__logs_with_data",
    ):
        found[device, connections].add(Arm(config, with_data))
    return found


def failed_arms(family: Family) -> Mapping[Place, set[Arm]]:
    """Configs with a run that they may have broken: no advice to give, however fast others are."""
    found: dict[Place, set[Arm]] = defaultdict(set)
    for device, connections, config, with_data in (
        Run.objects.filter(
            host=family.host,
            server__digest=family.server.digest,
            device__in=family.device_ids,
            workload__driver=family.driver,
            workload__warehouses=family.warehouses,
            state__in=FAULTS,
        )
        .values_list("device_id", "workload__connections", "config_id", "logs_with_data")
        .distinct()
    ):
        found[device, connections].add(Arm(config, with_data))
    return found


def best_arms(
    measured: Mapping[Place, Mapping[Arm, list[Row]]],
    recommended: Mapping[Place, set[Arm]],
    failed: Mapping[Place, set[Arm]],
) -> dict[Place, Arm]:
    """The best so far, as `comparison.compare` says; places that have none are left out."""
    best = {
        place: _best(there, recommended.get(place, set()), failed.get(place, set()))
        for place, there in measured.items()
    }
    return {place: arm for place, arm in best.items() if arm is not None}


def _best(there: Mapping[Arm, list[Row]], recommended: set[Arm], failed: set[Arm]) -> Arm | None:
    """None where nothing of D0 ran without failing."""
    fit = {
        arm: rows
        for arm, rows in there.items()
        if arm not in failed and rows[-1]["slot__candidate__durability"] == DurabilityClass.D0
    }
    among = (
        [arm for arm in fit if arm in recommended]
        # One run may have been lucky: of many such the best one is.
        or [arm for arm, rows in fit.items() if len(rows) > 1]
        or list(fit)
    )
    medians = {arm: spread(row["tpmP"] for row in fit[arm]) for arm in among}
    return max(among, key=lambda arm: _tpmp(medians[arm]), default=None)


def _tpmp(found: Spread | None) -> float:
    return found.median if found else 0.0
