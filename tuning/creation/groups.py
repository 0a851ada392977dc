"""Studies over several hosts: one request, a study on each host, changed together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from django.db import transaction

from benchmarks.errors import ExpectedError, about
from benchmarks.inventory.host import AUTO, HostInventory, common_drivers
from benchmarks.inventory.stored import inventory_of
from benchmarks.models import Host
from benchmarks.servers.binary import ServerBinary
from tuning.catalogue.target import ServerTraits
from tuning.creation.configs import configs_of
from tuning.creation.create import store_study
from tuning.creation.devices import device_specs
from tuning.creation.hosts import hosts_named
from tuning.creation.plan import Plan, plan_of
from tuning.errors import BadRequest, InvalidConfig, TuningError
from tuning.models import Study, StudyGroup
from tuning.requests.study import GroupRequest, StudyRequest
from tuning.studies.scheduler import advance_host
from tuning.study_templates.loader import load_template


def create_group(
    request: GroupRequest,
    user: Any = None,
    *,
    also: Callable[[StudyGroup], None] = lambda _: None,
) -> StudyGroup:
    """Create a study on each of the hosts, with the same server version, driver and data, or none.

    A host gets the devices of the request that belong to it or to no host; without any its usual
    one. Without `server` it is the first version that all hosts have. Connections that a
    template scales to the CPUs are those of the host with the fewest. Load hosts drive all of
    the studies. `also` and errors as for `create_study`.
    """
    planned = []
    for part, places in _parts(request):
        with _about_host(part.host, places):
            plan = plan_of(part)
            planned.append((plan, configs_of(plan)))
    title = request.name or load_template(request.template).title
    with transaction.atomic():
        group = StudyGroup.objects.create(name=title, created_by=user)
        for plan, configs in planned:
            store_study(plan, configs, user, group=group)
            transaction.on_commit(partial(advance_host, plan.host.pk))
        also(group)
    return group


def plans_of(request: StudyRequest | GroupRequest) -> list[Plan]:
    """Return the plan of each host. Raises like `plan_of`; for a group with the host's name."""
    if isinstance(request, StudyRequest):
        return [plan_of(request)]
    plans = []
    for part, places in _parts(request):
        with _about_host(part.host, places):
            plans.append(plan_of(part))
    return plans


def _parts(request: GroupRequest) -> list[tuple[StudyRequest, list[int]]]:
    """Return the request to each host, and the places of its devices in the whole request."""
    hosts = _hosts(request.hosts)
    owners = _owners(request)
    inventories = [inventory_of(host) for host in hosts]
    servers = _servers(inventories, request.server)
    driver = request.driver
    if driver == AUTO and not request.load_host:
        if not (common := common_drivers(inventories)):
            raise BadRequest("the hosts have no workload driver in common", field="driver")
        driver = common[0][0].name
    connections = request.connections
    if connections is None:
        template = load_template(request.template)
        connections = list(template.connections_on(min(one.logical_cpus for one in inventories)))
    parts = []
    for host, server in zip(hosts, servers, strict=True):
        places = [place for place, owner in enumerate(owners) if owner in ("", host.name)]
        part = request.on(
            host.name,
            server=server.path,
            driver=driver,
            connections=connections,
            devices=[request.devices[place] for place in places],
        )
        parts.append((part, places))
    return parts


@contextmanager
def _about_host(host: str, places: Sequence[int]) -> Iterator[None]:
    """Name the host in refusals, and the device by its place in the whole request."""

    def whole(found: re.Match[str]) -> str:
        place = int(found[1])
        return f"devices[{places[place] if place < len(places) else place}]"

    try:
        yield
    except InvalidConfig as error:
        # The versions are the same: what one host refuses may be for want of memory there.
        raise InvalidConfig(
            replace(one, reason=f"on host {host}: {one.reason}") for one in error.problems
        ) from error
    except ExpectedError as error:
        field = re.sub(r"devices\[(\d+)\]", whole, error.field)
        raise TuningError(error.code, f"host {host}: {error}", field=field) from error


def _hosts(names: Sequence[str]) -> list[Host]:
    found = {row.name: row for row in hosts_named(names)}
    if missing := [name for name in names if name not in found]:
        raise BadRequest(f"there is no host {missing[0]!r}", field="hosts")
    return [found[name] for name in names]


def _servers(inventories: Sequence[HostInventory], named: Path | None) -> list[ServerBinary]:
    """Return the program of each host, all of one version."""
    with about("server"):
        candidates = [inventories[0].server(named)] if named else inventories[0].servers
    for wanted in candidates:
        version = wanted.flavour, wanted.version_text
        alike = [
            [one for one in inventory.servers if (one.flavour, one.version_text) == version]
            for inventory in inventories
        ]
        if all(alike):  # that at the named path before others
            return [min(found, key=lambda one: one.path != named) for found in alike]
    texts = [
        f"{it.name}: {', '.join(str(ServerTraits.of(one)) for one in it.servers) or 'none'}"
        for it in inventories
    ]
    reason = f"the hosts have no server version in common ({'; '.join(texts)})"
    raise BadRequest(reason, field="server")


def _owners(request: GroupRequest) -> list[str]:
    """Return the host of each requested device; "" for a device that every host has."""
    owners = [spec.host for spec in device_specs(request.devices)]
    for index, owner in enumerate(owners):
        if owner and owner not in request.hosts:
            raise BadRequest(
                f"the device belongs to host {owner}, which is not one of the study's",
                field=f"devices[{index}]",
            )
    return owners


def hosts_of_group(group: int | None) -> set[int]:
    """Return the ids of its hosts; none of no group, or of one that is not there."""
    studies = Study.objects.exclude(group=None).filter(group=group)
    return set(studies.values_list("host", flat=True))
