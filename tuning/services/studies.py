"""Creates and cancels studies. Everything that can be refused is refused before a row exists."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from benchmarks.datasets.golden import DEFAULT_PAGE_SIZE, dataset_key
from benchmarks.datasets.rules import estimated_bytes, estimated_directory_bytes
from benchmarks.devices import DeviceIdentity, check_usable, identify_device
from benchmarks.drivers.select import find_driver
from benchmarks.layout import DeviceLayout
from benchmarks.models import Config, Device, Host, Run, RunState, Server, Workload
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.discovery import find_server
from benchmarks.services import heartbeat
from tuning.configs.candidates import PlannedCandidate, plan_candidates
from tuning.configs.footprint import check_memory, redo_bytes
from tuning.configs.knobs import config_hash
from tuning.configs.resources import HostResources
from tuning.configs.target import ServerTraits
from tuning.design import randomised_blocks
from tuning.errors import TuningError
from tuning.models import ACTIVE_STUDY_STATES, Candidate, Slot, Study
from tuning.services.dispatch import advance_host
from tuning.study_templates import StudyTemplate, load_template

# Room for the golden copy, the clone of the run at hand, and what a run adds to it.
COPIES_ON_DEVICE = 2.2
LARGEST = {
    "warehouses": 10_000,
    "connections": 10_000,
    "warmup_s": 86_400,
    "measure_s": 86_400,
    "blocks": 1_000,
}


class BadRequest(TuningError):
    """The request itself can't be meant: a size out of range, nothing to compare."""

    def __init__(self, message: str) -> None:
        super().__init__("bad_request", message)


@dataclass(frozen=True)
class StudyRequest:
    """What a user asks for; None means the template's or the host's own value."""

    template: str = "quick"
    name: str = ""
    device: Path | None = None
    server: Path | None = None
    driver: str = "auto"
    configs: list[tuple[str, bytes]] = field(default_factory=list)
    warehouses: int | None = None
    connections: list[int] | None = None
    warmup_s: int | None = None
    measure_s: int | None = None
    blocks: int | None = None
    seed: int | None = None


def create_study(request: StudyRequest, user: Any = None, *, wake: bool = True) -> Study:
    """Check the request against this host, store the study and wake its worker.

    Without `wake` nothing is sent: for who has yet to start the worker, which sweeps at its start.

    Raises TuningError (InvalidConfig among them) or BenchmarkError; then nothing is stored.
    """
    template = load_template(request.template)
    sizes = _sizes(request, template)
    driver = find_driver(request.driver)
    binary = find_server(request.server, settings.BROUGHT_SERVERS_DIR)
    identity = _usable_device(request.device)
    needed = _needed_bytes(binary, identity.path, sizes["warehouses"])
    check_usable(identity.path, needed)
    planned = plan_candidates(
        template,
        request.configs,
        ServerTraits(flavour=binary.flavour, version=binary.version),
        resources=_resources(sizes["warehouses"]),
    )
    if len(planned) < 2:
        raise BadRequest(f"template {template.name!r} needs a config of yours to compare with")
    check_memory(planned, psutil.virtual_memory().total)
    check_usable(identity.path, needed + redo_bytes(planned))
    with transaction.atomic():
        host, _ = Host.objects.get_or_create(name=settings.HOST_NAME)
        study = Study.objects.create(
            name=request.name or template.title,
            template=template.name,
            host=host,
            server=_server_row(host, binary),
            blocks=sizes["blocks"],
            seed=secrets.randbelow(2**31) if request.seed is None else request.seed,
            created_by=user,
        )
        device = _device_row(host, identity)
        study.devices.add(device)
        workloads = [
            Workload.objects.get_or_create(
                driver=driver.name,
                warehouses=sizes["warehouses"],
                connections=connections,
                warmup_s=sizes["warmup_s"],
                measure_s=sizes["measure_s"],
            )[0]
            for connections in sizes["connections"]
        ]
        study.workloads.add(*workloads)
        candidates = [_candidate_row(study, n, plan) for n, plan in enumerate(planned)]
        _lay_out(study, candidates, device, workloads)
        if wake:
            transaction.on_commit(lambda: advance_host(host.pk))
    return study


