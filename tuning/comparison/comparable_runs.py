"""Finished runs that are comparable although they ran on different devices.

`Run.comparability_key` separates runs that differ in anything, including the device. In a run_set
only the device may differ: the host and its configuration, server, driver, dataset, binary log and
times are the same. A search's screening runs are not among them: the best of many is partly luck.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Max, QuerySet
from django.db.models.fields.json import KT

from benchmarks.measurement.fingerprint import comparable_facts
from benchmarks.models import Host, Run, RunState, Server
from tuning.models import SlotPurpose

# Prefixes of the parts of a run's fingerprint that are about its devices and their limits.
OF_THE_DEVICE = ("data_", "log_", "emulation")

# Fields of Run that are the same in all runs of a run_set.
_SHARED = (
    "host_id",
    "server__digest",
    "workload__driver",
    "workload__warehouses",
    "workload__warmup_s",
    "workload__measure_s",
    "driver_version",
)

# Selected from the server's variables, some 20 KB per run; as text, whatever their JSON type.
_OF_THE_VARIABLES = {name: KT(f"variables__{name}") for name in ("log_bin", "innodb_page_size")}


@dataclass(frozen=True)
class RunSet:
    """Runs that are comparable across devices.

    key: its name in URLs. load_host: the host that runs the driver, None beside the server.
    facts: the host's fingerprint, the binary log and the page size.
    shared: fields of Run and their values; they and `comparability_keys` select its runs.
    """

    key: str
    host: Host
    server: Server
    driver: str
    load_host: Host | None
    warehouses: int
    warmup_s: int
    measure_s: int
    facts: Mapping[str, str]
    shared: Mapping[str, Any]
    comparability_keys: frozenset[str]
    device_ids: frozenset[int]
    run_count: int
    newest_run: int

    def ok_runs(self) -> QuerySet[Run]:
        """Its successful runs, without those that were replaced by a newer run."""
        return _of_blocks_and_pairs().filter(
            **self.shared, comparability_key__in=self.comparability_keys
        )


def run_sets() -> list[RunSet]:
    """All run sets, newest first."""
    groups = list(
        _of_blocks_and_pairs()
        .values(*_SHARED, "device_id", "comparability_key")
        .annotate(count=Count("pk"), newest=Max("pk"))
        .order_by()
    )
    facts = _facts_by_key(groups)
    together = defaultdict(list)
    for group in groups:
        shared = [group[name] for name in _SHARED]
        text = json.dumps([shared, facts[group["comparability_key"]]], sort_keys=True)
        together[hashlib.sha256(text.encode()).hexdigest()[:12]].append(group)
    newest = (
        Run.objects.select_related("host", "server", "workload__load_host")
        .only("host", "server", "workload")
        .in_bulk([max(group["newest"] for group in parts) for parts in together.values()])
    )
    found = [_run_set(key, parts, newest, facts) for key, parts in together.items()]
    return sorted(found, key=lambda run_set: run_set.newest_run, reverse=True)


def chosen_run_set(found: Sequence[RunSet], key: str) -> RunSet | None:
    """The one with that key; else the newest with at least two devices, else the newest."""
    by_key = {run_set.key: run_set for run_set in found}
    with_two = (run_set for run_set in found if len(run_set.device_ids) > 1)
    return by_key.get(key) or next(with_two, found[0] if found else None)


def labels(found: Sequence[RunSet]) -> dict[str, str]:
    """A label for each run_set by key; those that would look the same name what differs.

    Where there are several hosts each names its own.
    """
    several = len({run_set.host.pk for run_set in found}) > 1
    texts = {
        run_set.key: f"{run_set.host}: {_text(run_set)}" if several else _text(run_set)
        for run_set in found
    }
    found_labels = {}
    for run_set in found:
        alike = [other for other in found if texts[other.key] == texts[run_set.key]]
        differing = [
            f"{name.replace('_', ' ')} {value}"
            for name, value in run_set.facts.items()
            if name != "load_host"  # a number; the text has its name
            and any(other.facts.get(name) != value for other in alike)
        ]
        found_labels[run_set.key] = ", ".join([texts[run_set.key], *differing])
    return found_labels


def _of_blocks_and_pairs() -> QuerySet[Run]:
    """Successful runs that were not replaced by a newer run, without those of a screening.

    Pairs that were longer than the blocks of their study are not comparable with these.
    """
    found = Run.objects.filter(state=RunState.OK, tpmP__gt=0, workload=F("slot__workload"))
    return found.exclude(slot__purpose__in=(SlotPurpose.SEARCH, SlotPurpose.APART))


def _text(run_set: RunSet) -> str:
    plural = "" if run_set.warehouses == 1 else "s"
    parts = [
        str(run_set.server),
        f"{run_set.driver}{f' on {run_set.load_host}' if run_set.load_host else ''}",
        f"{run_set.warehouses} warehouse{plural}",
        f"{run_set.warmup_s} s warm-up, {run_set.measure_s} s measured",
    ]
    return ", ".join(parts)


def _run_set(
    key: str,
    groups: list[dict[str, Any]],
    newest: Mapping[int, Run],
    facts: Mapping[str, Mapping[str, str]],
) -> RunSet:
    last = max(groups, key=lambda group: group["newest"])
    run = newest[last["newest"]]
    return RunSet(
        key=key,
        host=run.host,
        server=run.server,
        driver=last["workload__driver"],
        load_host=run.workload.load_host,
        warehouses=last["workload__warehouses"],
        warmup_s=last["workload__warmup_s"],
        measure_s=last["workload__measure_s"],
        facts={**facts[last["comparability_key"]], "driver_version": last["driver_version"]},
        shared={name: last[name] for name in _SHARED},
        comparability_keys=frozenset(group["comparability_key"] for group in groups),
        device_ids=frozenset(group["device_id"] for group in groups),
        run_count=sum(group["count"] for group in groups),
        newest_run=run.pk,
    )


def _facts_by_key(groups: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """By comparability key what its runs share besides the device, taken from one of them."""
    examples = {group["comparability_key"]: group["newest"] for group in groups}
    return {
        key: _facts(fingerprint, variables)
        for key, fingerprint, *variables in Run.objects.filter(
            pk__in=examples.values()
        ).values_list("comparability_key", "fingerprint", *_OF_THE_VARIABLES.values())
    }


def _facts(fingerprint: Mapping[str, str], variables: Iterable[str | None]) -> dict[str, str]:
    of_the_host = {
        name: value
        for name, value in comparable_facts(fingerprint).items()
        if not name.startswith(OF_THE_DEVICE)
    }
    pairs = zip(_OF_THE_VARIABLES, variables, strict=True)
    return of_the_host | {name: "unknown" if value is None else value for name, value in pairs}
