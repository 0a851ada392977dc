"""The plan of a study or gate: what will be measured, on which host, server and devices.

`plan_of` is the only way from a request to a plan. It reads rows of the host, no machine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from benchmarks.drivers.workloads import OLTP_DRIVER, TPCC
from benchmarks.errors import about
from benchmarks.inventory.device_lookup import FoundDevice
from benchmarks.inventory.host import FoundDriver, HostInventory
from benchmarks.inventory.stored import inventory_of
from benchmarks.models import BinaryLog, Host
from benchmarks.servers.binary import ServerBinary
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import PlannedCandidate
from tuning.configs.situation import Situation
from tuning.creation.device_facts import FreeSpace, device_facts, redo_bytes_per_hour, space_on
from tuning.creation.devices import device_specs, find_devices, room_for_pool
from tuning.creation.hosts import driver_for, host_for, load_host_for, server_for
from tuning.creation.real_server import RealServer, binary_log_of, with_profile
from tuning.creation.sizes import model_of, sizes_of
from tuning.errors import BadRequest
from tuning.proposals.rules import plan_proposals, rule_sets
from tuning.requests.fields import given
from tuning.requests.load import Sizes
from tuning.requests.search import SearchRequest
from tuning.requests.study import StudyRequest
from tuning.scale_model.model import ScaleModel
from tuning.strategy.search.plan import PREFIX
from tuning.studies.host_resources import facts_of_host, resources_of
from tuning.studies.waiting import check_not_retired
from tuning.study_templates.loader import StudyTemplate, load_template

_USUAL_SEARCH_MINUTES = 45


@dataclass(frozen=True)
class Plan:
    """A request with all that its host decides.

    request: every field is filled in, so that it asks for the same study whatever the template and
    the host say by then; its devices are as they were asked for.
    load_host: the host that drives the server; None where the driver runs beside it.
    other_server: that of a gate's candidate; None if it is `server`.
    binary_log: whether every run writes one.
    real: what the profile of the real server adds to the request.
    """

    request: StudyRequest
    template: StudyTemplate
    host: Host
    inventory: HostInventory
    sizes: Sizes
    load_host: Host | None
    driver: FoundDriver
    server: ServerBinary
    other_server: ServerBinary | None
    model: ScaleModel | None
    devices: list[FoundDevice]
    free_space: FreeSpace
    binary_log: BinaryLog
    real: RealServer | None

    @property
    def baseline(self) -> str:
        """The name of the user's config that is the baseline; "" for the template's."""
        return self.real.name if self.real else self.request.baseline

    @property
    def rankings(self) -> int:
        """The number of rankings: one for each device and number of connections."""
        return len(self.devices) * len(self.sizes.connections)

    @cached_property
    def situation(self) -> Situation:
        """The situation of all configs, with the least memory of the devices.

        It has what probes and earlier runs found on the devices.
        """
        target, host = ServerTraits.of(self.server), self.inventory.name
        limits = [one.memory_bytes for one in self.devices if one.memory_bytes is not None]
        limit = min(limits, default=None)
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
            resources_of(self.inventory, self.sizes.source.data_bytes, for_pool),
            replace(
                facts,
                binary_log=self.binary_log.is_on,
                server_options=self.inventory.options_of(self.server),
            ),
            device_facts(host, self.devices, free_bytes=self.free_space.left_bytes),
            redo_bytes_per_hour(host, self.devices, target.flavour, self.sizes.workload),
            allowed=self.request.allow,
            durability=self.request.durability,
        )


def plan_of(request: StudyRequest, *, other_server: Path | None = None) -> Plan:
    """Look up in the host's inventory what the request names, or what is usual.

    `other_server`: the program of a gate's candidate. Raises BadRequest or BenchmarkError for what
    the host does not have or cannot measure, and TuningError, host_retired.
    """
    template = load_template(request.template)
    request = _with_design(request, template)
    request, real = with_profile(request, template)
    specs = device_specs(request.devices)
    host = host_for(request.host, specs)
    check_not_retired(host)
    inventory = inventory_of(host)
    load_host = load_host_for(request.load_host, inventory)
    server = server_for(request.server, inventory, like=real.profile.target if real else None)
    with about("candidate.server"):
        other = inventory.server(other_server) if other_server else server
    driver = driver_for(request.driver, inventory, load_host)
    sizes, real = sizes_of(request, template, inventory, real)
    model = model_of(inventory, request, specs, sizes, server.flavour)
    devices = find_devices(specs, inventory, sizes.source.data_bytes, server.flavour, model)
    filled_in = {
        "host": host.name,
        "server": server.path,
        "driver": driver.name,
        "load_host": load_host.name if load_host else "",
        **sizes.workload.parameters,
        "connections": list(sizes.connections),
        "warmup_s": sizes.warmup_s,
        "measure_s": sizes.measure_s,
        "blocks": None if request.search else sizes.blocks,
    }
    plan = Plan(
        request=request.model_copy(update=filled_in),
        template=template,
        host=host,
        inventory=inventory,
        sizes=sizes,
        load_host=load_host,
        driver=driver,
        server=server,
        other_server=None if other == server else other,
        model=model,
        devices=devices,
        free_space=space_on(inventory, [server, other], devices, sizes.source),
        binary_log=binary_log_of(request, real, ServerTraits.of(server)),
        real=real,
    )
    if model and not model.limits_memory and plan.situation.host.direct_io is False:
        raise BadRequest(
            "a scale model needs control groups that limit memory (docs/how-to/emulation.md) or "
            "a file system with direct I/O, and this host has neither for these devices",
            field="memory",
        )
    return plan


def _with_design(request: StudyRequest, template: StudyTemplate) -> StudyRequest:
    """Return the request with how it compares configs; a search races and confirms its finds.

    Raises BadRequest for requests that contradict themselves or the template.
    """
    is_tpcc = request.workload == TPCC
    if template.repeats and not is_tpcc:
        reason = f"template {template.name!r} repeats published measurements of TPC-C"
        raise BadRequest(f"{reason}: choose tpcc or another template", field="workload")
    search = request.search or (SearchRequest() if template.searches else None)
    searches = search is not None
    if search is not None:
        _check_search(request, search, template)
    confirms = searches or given(request.confirms, template.confirms)
    if request.ablates and not confirms:
        reason = "only a winner that was confirmed can be tested line by line: confirm the winner"
        raise BadRequest(reason, field="ablates")
    minutes = request.budget_minutes
    if searches:
        minutes = minutes or template.budget_minutes or _USUAL_SEARCH_MINUTES
    return request.model_copy(
        update={
            "driver": request.driver if is_tpcc else OLTP_DRIVER,
            "search": search,
            "races": searches or given(request.races, template.races),
            "confirms": confirms,
            "ablates": confirms and given(request.ablates, searches or template.ablates),
            "recovery": given(request.recovery, searches),
            "keeps_duplicates": request.keeps_duplicates or template.copies_of_baseline > 0,
            "budget_minutes": minutes,
            "durability": max(request.durability, template.durability),
        }
    )


def _check_search(request: StudyRequest, search: SearchRequest, template: StudyTemplate) -> None:
    """Raise BadRequest for a request that does not go with its search."""
    taken = [one.name for one in request.configs if one.name.startswith(PREFIX)]
    unproven = "a search must race and confirm its finds, because their figures are too high"
    needed = template.durability
    refusals = [
        (
            search.aim.max_recovery_s is not None and request.recovery is False,
            "recovery",
            "a limit of crash recovery cannot be kept without crash tests",
        ),
        (request.keeps_duplicates, "keeps_duplicates", "a search learns nothing from duplicates"),
        (
            needed > request.durability,
            "template",
            f"template {template.name!r} has candidates of durability {needed}: a search that "
            f"begins with them needs durability {needed}, not {request.durability}",
        ),
        (len(request.devices) > 1, "devices", "a search is for one device"),
        (request.blocks is not None, "blocks", "a search ends by its minutes, not by blocks"),
        (request.races is False, "races", unproven),
        (request.confirms is False, "confirms", unproven),
        (
            bool(taken),
            "configs",
            f"{', '.join(taken)}: names with {PREFIX!r} are those of the search itself",
        ),
    ]
    for is_refused, field, reason in refusals:
        if is_refused:
            raise BadRequest(reason, field=field)


def proposals_of(plan: Plan) -> list[PlannedCandidate]:
    """Return the config that each set of published rules proposes for the plan."""
    return list(plan_proposals(rule_sets(), plan.situation).values())
