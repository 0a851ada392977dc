"""The plan of a study: what will be measured, on which host, server and devices.

`plan_of` is the only way from a request to a plan. It reads rows of the host, no machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from benchmarks.errors import about
from benchmarks.inventory.device_lookup import FoundDevice
from benchmarks.inventory.host import FoundDriver, HostInventory
from benchmarks.inventory.stored import inventory_of
from benchmarks.models import Host
from benchmarks.servers.binary import ServerBinary
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import PlannedCandidate
from tuning.configs.situation import DeviceFacts, Situation
from tuning.creation.device_facts import device_facts, redo_bytes_per_hour
from tuning.creation.devices import device_specs, find_devices, room_for_pool, smallest_memory
from tuning.creation.free_space import Disk, check_free_space, disks_of
from tuning.creation.hosts import driver_for, host_for, load_hosts_for
from tuning.creation.real_server import RealServer, with_profile
from tuning.creation.scale_model import check_direct_io, model_of
from tuning.errors import BadRequest
from tuning.proposals.plan import plan_proposals
from tuning.proposals.rules import rule_sets
from tuning.requests.device import DeviceRequest
from tuning.requests.fields import given
from tuning.requests.search import SearchRequest
from tuning.requests.sizes import Sizes
from tuning.requests.study import StudyRequest
from tuning.scale_model.model import ScaleModel
from tuning.studies.holds import check_not_retired
from tuning.studies.host_resources import facts_of_host, resources_of
from tuning.study_templates.loader import StudyTemplate, load_template

_USUAL_SEARCH_MINUTES = 45


@dataclass(frozen=True)
class Design:
    """How a study compares configs. The fields are columns of `Study`."""

    races: bool = False
    confirms: bool = False
    ablates: bool = False
    crash_tests: bool = False


@dataclass(frozen=True)
class Plan:
    """A request with all that its host decides.

    search: None for a study that does not search.
    load_hosts: the hosts that drive the server; none where the driver runs beside it.
    left_bytes: the free space beside all data on the fullest file system.
    real: what the profile of the real server adds to the request.
    binary_log: whether the study enables it; None leaves that to the server.
    """

    request: StudyRequest
    template: StudyTemplate
    search: SearchRequest | None
    design: Design
    host: Host
    inventory: HostInventory
    sizes: Sizes
    load_hosts: list[Host]
    driver: FoundDriver
    server: ServerBinary
    model: ScaleModel | None
    devices: list[FoundDevice]
    disks: tuple[Disk, ...]
    left_bytes: int
    real: RealServer | None = None
    binary_log: bool | None = None

    @property
    def budget_minutes(self) -> int | None:
        """The time that limits the blocks; None where their number does."""
        asked = self.request.budget_minutes
        if self.search is None:
            return asked
        return asked or self.template.budget_minutes or _USUAL_SEARCH_MINUTES

    @property
    def rankings(self) -> int:
        """The number of rankings: one for each device and number of connections."""
        return len(self.devices) * len(self.sizes.connections)

    @cached_property
    def situation(self) -> Situation:
        """The situation of all configs, with the least memory of the devices."""
        target, limit = ServerTraits.of(self.server), smallest_memory(self.devices)
        for_pool = room_for_pool(limit, self.server.flavour)
        if self.model is not None:
            for_pool = self.model.model_memory_bytes
        facts = facts_of_host(
            self.inventory,
            {device.data.path for device in self.devices},
            max(self.sizes.connections),
            limit,
            self.model,
            target,
        )
        return Situation(
            target,
            resources_of(self.inventory, self.sizes.warehouses, for_pool),
            replace(
                facts,
                binary_log=self.binary_log,
                server_options=self.inventory.options_of(self.server),
            ),
            DeviceFacts(free_bytes=self.left_bytes),
            allowed=self.request.allow,
            durability=max(self.request.durability, self.template.durability),
        )

    @cached_property
    def measured_situation(self) -> Situation:
        """The situation with what probes and earlier runs found on the devices."""
        host, flavour = self.inventory.name, self.server.flavour
        return replace(
            self.situation,
            device=device_facts(host, self.devices, free_bytes=self.left_bytes),
            redo_bytes_per_hour=redo_bytes_per_hour(
                host, self.devices, flavour, self.sizes.warehouses
            ),
        )


def plan_of(request: StudyRequest) -> Plan:
    """Look up in the host's inventory what the request names, or what is usual.

    Raises BadRequest or BenchmarkError for what the host does not have or cannot measure, and
    TuningError, host_retired.
    """
    template = load_template(request.template)
    search = request.search or (SearchRequest() if template.searches else None)
    design = design_of(request, template, search)
    specs = device_specs(request.devices)
    host = host_for(request.host, specs)
    check_not_retired(host)
    inventory = inventory_of(host)
    request, real = with_profile(request, template, inventory)
    sizes = request.sizes(template, inventory.logical_cpus)
    load_hosts = load_hosts_for(request.load_hosts, host, sizes.connections)
    driver = driver_for(request.driver, inventory, load_hosts)
    with about("server"):
        server = inventory.server(request.server)
    model = model_of(inventory, request, specs, sizes, server.flavour)
    devices = find_devices(specs, inventory, sizes.warehouses, server.flavour, model)
    disks = disks_of(inventory, server, devices, sizes.warehouses)
    plan = Plan(
        request=request,
        template=template,
        search=search,
        design=design,
        host=host,
        inventory=inventory,
        sizes=sizes,
        load_hosts=load_hosts,
        driver=driver,
        server=server,
        model=model,
        devices=devices,
        disks=disks,
        left_bytes=check_free_space(inventory, devices, disks),
        real=real,
    )
    check_direct_io(model, plan.situation)
    return plan


def common_fields(plan: Plan) -> dict[str, Any]:
    """Return the fields of a completed request that studies and gates have in common."""
    return {
        "host": plan.host.name,
        "driver": plan.driver.name,
        "load_hosts": tuple(host.name for host in plan.load_hosts),
        "warehouses": plan.sizes.warehouses,
        "warmup_s": plan.sizes.warmup_s,
        "measure_s": plan.sizes.measure_s,
    }


def completed(plan: Plan, devices: Iterable[int]) -> StudyRequest:
    """Return the request that asks for the same study, whatever template and host say by then."""
    request, sizes = plan.request, plan.sizes
    keeps_duplicates = request.keeps_duplicates or plan.template.copies_of_baseline > 0
    return request.model_copy(
        update=common_fields(plan)
        | {
            "devices": [DeviceRequest(id=pk) for pk in devices],
            "server": plan.server.path,
            "connections": list(sizes.connections),
            "blocks": None if plan.search else sizes.blocks,
            "budget_minutes": plan.budget_minutes,
            "durability": plan.situation.durability,
            "races": plan.design.races,
            "confirms": plan.design.confirms,
            "ablates": plan.design.ablates,
            "keeps_duplicates": keeps_duplicates,
            "recovery": plan.design.crash_tests,
            "search": plan.search,
        }
    )


def proposals_of(plan: Plan) -> list[PlannedCandidate]:
    """Return the config that each set of published rules proposes for the plan."""
    return list(plan_proposals(rule_sets(), plan.measured_situation).values())


def design_of(
    request: StudyRequest, template: StudyTemplate, search: SearchRequest | None
) -> Design:
    """Return the design. A search always races and confirms its finds.

    Raises BadRequest for requests that contradict themselves.
    """
    searches = search is not None
    if search is not None and search.aim.max_recovery_s is not None and request.recovery is False:
        reason = "a limit of crash recovery cannot be kept without crash tests"
        raise BadRequest(reason, field="recovery")
    if searches and request.keeps_duplicates:
        reason = "a search learns nothing from duplicates"
        raise BadRequest(reason, field="keeps_duplicates")
    confirms = searches or given(request.confirms, template.confirms)
    if request.ablates and not confirms:
        reason = "only a winner that was confirmed can be tested line by line: confirm the winner"
        raise BadRequest(reason, field="ablates")
    return Design(
        races=searches or given(request.races, template.races),
        confirms=confirms,
        ablates=confirms and given(request.ablates, searches or template.ablates),
        crash_tests=given(request.recovery, searches),
    )
