"""Creates, extends and cancels studies. A request is checked completely before a row exists."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from benchmarks.counted import counted
from benchmarks.inventory.device_lookup import FoundDevice, device_row, shares_disk
from benchmarks.jobs import heartbeat
from benchmarks.jobs.cancelling import cancel_jobs
from benchmarks.models import CrashTest, Device, Run
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import PlannedCandidate, plan_candidates
from tuning.configs.effective.host import HostFacts
from tuning.configs.effective.redo import too_large_redo
from tuning.errors import BadRequest, InvalidConfig, Problem, TuningError
from tuning.models import ACTIVE_STUDY_STATES, EventKind, SlotPurpose, Study, StudyState
from tuning.proposals.plan import plan_proposals
from tuning.requests.device import DeviceRequest
from tuning.requests.search import SearchRequest
from tuning.requests.sizes import Sizes
from tuning.requests.study import MAX_BLOCKS, StudyRequest
from tuning.strategy.budget import plan
from tuning.studies.absence import close_what_was_cancelled
from tuning.studies.arrangement import Arrangement, arrange
from tuning.studies.crash_tests import with_crash_tests
from tuning.studies.events import note_action, note_request
from tuning.studies.forecast import APART_SHARE, ASSUMED_OVERHEAD_S, Forecast
from tuning.studies.host_checks import hold_in_use
from tuning.studies.modelling import file_fit, fitted
from tuning.studies.named_devices import check_none_retired
from tuning.studies.revision import bump
from tuning.studies.rows import (
    candidate_row,
    last_order,
    server_row,
    workload_row,
)
from tuning.studies.scheduler import advance_host
from tuning.studies.searching import held_to, plan_search
from tuning.studies.template_time import template_minutes
from tuning.study_templates.loader import StudyTemplate


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
    store = plan_study(request, user)
    with transaction.atomic():
        study = store()
        also(study)
        if wake:
            transaction.on_commit(lambda: advance_host(study.host_id))
    return study


def plan_study(request: StudyRequest, user: Any = None) -> Callable[[], Study]:
    """Check the request against what its host has; the result stores the study, in a transaction.

    Planning a search takes seconds, in which other writers of the database must not have to wait.
    Raises like `create_study`.
    """
    arranged = arrange(request)
    template, host, inventory = arranged.template, arranged.host, arranged.inventory
    sizes, devices, model = arranged.sizes, arranged.devices, arranged.model
    here = arranged.situation
    _check_log_device(template, devices)
    target = here.target
    found = plan_candidates(
        template,
        [(one.name, one.data) for one in request.configs],
        target,
        resources=here.resources,
        durability=request.durability,
        host=here.host,
        translate_from=request.origin,
        proposals=plan_proposals(template.proposals, arranged.measured_before),
        fit=file_fit(model, here),
    )
    planned = [fitted(one, model, here) for one in found]
    measured = [plan for plan in planned if not plan.left_out]
    search = plan_search(request, arranged, measured)
    if search is not None:
        planned = [held_to(search.request, one, search.space, here) for one in planned]
        measured = [plan for plan in planned if not plan.left_out]
    design = design_of(request, template, searches=search is not None)
    if search is None:
        _check_candidates(template.name, measured, planned)
        share = 1 - APART_SHARE if design["takes_apart"] else 1.0
        share /= len(devices) * len(sizes.connections)
        _check_budget(request, sizes, candidates=len(measured) - 1, share=share)
    check_redo(measured, target, here.host, free=arranged.room)
    own_minutes = template_minutes(
        template, sizes, inventory.logical_cpus, configs=len(measured), devices=len(devices)
    )

    def store() -> Study:
        hold_in_use(host)
        study = Study.objects.create(
            name=request.name or template.title,
            template=template.name,
            host=host,
            server=server_row(host, arranged.binary),
            blocks=sizes.blocks,
            seed=secrets.randbelow(2**31) if request.seed is None else request.seed,
            durability=here.durability,
            **design,
            budget_minutes=search.minutes if search else request.budget_minutes,
            minutes=search.minutes if search else request.budget_minutes or own_minutes,
            search=search.document if search else None,
            scale_model=model.as_json() if model else None,
            memory_bytes=inventory.memory_budget_bytes,
            crash_tests=with_crash_tests(request, searches=search is not None),
            created_by=user,
        )
        rows = [device_row(host, device) for device in devices]
        study.devices.add(*rows)
        study.request = _completed(request, arranged, rows, study).as_json()
        study.save(update_fields=["request"])
        workloads = [
            workload_row(arranged.driver.name, sizes, connections, arranged.load_hosts)
            for connections in sizes.connections
        ]
        study.workloads.add(*workloads)
        for position, candidate in enumerate(planned):
            candidate_row(study, position, candidate)
        note_request(study)
        return study

    return store


def _completed(
    request: StudyRequest, arranged: Arrangement, devices: Sequence[Device], study: Study
) -> StudyRequest:
    """The request that asks for the same study, whatever template and host say by then."""
    sizes, searches = arranged.sizes, study.search is not None
    return request.model_copy(
        update={
            "host": arranged.host.name,
            "devices": [DeviceRequest(id=device.pk) for device in devices],
            "server": arranged.binary.path,
            "driver": arranged.driver.name,
            "load_hosts": tuple(host.name for host in arranged.load_hosts),
            "warehouses": sizes.warehouses,
            "connections": list(sizes.connections),
            "warmup_s": sizes.warmup_s,
            "measure_s": sizes.measure_s,
            "blocks": None if searches else sizes.blocks,
            "budget_minutes": study.budget_minutes,
            "durability": arranged.situation.durability,
            "races": study.races,
            "confirms": study.confirms,
            "takes_apart": study.takes_apart,
            "keeps_duplicates": request.keeps_duplicates
            or arranged.template.copies_of_baseline > 0,
            "recovery": study.crash_tests,
            "search": request.search or (SearchRequest() if searches else None),
        }
    )


def extend_study(study: Study, blocks: int, *, by: str = "") -> None:
    """Measure more blocks of a finished study and conclude it again.

    One that was concluded early has its answer then from all that was asked for.

    Raises BadRequest for a number out of range, TuningError: is_a_gate, not_finished,
    nothing_left, device_retired.
    """
    if not 1 <= blocks <= MAX_BLOCKS:
        raise BadRequest(f"blocks must be between 1 and {MAX_BLOCKS}", field="blocks")
    check_can_extend(study)
    with transaction.atomic():
        again = Study.objects.filter(pk=study.pk, state=StudyState.FINISHED).update(
            state=StudyState.RUNNING,
            finished_at=None,
            blocks=F("blocks") + blocks,
            added_blocks=F("added_blocks") + blocks,
            concluded_at=None,
            extended_by=blocks,
            extended_after=last_order(study),
            conclusions=F("conclusions") + 1,
            resumed_at=Now(),
            revision=F("revision") + 1,
        )
        study.refresh_from_db()
        if not again:
            check_can_extend(study)
        if not any(Forecast(study, ()).runs_per_block.values()):
            raise TuningError("nothing_left", _nothing_left(study))
        number = counted(blocks, "more block")
        note_action(study, EventKind.EXTENDED, by=by, reason=number)
        transaction.on_commit(lambda: advance_host(study.host_id))


def check_can_extend(study: Study) -> None:
    """Raise TuningError where `extend_study` would, whatever the number of blocks."""
    if study.gate is not None:
        raise TuningError("is_a_gate", "the pairs of a gate are fixed before the first: ask again")
    if study.state != StudyState.FINISHED:
        raise TuningError("not_finished", "only a finished study can be extended")
    check_none_retired(study)


def _nothing_left(study: Study) -> str:
    if study.slots.filter(purpose=SlotPurpose.BLOCK).exists():
        return "every candidate has left the race, so there is nothing left to measure"
    return "the search took no config into a race, so there is nothing to measure again"


def cancel_study(study: Study, *, by: str = "") -> None:
    """Cancel the study: the current run stops within seconds, queued runs never start.

    Raises TuningError, already_ended.
    """
    is_active = Study.objects.filter(pk=study.pk, state__in=ACTIVE_STUDY_STATES).update(
        stop_request=heartbeat.CANCELLED, paused_at=None, revision=F("revision") + 1
    )
    if not is_active:
        study.refresh_from_db()
        check_can_cancel(study)
    note_action(study, EventKind.CANCELLED, by=by)
    with transaction.atomic():
        bump([study.pk])
        cancel_jobs(Run.objects.filter(slot__study=study))
        cancel_jobs(CrashTest.objects.filter(slot__study=study))
    close_what_was_cancelled(study.host_id)
    advance_host(study.host_id)


def check_can_cancel(study: Study) -> None:
    """Raise TuningError where `cancel_study` would."""
    if study.is_finished:
        raise TuningError("already_ended", "the study has ended")


def design_of(
    request: StudyRequest, template: StudyTemplate, *, searches: bool
) -> dict[str, bool]:
    """The study's fields about its design. A search always races and confirms its finds.

    Raises BadRequest for what does not go together.
    """
    asked = request.takes_apart
    if searches:  # the request is checked: it contains nothing else
        if request.keeps_duplicates:
            reason = "a search learns nothing from duplicates"
            raise BadRequest(reason, field="keeps_duplicates")
        design = {"races": True, "confirms": True}
        return design | {"takes_apart": True if asked is None else asked}
    confirms = template.confirms if request.confirms is None else request.confirms
    if asked and not confirms:
        reason = "only a winner that was confirmed can be taken apart: confirm the winner"
        raise BadRequest(reason, field="takes_apart")
    takes_apart = template.takes_apart if asked is None else asked
    return {
        "races": template.races if request.races is None else request.races,
        "confirms": confirms,
        "takes_apart": takes_apart and confirms,
    }


def _check_candidates(
    template: str, measured: Sequence[PlannedCandidate], planned: Sequence[PlannedCandidate]
) -> None:
    """Raise BadRequest if there is nothing to compare, and say what is missing."""
    if len(measured) > 1:
        return
    reasons = [f"{plan.name}: {plan.left_out}" for plan in planned if plan.left_out]
    if reasons:
        raise BadRequest(
            f"template {template!r} has nothing to compare here: {reasons[0]}", field="template"
        )
    raise BadRequest(f"template {template!r} needs a config of yours to compare", field="configs")


def check_redo(
    planned: Sequence[PlannedCandidate],
    target: ServerTraits,
    host_facts: HostFacts,
    *,
    free: int,
) -> None:
    """Raise InvalidConfig for redo logs that do not fit on the device beside the data."""
    problems = [
        Problem(candidate.name, None, found.name, found.reason)
        for candidate in planned
        if (found := too_large_redo(candidate.knobs, target, host_facts, free))
    ]
    if problems:
        raise InvalidConfig(problems)


def _check_budget(request: StudyRequest, sizes: Sizes, *, candidates: int, share: float) -> None:
    """Raise BadRequest for a budget with too few blocks to separate a difference from noise.

    `share` of it is for the blocks and pairs of each device and number of connections.
    """
    if request.budget_minutes is None:
        return
    run_s = sizes.warmup_s + sizes.measure_s + ASSUMED_OVERHEAD_S
    fits = plan(request.budget_minutes * share, candidates, run_s)
    if not fits.is_enough:
        needed = fits.min_blocks * (candidates + 2) * run_s + fits.pairs_s
        raise BadRequest(
            f"budget_minutes {request.budget_minutes} is enough for "
            f"{counted(fits.blocks, 'block')}, but a study of this size needs {fits.min_blocks}: "
            f"about {ceil(needed / share / 60)} minutes",
            field="budget_minutes",
        )


def _check_log_device(template: StudyTemplate, devices: Sequence[FoundDevice]) -> None:
    """Raise BadRequest for a template about separate log devices if a device has none."""
    if not template.needs_log_device:
        return
    asks = f"template {template.name!r} needs a directory for redo logs on a separate device"
    for index, device in enumerate(devices):
        field = f"devices[{index}].log_dir"
        if device.log is None:
            raise BadRequest(asks, field=field)
        if shares_disk(device):
            where = f"{device.data.path} and {device.log.path} are on {device.data.block_device}"
            raise BadRequest(f"{asks}: {where}", field=field)
