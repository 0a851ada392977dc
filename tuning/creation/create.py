"""Creates studies: the only place that writes the rows of a plan."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from typing import Any

from django.db import transaction
from django.utils import timezone

from benchmarks.inventory.device_lookup import device_row
from benchmarks.models import Host, Server, Workload
from benchmarks.servers.binary import ServerBinary
from benchmarks.storage.kinds import kind_words
from tuning.configs.candidates import PlannedCandidate, applied_of
from tuning.creation.configs import PlannedConfigs, configs_of
from tuning.creation.devices import device_specs
from tuning.creation.plan import Plan, plan_of
from tuning.creation.preview import end_minutes
from tuning.models import Study, StudyGroup
from tuning.requests.device import DeviceRequest
from tuning.requests.gate import GateRequest
from tuning.requests.study import MAX_NAME, StudyRequest
from tuning.studies.events import note_request
from tuning.studies.rows import candidate_row
from tuning.studies.scheduler import advance_host
from tuning.studies.waiting import hold_in_use


def create_study(
    request: StudyRequest,
    user: Any = None,
    *,
    wake: bool = True,
    also: Callable[[Study], None] = lambda _: None,
) -> Study:
    """Check the request against what its host has, store the study and wake the host's worker.

    Without `wake` no message is sent, for a caller that starts the worker itself. `also` writes
    what belongs to the study in the same transaction; if it fails, nothing is stored.

    Raises TuningError (such as InvalidConfig) or BenchmarkError; then nothing is stored.
    """
    plan = plan_of(request)
    configs = configs_of(plan)
    return store(lambda: store_study(plan, configs, user), wake=wake, also=also)


def store(write: Callable[[], Study], *, wake: bool, also: Callable[[Study], None]) -> Study:
    """Write a study and what belongs to it in one transaction, then wake the host's worker."""
    with transaction.atomic():
        study = write()
        also(study)
        if wake:
            transaction.on_commit(lambda: advance_host(study.host_id))
    return study


def store_study(
    plan: Plan, configs: PlannedConfigs, user: Any, *, group: StudyGroup | None = None
) -> Study:
    """Write the rows of a study. To be called in a transaction.

    Raises TuningError, host_retired, if the host was retired since the plan was made.
    """
    search, request = configs.search, plan.request
    return store_plan(
        plan,
        configs.candidates,
        request,
        user,
        group=group,
        name=request.name or _name_of(plan),
        template=plan.template.name,
        races=request.races,
        confirms=request.confirms,
        ablates=request.ablates,
        crash_tests=request.recovery,
        minutes=request.budget_minutes or end_minutes(plan, configs.measured),
        search=search.as_json() if search else None,
        scale_model=plan.model.as_json() if plan.model else None,
        applied=applied_of(configs.candidates),
    )


def _name_of(plan: Plan) -> str:
    """Return a name that tells a study from others of its template."""
    kinds = dict.fromkeys(kind_words(device.data.kind) for device in plan.devices)
    where = f"{plan.situation.target}, {', '.join(kinds)}"
    return f"{plan.template.title}: {where}, {timezone.localdate()}"[:MAX_NAME]


def store_plan(
    plan: Plan,
    candidates: Iterable[PlannedCandidate],
    request: StudyRequest | GateRequest,
    user: Any,
    **columns: Any,
) -> Study:
    """Write the rows that studies and gates have in common; `columns` are columns of `Study`.

    `request` is stored as it is, but for its devices: these are named by their rows.
    """
    host, sizes, seed = plan.host, plan.sizes, plan.request.seed
    hold_in_use(host)
    devices = sorted((device_row(host, one) for one in plan.devices), key=lambda row: row.pk)
    named = [DeviceRequest(id=row.pk) for row in devices]
    by_row = {"devices": named} if isinstance(request, StudyRequest) else {"device": named[0]}
    study = Study.objects.create(
        host=host,
        server=server_row(host, plan.server),
        request=request.model_copy(update=by_row).as_json(),
        blocks=sizes.blocks,
        seed=secrets.randbelow(2**31) if seed is None else seed,
        durability=plan.request.durability,
        budget_minutes=plan.request.budget_minutes,
        memory_bytes=plan.inventory.memory_budget_bytes,
        binary_log=plan.binary_log,
        created_by=user,
        **columns,
    )
    study.devices.add(*devices)
    load: dict[str, Any] = {
        "load_host": plan.load_host,
        "driver": plan.driver.name,
        "name": sizes.workload.name,
        "warmup_s": sizes.warmup_s,
        "measure_s": sizes.measure_s,
        **sizes.workload.parameters,
    }
    for connections in sizes.connections:
        study.workloads.add(Workload.objects.get_or_create(connections=connections, **load)[0])
    for position, candidate in enumerate(candidates):
        candidate_row(study, position, candidate)
    note_request(study)
    return study


def server_row(host: Host, server: ServerBinary) -> Server:
    """Return the row of this server program."""
    row, _ = Server.objects.get_or_create(
        host=host,
        path=str(server.path),
        digest=server.digest,
        defaults={"flavour": server.flavour.value, "version": server.version_text},
    )
    return row


def request_again(study: Study) -> StudyRequest:
    """Return the stored request with a new seed; an extended study counts with its first blocks.

    Raises DeviceUnusable where another device is in the place of one of its devices now.
    """
    request = StudyRequest.model_validate(study.request | {"seed": None})
    device_specs(request.devices)
    return request
