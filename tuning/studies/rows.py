"""Rows of a study: its candidates, and its runs in their order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from django.db.models import Max

from benchmarks.models import Config, Device, Run, Server, Workload
from tuning.catalogue.target import traits_of
from tuning.configs.candidates import PlannedCandidate
from tuning.configs.price import durability_of
from tuning.configs.values import config_hash
from tuning.models import Candidate, DurabilityClass, Slot, SlotPurpose, Study
from tuning.strategy.protocol import PlannedRun
from tuning.studies.revision import bump


def _lasting(workload: Workload, measure_s: int) -> Workload:
    """Return the workload with `measure_s` seconds of measuring; 0 changes nothing."""
    if measure_s in (0, workload.measure_s):
        return workload
    row, _ = Workload.objects.get_or_create(
        load_host=workload.load_host,
        driver=workload.driver,
        **workload.sizes,
        connections=workload.connections,
        warmup_s=workload.warmup_s,
        measure_s=measure_s,
    )
    return row


def candidate_row(
    study: Study,
    position: int,
    plan: PlannedCandidate,
    *,
    found_by_search: bool = False,
    taken_from: Candidate | None = None,
    without: Collection[str] = (),
    server: Server | None = None,
) -> Candidate:
    """A candidate as planned; identical sets of knobs share one Config.

    `server`: where it is not measured on the study's.
    """
    config, _ = Config.objects.get_or_create(
        hash=config_hash(plan.knobs), defaults={"knobs": dict(plan.knobs)}
    )
    return Candidate.objects.create(
        study=study,
        name=plan.name,
        config=config,
        server=server,
        is_baseline=plan.is_baseline,
        position=position,
        durability=DurabilityClass(durability_of(plan.knobs, traits_of(server or study.server))),
        source=plan.source,
        notes=[
            {"name": note.name, "action": str(note.action), "detail": note.detail}
            for note in plan.notes
        ],
        lines=[line.document() for line in plan.lines],
        text=plan.text,
        encoding=plan.encoding,
        checks=[stage.document() for stage in plan.checks],
        refusal=plan.left_out,
        logs_with_data=plan.logs_with_data,
        found_by_search=found_by_search,
        taken_from=taken_from,
        without=sorted(without),
    )


def last_order(study: Study) -> int:
    """The order of the study's last slot; 0 before there is one."""
    return study.slots.aggregate(last=Max("order"))["last"] or 0


def queued_run(
    study: Study,
    candidate: Candidate,
    device: Device,
    workload: Workload,
    seed: int,
    retry_of: Run | None = None,
) -> Run:
    """Return a run of the candidate, which is not stored yet."""
    return Run(
        host=study.host,
        device=device,
        server=candidate.measured_on,
        workload=workload,
        config=candidate.config,
        seed=seed,
        logs_with_data=candidate.logs_with_data,
        binary_log=study.binary_log,
        applied=study.applied,
        retry_of=retry_of,
    )


def add_slots(
    study: Study,
    device: Device,
    workload: Workload,
    runs: Sequence[PlannedRun],
    candidates: Mapping[str, Candidate],
) -> None:
    """Queue planned runs of `candidates`, by name, in their order behind all others.

    What is there already stays as it is and is not queued again. The caller
    holds the study's row.
    """
    blocks = {run.block for run in runs}
    here = study.slots.filter(device=device, workload=workload, block__in=blocks)
    there = set(here.values_list("block", "candidate__name", "replicate"))
    missing = [run for run in runs if (run.block, run.candidate, run.replicate) not in there]
    slots = [
        Slot(
            study=study,
            candidate=candidate,
            device=device,
            workload=workload,
            block=planned.block,
            purpose=SlotPurpose(planned.purpose.value),
            replicate=planned.replicate,
            order=order,
            run=queued_run(
                study, candidate, device, _lasting(workload, planned.measure_s), study.seed + order
            ),
        )
        for order, planned in enumerate(missing, start=last_order(study) + 1)
        for candidate in [candidates[planned.candidate]]
    ]
    bump([study.pk])
    Run.objects.bulk_create(slot.run for slot in slots)
    Slot.objects.bulk_create(slots)
