"""The rows of a new study: what it is about, its candidates and the order of their runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from django.db.models import Max

from benchmarks.models import Config, Device, Host, Run, Server, Workload
from benchmarks.servers.binary import ServerBinary
from tuning.configs.candidates import PlannedCandidate
from tuning.configs.effective.durability import durability_of
from tuning.configs.knobs import config_hash
from tuning.models import Candidate, DurabilityClass, Slot, SlotPurpose, Study
from tuning.results.evidence import traits_of
from tuning.studies.request import Sizes


def server_row(host: Host, binary: ServerBinary) -> Server:
    """The row of this server program."""
    server, _ = Server.objects.get_or_create(
        host=host,
        path=str(binary.path),
        digest=binary.digest,
        defaults={"flavour": binary.flavour.value, "version": binary.version_text},
    )
    return server


def workload_row(driver: str, sizes: Sizes, connections: int) -> Workload:
    """The row of this workload, which studies share."""
    workload, _ = Workload.objects.get_or_create(
        driver=driver,
        warehouses=sizes.warehouses,
        connections=connections,
        warmup_s=sizes.warmup_s,
        measure_s=sizes.measure_s,
    )
    return workload


def candidate_row(study: Study, position: int, plan: PlannedCandidate) -> Candidate:
    """A candidate as planned; identical sets of knobs share one Config."""
    config, _ = Config.objects.get_or_create(
        hash=config_hash(plan.knobs), defaults={"knobs": dict(plan.knobs)}
    )
    return Candidate.objects.create(
        study=study,
        name=plan.name,
        config=config,
        is_baseline=plan.is_baseline,
        position=position,
        durability=DurabilityClass(durability_of(plan.knobs, traits_of(study.server))),
        source=plan.source,
        notes=[
            {"name": note.name, "action": str(note.action), "detail": note.detail}
            for note in plan.notes
        ],
        lines=[asdict(line) for line in plan.lines],
        checks=[stage.document() for stage in plan.checks],
        refusal=plan.left_out,
        logs_with_data=plan.logs_with_data,
    )


def add_slots(
    study: Study,
    device: Device,
    workload: Workload,
    block: int,
    runs: Sequence[tuple[Candidate, int]],
    *,
    purpose: SlotPurpose = SlotPurpose.BLOCK,
) -> None:
    """Queue the runs of one block, (candidate, twin) in their order, behind all others.

    Raises IntegrityError when somebody else queued some at the same moment.
    """
    order = study.slots.aggregate(last=Max("order"))["last"] or 0
    for place, (candidate, twin) in enumerate(runs, start=order + 1):
        Slot.objects.create(
            study=study,
            candidate=candidate,
            device=device,
            workload=workload,
            block=block,
            purpose=purpose,
            twin=twin,
            order=place,
            run=Run.objects.create(
                host=study.host,
                device=device,
                server=study.server,
                workload=workload,
                config=candidate.config,
                seed=study.seed + place,
                logs_with_data=candidate.logs_with_data,
            ),
        )
