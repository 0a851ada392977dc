"""Creates gates: a candidate against a baseline, each with a config and a server of its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.db import transaction

from benchmarks.errors import ExpectedError, about
from benchmarks.inventory.device_lookup import device_row
from benchmarks.models import BinaryLog, Device
from tuning.errors import BadRequest
from tuning.models import Candidate, Study
from tuning.requests.device import DeviceRequest
from tuning.requests.gate import GateRequest, GateSide
from tuning.statistics.looks import FIRST_LOOK
from tuning.strategy.gate import PAIR
from tuning.studies.arrangement import Arrangement, arrange
from tuning.studies.events import note_request
from tuning.studies.forecast import ASSUMED_OVERHEAD_S
from tuning.studies.gate_configs import both_sides
from tuning.studies.host_checks import hold_in_use
from tuning.studies.lifecycle import check_redo
from tuning.studies.named_configs import DEFAULTS
from tuning.studies.room import check_second_dataset
from tuning.studies.rows import candidate_row, server_row, workload_row
from tuning.studies.scheduler import advance_host
from tuning.studies.situation import situation_on

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
    common = request.study_request()
    with _as_in_a_gate():
        ours = arrange(common)
    host, inventory, sizes, binary = ours.host, ours.inventory, ours.sizes, ours.binary
    _check_minutes(request, sizes.warmup_s + sizes.measure_s + ASSUMED_OVERHEAD_S)
    if request.candidate.server is not None:
        with about("candidate.server"):
            binary = inventory.server(request.candidate.server)
    is_other = binary.digest != ours.binary.digest or binary.path != ours.binary.path
    theirs = ours
    if is_other:
        check_second_dataset(inventory, binary, ours.devices, sizes.warehouses, ours.room)
        here = situation_on(
            inventory, common, ours.template, sizes, binary, ours.devices, ours.room, None
        )
        theirs = replace(ours, binary=binary, situation=here)
    binary_log = BinaryLog(request.binary_log)
    ours, theirs = (_logging(one, binary_log) for one in (ours, theirs))
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
            binary_log=binary_log,
            budget_minutes=request.budget_minutes,
            gate=request.plan.as_json(),
            races=False,
            confirms=False,
            memory_bytes=inventory.memory_budget_bytes,
            created_by=user,
        )
        rows = [device_row(host, device) for device in ours.devices]
        study.devices.add(*rows)
        connections = sizes.connections[0]
        study.workloads.add(workload_row(ours.driver.name, sizes, connections, ours.load_hosts))
        other = server_row(host, binary) if is_other else None
        sides = candidate_row(study, 0, baseline), candidate_row(study, 1, candidate, server=other)
        study.request = _completed(request, ours, rows[0], sides).as_json()
        study.save(update_fields=["request"])
        note_request(study)
        return study

    return store


def _completed(
    request: GateRequest, arranged: Arrangement, device: Device, sides: Iterable[Candidate]
) -> GateRequest:
    """The request that asks for the same gate, with its configs as they were measured."""
    sizes = arranged.sizes
    baseline, candidate = (
        GateSide(
            stored=side.config.hash[:12] if side.config.knobs else DEFAULTS,
            server=Path(side.measured_on.path),
        )
        for side in sides
    )
    return request.model_copy(
        update={
            "baseline": baseline,
            "candidate": candidate,
            "host": arranged.host.name,
            "device": DeviceRequest(id=device.pk),
            "driver": arranged.driver.name,
            "load_hosts": tuple(host.name for host in arranged.load_hosts),
            "warehouses": sizes.warehouses,
            "connections": sizes.connections[0],
            "warmup_s": sizes.warmup_s,
            "measure_s": sizes.measure_s,
        }
    )


@contextmanager
def _as_in_a_gate() -> Iterator[None]:
    """Name the fields of refusals as a gate's request has them."""
    try:
        yield
    except ExpectedError as error:
        is_server = error.field == "server"
        error.field = (
            "baseline.server" if is_server else error.field.replace("devices[0]", "device")
        )
        raise


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
