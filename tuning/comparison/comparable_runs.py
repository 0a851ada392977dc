"""Finished runs that are comparable although they ran on different devices.

`Run.comparability_key` separates runs that differ in anything, including the device. In a run_set
only the device may differ: the host and its configuration, server, driver, dataset, binary log and
times are the same. One over several hosts has those of each of them, with one server version; what
else the hosts differ in is stated with it. A search's screening runs are not among them: the best
of many is partly luck.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.db.models import Count, F, Max, Min, QuerySet
from django.db.models.fields.json import KT

from benchmarks.counted import counted
from benchmarks.measurement.fingerprint import OF_THE_HOST, comparable_facts
from benchmarks.models import Host, Run, RunState, Server, Workload
from tuning.models import SlotPurpose

# Prefixes of the parts of a run's fingerprint that are about its devices and their limits.
OF_THE_DEVICE = ("data_", "log_", "emulation")

# What the database groups years of runs by: an index has them in this order.
_ALIKE = (
    *("comparability_key", "host_id", "device_id", "server_id", "workload_id"),
    *("config_id", "logs_with_data"),
)

# Of runs that are not compared with others.
_LEFT_OUT = SlotPurpose.SEARCH, SlotPurpose.APART

# Selected from the server's variables, some 20 KB per run; as text, whatever their JSON type.
_OF_THE_VARIABLES = {name: KT(f"variables__{name}") for name in ("log_bin", "innodb_page_size")}


@dataclass(frozen=True)
class RunGroup:
    """Runs of one config under one name, on one device in one configuration of it.

    count: how many; oldest, newest: ids of runs.
    """

    host_id: int
    server: Server
    workload: Workload
    device_id: int
    comparability_key: str
    config_id: int
    logs_with_data: bool
    name: str
    durability: str
    count: int
    oldest: int
    newest: int


@dataclass(frozen=True)
class RunSet:
    """Runs that are comparable across devices.

    key: its name in URLs. hosts: by name, mostly one. load_hosts: the names of those that run the
    driver; "" beside the server. facts: the hosts' fingerprint, the binary log and the page size,
    as far as they agree; differing: by host, where they do not. groups: its runs, oldest first.
    """

    key: str
    hosts: tuple[Host, ...]
    server: Server
    digests: frozenset[str]
    driver: str
    load_hosts: str
    warehouses: int
    warmup_s: int
    measure_s: int
    facts: Mapping[str, str]
    differing: Mapping[str, Mapping[str, str]]
    device_ids: frozenset[int]
    run_count: int
    newest_run: int
    groups: Sequence[RunGroup] = field(repr=False)


def ok_runs(run_set: RunSet) -> QuerySet[Run]:
    """The successful runs of the run set, without those that were replaced by a newer run."""
    return _comparable().filter(
        host__in=run_set.hosts,
        server__in={group.server.pk for group in run_set.groups},
        workload__in={group.workload.pk for group in run_set.groups},
        comparability_key__in={group.comparability_key for group in run_set.groups},
    )


def run_sets() -> list[RunSet]:
    """All run sets, newest first."""
    there = Host.objects.only("name").in_bulk()
    groups = _groups()
    facts = _facts_by_key(groups)
    together = defaultdict(list)
    for group in groups:
        known = dict(facts[group.comparability_key])
        driver = *_load(group.workload), known.pop("driver_version")
        text = json.dumps([[group.host_id, group.server.digest, *driver], known], sort_keys=True)
        together[hashlib.sha256(text.encode()).hexdigest()[:12]].append(group)
    found = [_run_set(key, parts, there, facts) for key, parts in together.items()]
    # Of two with the same newest run that of one host goes first.
    found += _over_several_hosts(found)
    return sorted(found, key=lambda one: (-one.newest_run, len(one.hosts)))


def _groups() -> list[RunGroup]:
    """All runs that can be compared on their host, those that began first before others."""
    rows = list(
        _comparable()
        .order_by()
        .values(
            *_ALIKE, name=F("slot__candidate__name"), durability=F("slot__candidate__durability")
        )
        .annotate(count=Count("pk"), oldest=Min("pk"), newest=Max("pk"))
    )
    servers = Server.objects.in_bulk({row["server_id"] for row in rows})
    workloads = Workload.objects.in_bulk({row["workload_id"] for row in rows})
    Workload.objects.fetch_load_hosts(workloads.values())
    found = [
        RunGroup(
            server=servers[row.pop("server_id")],
            workload=workloads[row.pop("workload_id")],
            **row,
        )
        for row in rows
    ]
    return sorted(found, key=lambda group: group.oldest)


def _load(workload: Workload) -> tuple[str, int, int, int]:
    return workload.driver, workload.warehouses, workload.warmup_s, workload.measure_s


def _over_several_hosts(found: Iterable[RunSet]) -> list[RunSet]:
    """Those of different hosts that were measured alike, as one."""
    alike = defaultdict(list)
    for one in found:
        facts = {name: text for name, text in one.facts.items() if name not in OF_THE_HOST}
        traits = one.server.flavour, one.server.version
        load = one.driver, one.warehouses, one.warmup_s, one.measure_s
        alike[json.dumps([traits, load, facts], sort_keys=True)].append(one)
    return [
        _joined(key, parts)
        for key, parts in alike.items()
        if len({one.hosts[0].pk for one in parts}) > 1
    ]


def _joined(key: str, parts: Sequence[RunSet]) -> RunSet:
    last = max(parts, key=lambda one: one.newest_run)
    by_id = {one.hosts[0].pk: one.hosts[0] for one in parts}
    hosts = tuple(sorted(by_id.values(), key=lambda host: host.name))
    names = {name for one in parts for name in one.facts}
    differing = {
        name: {
            host.name: ", ".join(
                sorted({one.facts.get(name, "") for one in parts if one.hosts[0] == host})
            )
            for host in hosts
        }
        for name in sorted(names)
        if len({one.facts.get(name) for one in parts}) > 1
    }
    digests = frozenset[str]().union(*(one.digests for one in parts))
    return replace(
        last,
        key=hashlib.sha256(key.encode()).hexdigest()[:12],
        hosts=hosts,
        digests=digests,
        facts={name: text for name, text in last.facts.items() if name not in differing},
        differing=differing,
        device_ids=frozenset().union(*(one.device_ids for one in parts)),
        run_count=sum(one.run_count for one in parts),
        groups=sorted((group for one in parts for group in one.groups), key=lambda g: g.oldest),
    )


def chosen_run_set(
    found: Sequence[RunSet], key: str, hosts: Collection[int] = ()
) -> RunSet | None:
    """The one with that key; else the newest over just these hosts, if any are given; else the
    newest with at least two devices, else the newest.
    """
    by_key = {run_set.key: run_set for run_set in found}
    over = (one for one in found if {host.pk for host in one.hosts} == set(hosts))
    with_two = (run_set for run_set in found if len(run_set.device_ids) > 1)
    return by_key.get(key) or next(over, None) or next(with_two, found[0] if found else None)


def labels(found: Sequence[RunSet]) -> dict[str, str]:
    """A label for each run_set by key; those that would look the same name what differs.

    Where there are several hosts each names its own.
    """
    several = len({host.pk for run_set in found for host in run_set.hosts}) > 1
    texts = {
        run_set.key: f"{hosts_text(run_set)}: {_text(run_set)}" if several else _text(run_set)
        for run_set in found
    }
    found_labels = {}
    for run_set in found:
        alike = [other for other in found if texts[other.key] == texts[run_set.key]]
        differing = [
            f"{name.replace('_', ' ')} {value}"
            for name, value in run_set.facts.items()
            if name != "load_host"  # numbers; the text has their names
            and any(other.facts.get(name) != value for other in alike)
        ]
        found_labels[run_set.key] = ", ".join([texts[run_set.key], *differing])
    return found_labels


def hosts_text(run_set: RunSet) -> str:
    """As "db1", "db1 and db2", "5 hosts"."""
    names = [host.name for host in run_set.hosts]
    return " and ".join(names) if len(names) < 3 else f"{len(names)} hosts"


def _comparable() -> QuerySet[Run]:
    """Successful runs that were not replaced by a newer run, without those of a screening.

    Pairs that were longer than the blocks of their study are not comparable with these.
    """
    figures = Run.objects.filter(state=RunState.OK, tpmP__gt=0, workload=F("slot__workload"))
    return figures.exclude(slot__purpose__in=_LEFT_OUT)


def _text(run_set: RunSet) -> str:
    parts = [
        str(run_set.server),
        f"{run_set.driver}{f' on {run_set.load_hosts}' if run_set.load_hosts else ''}",
        counted(run_set.warehouses, "warehouse"),
        f"{run_set.warmup_s} s warm-up, {run_set.measure_s} s measured",
    ]
    return ", ".join(parts)


def _run_set(
    key: str,
    groups: list[RunGroup],
    hosts: Mapping[int, Host],
    facts: Mapping[str, Mapping[str, str]],
) -> RunSet:
    last = max(groups, key=lambda group: group.newest)
    driver, warehouses, warmup_s, measure_s = _load(last.workload)
    return RunSet(
        key=key,
        hosts=(hosts[last.host_id],),
        server=last.server,
        digests=frozenset((last.server.digest,)),
        driver=driver,
        load_hosts=last.workload.load_hosts_text,
        warehouses=warehouses,
        warmup_s=warmup_s,
        measure_s=measure_s,
        facts=facts[last.comparability_key],
        differing={},
        device_ids=frozenset(group.device_id for group in groups),
        run_count=sum(group.count for group in groups),
        newest_run=last.newest,
        groups=groups,
    )


def _facts_by_key(groups: Iterable[RunGroup]) -> dict[str, dict[str, str]]:
    """By comparability key what its runs share besides the device, taken from one of them."""
    examples = {group.comparability_key: group.newest for group in groups}
    there = Run.objects.filter(pk__in=examples.values())
    rows = there.values_list(
        "comparability_key", "driver_version", "fingerprint", *_OF_THE_VARIABLES.values()
    )
    return {key: _facts(*facts) for key, *facts in rows}


def _facts(
    driver_version: str, fingerprint: Mapping[str, str], *variables: str | None
) -> dict[str, str]:
    of_the_host = {
        name: value
        for name, value in comparable_facts(fingerprint).items()
        if not name.startswith(OF_THE_DEVICE)
    }
    pairs = zip(_OF_THE_VARIABLES, variables, strict=True)
    known = {name: "unknown" if value is None else value for name, value in pairs}
    return of_the_host | known | {"driver_version": driver_version}
