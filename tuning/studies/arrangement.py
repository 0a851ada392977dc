"""With what a study is going to be measured: driver, server and devices, as its host has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchmarks.errors import about
from benchmarks.inventory.device_lookup import FoundDevice
from benchmarks.inventory.host import FoundDriver, HostInventory
from benchmarks.inventory.stored import inventory_of
from benchmarks.models import Host
from benchmarks.servers.binary import ServerBinary
from tuning.configs.candidates import PlannedCandidate
from tuning.configs.situation import Situation
from tuning.proposals.plan import plan_proposals
from tuning.proposals.rules import rule_sets
from tuning.requests.sizes import Sizes, sizes_of
from tuning.requests.study import StudyRequest
from tuning.scale_model.model import ScaleModel
from tuning.studies.earlier_studies import SearchConditions
from tuning.studies.host_checks import check_not_retired
from tuning.studies.hosts import host_for
from tuning.studies.load_hosts import driver_for, load_hosts_for
from tuning.studies.modelling import check_direct_io, model_of
from tuning.studies.named_devices import device_specs, find_devices
from tuning.studies.room import check_room
from tuning.studies.situation import facts_of, redo_bytes_per_hour, situation_on
from tuning.study_templates.loader import StudyTemplate, load_template


@dataclass(frozen=True)
class Arrangement:
    """What a request comes to on its host. `load_hosts` drive it; none: beside the server.

    `room`: bytes left beside all data, of `check_room`. `situation` is that of the candidates.
    """

    template: StudyTemplate
    host: Host
    inventory: HostInventory
    sizes: Sizes
    load_hosts: list[Host]
    driver: FoundDriver
    binary: ServerBinary
    model: ScaleModel | None
    devices: list[FoundDevice]
    room: int
    situation: Situation

    @property
    def measured_before(self) -> Situation:
        """The situation with what probes and runs of its devices found there before."""
        return replace(
            self.situation,
            device=facts_of(self.inventory.name, self.devices, free_bytes=self.room),
            redo_bytes_per_hour=redo_bytes_per_hour(
                self.inventory.name, self.devices, self.binary.flavour, self.sizes.warehouses
            ),
        )

    def search_conditions(self, baseline: Mapping[str, str]) -> SearchConditions:
        """Where a search would measure, whose baseline sets those knobs."""
        return SearchConditions(
            self.inventory,
            self.devices[0],
            self.situation.target,
            self.driver.name,
            self.sizes,
            self.model is not None,
            baseline,
            tuple(host.name for host in self.load_hosts),
        )


def arrange(request: StudyRequest) -> Arrangement:
    """Look up in the host's inventory what the request names, or the usual.

    Raises BadRequest or BenchmarkError for what the host does not have or cannot measure, and
    TuningError, host_retired.
    """
    template = load_template(request.template)
    specs = device_specs(request.devices)
    host = host_for(request.host, specs)
    check_not_retired(host)
    inventory = inventory_of(host)
    sizes = sizes_of(request, template, inventory.logical_cpus)
    load_hosts = load_hosts_for(request.load_hosts, host, sizes.connections)
    driver = driver_for(request.driver, inventory, load_hosts)
    with about("server"):
        binary = inventory.server(request.server)
    model = model_of(inventory, request, specs, sizes, binary.flavour)
    devices = find_devices(specs, inventory, sizes.warehouses, binary.flavour, model)
    room = check_room(inventory, binary, devices, sizes.warehouses)
    situation = situation_on(inventory, request, template, sizes, binary, devices, room, model)
    check_direct_io(model, situation)
    return Arrangement(
        template,
        host,
        inventory,
        sizes,
        load_hosts,
        driver,
        binary,
        model,
        devices,
        room,
        situation,
    )


def proposals_here(request: StudyRequest) -> list[PlannedCandidate]:
    """Return each set's config for what the request names; nothing is stored or measured.

    Raises TuningError or BenchmarkError as creating the study would.
    """
    return list(plan_proposals(rule_sets(), arrange(request).measured_before).values())
