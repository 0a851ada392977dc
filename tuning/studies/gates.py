"""Creates gates: a candidate against a baseline, each with a config and a server of its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.db import transaction

from benchmarks.errors import about
from benchmarks.inventory.device_lookup import device_row
from benchmarks.inventory.stored import inventory_of
from benchmarks.models import BinaryLog
from tuning.models import Study
from tuning.statistics.looks import FIRST_LOOK
from tuning.strategy.gate import PAIR
from tuning.studies.arrangement import Arrangement, arrange
from tuning.studies.events import note_request
from tuning.studies.forecast import ASSUMED_OVERHEAD_S
from tuning.studies.gate_configs import both_sides
from tuning.studies.gate_request import GateRequest, check_request
from tuning.studies.host_checks import check_not_retired, hold_in_use
from tuning.studies.hosts import host_for
from tuning.studies.lifecycle import check_redo
from tuning.studies.request import BadRequest, sizes_of
from tuning.studies.room import check_second_dataset
from tuning.studies.rows import candidate_row, server_row, workload_row
from tuning.studies.scheduler import advance_host
from tuning.studies.situation import situation_on
from tuning.study_templates.loader import load_template

#: What stands in place of a template's name in a gate's row.
GATE = "gate"


def create_gate(
    request: GateRequest,
    user: Any = None,
    *,
    wake: bool = True,
    also: Callable[[Study], None] = lambda _: None,
) -> Study:
    """Check the request against what its host has, store the gate and wake the host's worker.

    `wake` and `also` as in `create_study`. Raises TuningError (such as InvalidConfig) or
    BenchmarkError; then nothing is stored.
    """
    store = _plan_gate(request, user)
    with transaction.atomic():
        study = store()
        also(study)
        if wake:
            transaction.on_commit(lambda: advance_host(study.host_id))
    return study


def _plan_gate(request: GateRequest, user: Any) -> Callable[[], Study]:
    check_request(request)
    asked = request.study_request()
    template = load_template(asked.template)
    host = host_for(asked.host, asked.devices)
    check_not_retired(host)
    inventory = inventory_of(host)
    sizes = sizes_of(asked, template, inventory.logical_cpus)
    sizes = replace(sizes, connections=sizes.connections[:1])
    _check_minutes(request, sizes.warmup_s + sizes.measure_s + ASSUMED_OVERHEAD_S)
    with about("baseline"):
        ours = arrange(asked, template, host, inventory, sizes)
    binary = ours.binary
    if request.candidate.server is not None:
        with about("candidate.server"):
            binary = inventory.server(request.candidate.server)
    is_other = binary.digest != ours.binary.digest or binary.path != ours.binary.path
    theirs = ours
    if is_other:
        check_second_dataset(inventory, binary, ours.devices, sizes.warehouses, ours.room)
        here = situation_on(
            inventory, asked, template, sizes, binary, ours.devices, ours.room, None
        )
        theirs = replace(ours, binary=binary, situation=here)
    ours, theirs = (_logging(one, request.binary_log) for one in (ours, theirs))
    baseline, candidate = both_sides(request, host.name, ours, theirs)
    for side, planned in ((ours, baseline), (theirs, candidate)):
        check_redo([planned], side.situation.target, side.situation.host, free=ours.room)

    def store() -> Study:
        hold_in_use(host)
        study = Study.objects.create(
            name=request.name,
            template=GATE,
            host=host,
            server=server_row(host, ours.binary),
            blocks=request.plan.max_pairs,
            seed=secrets.randbelow(2**31) if request.seed is None else request.seed,
            durability=request.durability,
            binary_log=request.binary_log,
            budget_minutes=request.budget_minutes,
            gate=request.plan.as_json(),
            races=False,
            confirms=False,
            # The same config against itself is a question as well.
            keeps_duplicates=True,
            memory_bytes=inventory.memory_budget_bytes,
            created_by=user,
        )
        study.devices.add(*(device_row(host, device) for device in ours.devices))
        connections = sizes.connections[0]
        study.workloads.add(workload_row(ours.driver.name, sizes, connections, ours.load_hosts))
        other = server_row(host, binary) if is_other else None
        candidate_row(study, 0, baseline)
        candidate_row(study, 1, candidate, server=other)
        note_request(study)
        return study

    return store


def _check_minutes(request: GateRequest, run_s: float) -> None:
    """Raises BadRequest for a budget in which nothing can be decided."""
    least = FIRST_LOOK * PAIR * run_s / 60
    if request.budget_minutes is not None and request.budget_minutes < least:
        raise BadRequest(
            f"budget_minutes {request.budget_minutes} is too little for {FIRST_LOOK} pairs, the "
            f"least that decide: they take about {least:.0f} minutes",
            field="budget_minutes",
        )


def _logging(side: Arrangement, binary_log: BinaryLog) -> Arrangement:
    """The side with what the rules across knobs have to know of its binary log."""
    here = side.situation
    facts = replace(here.host, binary_log=binary_log.is_on)
    return replace(side, situation=replace(here, host=facts))