def cancel_study(study: Study) -> None:
    """Ask the study to end: what runs now stops within seconds, what is queued never starts."""
    Study.objects.filter(pk=study.pk, state__in=ACTIVE_STUDY_STATES).update(
        stop_request=heartbeat.CANCELLED
    )
    # The queued ones first: what is claimed a moment before is running when we come to those.
    Run.objects.filter(slot__study=study, state=RunState.QUEUED).update(
        state=RunState.CANCELLED, finished_at=timezone.now(), reason="cancelled by the user"
    )
    Run.objects.filter(slot__study=study, state=RunState.RUNNING).update(
        stop_request=heartbeat.CANCELLED
    )
    advance_host(study.host_id)


def _sizes(request: StudyRequest, template: StudyTemplate) -> dict[str, Any]:
    sizes: dict[str, Any] = {
        name: getattr(template, name) if getattr(request, name) is None else getattr(request, name)
        for name in LARGEST
    }
    smallest = {"warmup_s": 0}
    for name, largest in LARGEST.items():
        values = sizes[name] if name == "connections" else [sizes[name]]
        low = smallest.get(name, 1)
        if not values or any(not low <= value <= largest for value in values):
            raise BadRequest(f"{name} must be between {low} and {largest}")
    if len(set(sizes["connections"])) != len(sizes["connections"]):
        raise BadRequest("connections names the same number twice")
    return sizes


def _resources(warehouses: int) -> HostResources:
    """This host's, with the CPUs that this process may use: what a container is given."""
    return HostResources(
        memory_bytes=psutil.virtual_memory().total,
        logical_cpus=len(os.sched_getaffinity(0)),
        data_bytes=estimated_bytes(warehouses),
    )


def _usable_device(named: Path | None) -> DeviceIdentity:
    if named is None:
        named = settings.DEFAULT_DEVICE
        named.mkdir(parents=True, exist_ok=True)
        named.chmod(0o755)  # whatever the umask: the server's user has to pass through
    path = named.expanduser().absolute()
    check_usable(path, 0)
    return identify_device(path)


def _needed_bytes(binary: ServerBinary, device: Path, warehouses: int) -> int:
    """Free space for the runs, and for the golden copy where there is none yet."""
    key = dataset_key(binary, warehouses, DEFAULT_PAGE_SIZE)
    is_loaded = (DeviceLayout(device).root / "datasets" / key).exists()
    copies = COPIES_ON_DEVICE - 1 if is_loaded else COPIES_ON_DEVICE
    return int(estimated_directory_bytes(warehouses) * copies)


def _device_row(host: Host, identity: DeviceIdentity) -> Device:
    device, _ = Device.objects.update_or_create(
        host=host,
        data_dir=str(identity.path),
        log_dir="",
        defaults={
            "kind": identity.kind,
            "block_device": identity.block_device or "",
            "model": identity.model,
            "file_system": identity.file_system,
            "scheduler": identity.scheduler,
        },
    )
    return device


def _server_row(host: Host, binary: ServerBinary) -> Server:
    server, _ = Server.objects.get_or_create(
        host=host,
        path=str(binary.path),
        digest=binary.digest,
        defaults={"flavour": binary.flavour.value, "version": binary.version_text},
    )
    return server


def _candidate_row(study: Study, position: int, plan: PlannedCandidate) -> Candidate:
    config, _ = Config.objects.get_or_create(
        hash=config_hash(plan.knobs), defaults={"knobs": dict(plan.knobs)}
    )
    return Candidate.objects.create(
        study=study,
        name=plan.name,
        config=config,
        is_baseline=plan.is_baseline,
        position=position,
        source=plan.source,
        notes=[
            {"name": note.name, "action": str(note.action), "detail": note.detail}
            for note in plan.notes
        ],
    )


def _lay_out(
    study: Study, candidates: list[Candidate], device: Device, workloads: list[Workload]
) -> None:
    """One slot and one queued run per block, workload and candidate, in the order they run."""
    order = 0
    for number, workload in enumerate(workloads):
        blocks = randomised_blocks(len(candidates), study.blocks, study.seed + number)
        for block, places in enumerate(blocks, start=1):
            for place in places:
                order += 1
                candidate = candidates[place]
                Slot.objects.create(
                    study=study,
                    candidate=candidate,
                    device=device,
                    workload=workload,
                    block=block,
                    order=order,
                    run=Run.objects.create(
                        host=study.host,
                        device=device,
                        server=study.server,
                        workload=workload,
                        config=candidate.config,
                        seed=study.seed + order,
                    ),
                )
