"""Sets of runs that are comparable although they ran on different devices.

`Run.comparability_key` separates runs that differ in anything, including the device. In a run set
only the device may differ: host, server, driver, workload, binary log and times are equal. A run
set over several hosts has one server version; what else the hosts differ in is stated with it.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models.fields.json import KT

from benchmarks.measurement.fingerprint import OF_THE_HOST, comparable_facts
from benchmarks.models import Host, Run, Server, Workload
from tuning.comparison.measured import RankedRun, ranked_runs

# Prefixes of the parts of a run's fingerprint that are about its devices and their limits.
_OF_THE_DEVICE = ("data_", "log_", "emulation")
# Read one by one as text: the variables of a run are some 20 KB.
_VARIABLES = {name: KT(f"variables__{name}") for name in ("log_bin", "innodb_page_size")}


@dataclass(frozen=True)
class RunSet:
    """Runs that are comparable across devices.

    key: its name in addresses. hosts: by name, mostly one. server, workload: of the newest run.
    facts: the hosts' fingerprint, the binary log and the page size, as far as they agree;
    differing: by host, where they do not. runs: oldest first.
    """

    key: str
    hosts: tuple[Host, ...]
    server: Server
    workload: Workload
    facts: Mapping[str, str]
    differing: Mapping[str, Mapping[str, str]]
    runs: Sequence[RankedRun] = field(repr=False)

    @property
    def newest(self) -> int:
        """The id of the newest run."""
        return self.runs[-1].id

    @property
    def device_ids(self) -> frozenset[int]:
        return frozenset(run.device_id for run in self.runs)

    @property
    def load_host(self) -> str:
        """The name of the host that runs the driver; "" beside the server."""
        return self.workload.load_host.name if self.workload.load_host else ""

    @property
    def hosts_text(self) -> str:
        """Return "db1", "db1 and db2" or "5 hosts"."""
        names = [host.name for host in self.hosts]
        return " and ".join(names) if len(names) < 3 else f"{len(names)} hosts"

    @property
    def text(self) -> str:
        load = self.workload
        parts = [
            str(self.server),
            f"{load.driver}{f' on {self.load_host}' if self.load_host else ''}",
            load.title,
            f"{load.warmup_s} s warm-up, {load.measure_s} s measured",
        ]
        return ", ".join(parts)


class _Alike(NamedTuple):
    """Runs with one comparability key, oldest first."""

    host: Host
    server: Server
    workload: Workload
    facts: Mapping[str, str]
    runs: list[RankedRun]

    @property
    def load(self) -> list[Any]:
        times = self.workload.warmup_s, self.workload.measure_s
        return [self.workload.driver, *self.workload.sizes.values(), *times]

    @property
    def on_its_host(self) -> Any:
        """Return the key that runs of one host share if they may be compared."""
        return [self.host.pk, self.server.digest, *self.load], self.facts

    @property
    def on_any_host(self) -> Any:
        """Return the key that runs of several hosts share if they may be compared."""
        facts = {name: text for name, text in self.facts.items() if name not in OF_THE_HOST}
        return [self.server.flavour, self.server.version, *self.load], facts


def run_sets() -> list[RunSet]:
    """Return all run sets, newest first."""
    alike: dict[tuple[int, int, int, str], list[RankedRun]] = defaultdict(list)
    for run in ranked_runs():
        alike[run.host_id, run.server_id, run.workload_id, run.comparability_key].append(run)
    hosts = Host.objects.only("name").in_bulk()
    servers = Server.objects.in_bulk({server for _, server, _, _ in alike})
    driven = Workload.objects.select_related("load_host")
    workloads = driven.in_bulk({workload for _, _, workload, _ in alike})
    facts = _facts_by_key({key: runs[-1].id for (_, _, _, key), runs in alike.items()})
    parts = [
        _Alike(hosts[host], servers[server], workloads[workload], facts[key], runs)
        for (host, server, workload, key), runs in alike.items()
    ]
    found = _joined(parts, lambda one: one.on_its_host)
    found += [one for one in _joined(parts, lambda one: one.on_any_host) if len(one.hosts) > 1]
    # A run set of one host comes before one of several hosts with the same newest run.
    return sorted(found, key=lambda one: (-one.newest, len(one.hosts)))


def _joined(parts: Iterable[_Alike], in_common: Callable[[_Alike], Any]) -> list[RunSet]:
    together: dict[str, list[_Alike]] = defaultdict(list)
    for one in parts:
        text = json.dumps(in_common(one), sort_keys=True)
        together[hashlib.sha256(text.encode()).hexdigest()[:12]].append(one)
    return [_run_set(key, alike) for key, alike in together.items()]


def _run_set(key: str, parts: Sequence[_Alike]) -> RunSet:
    last = max(parts, key=lambda one: one.runs[-1].id)
    hosts = {one.host.name: one.host for one in parts}
    differing = {}
    for name in sorted({name for one in parts for name in one.facts}):
        texts: dict[str, set[str]] = defaultdict(set)
        for one in parts:
            texts[one.host.name].add(one.facts.get(name, ""))
        if len({text for there in texts.values() for text in there}) > 1:
            differing[name] = {host: ", ".join(sorted(texts[host])) for host in sorted(hosts)}
    return RunSet(
        key=key,
        hosts=tuple(hosts[name] for name in sorted(hosts)),
        server=last.server,
        workload=last.workload,
        facts={name: text for name, text in last.facts.items() if name not in differing},
        differing=differing,
        runs=sorted((run for one in parts for run in one.runs), key=lambda run: run.id),
    )


def chosen_run_set(
    found: Sequence[RunSet], key: str, hosts: Collection[int] = ()
) -> RunSet | None:
    """Return the run set with that key; else the newest over just these hosts, if any are given.

    Else the newest with at least two devices, else the newest.
    """
    by_key = {run_set.key: run_set for run_set in found}
    over = (one for one in found if {host.pk for host in one.hosts} == set(hosts))
    with_two = (run_set for run_set in found if len(run_set.device_ids) > 1)
    return by_key.get(key) or next(over, None) or next(with_two, found[0] if found else None)


def labels(found: Sequence[RunSet]) -> dict[str, str]:
    """Return a label for each run set by key; labels that would be equal say what differs."""
    several = len({host.pk for run_set in found for host in run_set.hosts}) > 1
    texts = {one.key: f"{one.hosts_text}: {one.text}" if several else one.text for one in found}
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


def _facts_by_key(examples: Mapping[str, int]) -> dict[str, dict[str, str]]:
    """Return by comparability key what its runs share besides the device, taken from one run."""
    rows = Run.objects.filter(pk__in=examples.values()).values_list(
        "comparability_key", "driver_version", "fingerprint", *_VARIABLES.values()
    )
    found = {}
    for key, driver_version, fingerprint, *variables in rows:
        host = comparable_facts(fingerprint).items()
        known = {name: value for name, value in host if not name.startswith(_OF_THE_DEVICE)}
        pairs = zip(_VARIABLES, variables, strict=True)
        known |= {name: "unknown" if value is None else value for name, value in pairs}
        found[key] = known | {"driver_version": driver_version}
    return found
