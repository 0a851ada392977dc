"""Creates gates: a candidate against a baseline, each with a config and a server of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from benchmarks.errors import ExpectedError, about
from benchmarks.models import BinaryLog
from tuning.configs.candidates import PlannedCandidate, applied_of
from tuning.configs.values import config_hash
from tuning.creation.configs import check_redo
from tuning.creation.create import server_row, store, store_plan
from tuning.creation.device_facts import check_second_dataset
from tuning.creation.gate_configs import DEFAULTS, both_sides
from tuning.creation.plan import Plan, plan_of
from tuning.creation.preview import check_minutes
from tuning.models import Study
from tuning.requests.gate import IN_COMMON, GateRequest, GateSide
from tuning.statistics.looks import FIRST_LOOK
from tuning.strategy.compose import PAIR
from tuning.studies.budget import expected_run_s
from tuning.studies.rows import candidate_row

#: The word in place of a template's name in a gate's row.
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
    ours, theirs = _plans_of(request)
    sides = both_sides(request, ours, theirs)
    check_redo(ours, sides[:1])
    check_redo(theirs, sides[1:])
    return store(lambda: _store_gate(request, ours, theirs, sides, user), wake=wake, also=also)


def _plans_of(request: GateRequest) -> tuple[Plan, Plan]:
    """Return the plans of the baseline and of the candidate; only their servers may differ."""
    with _fields_of_a_gate():
        ours = plan_of(request.study_request())
    ours = replace(ours, binary_log=BinaryLog(request.binary_log))
    sizes, inventory, server = ours.sizes, ours.inventory, ours.server
    least_s = FIRST_LOOK * PAIR * expected_run_s(sizes)
    check_minutes(request.budget_minutes, least_s, f"{FIRST_LOOK} pairs, the least that decide")
    if request.candidate.server is not None:
        with about("candidate.server"):
            server = inventory.server(request.candidate.server)
    if (server.digest, server.path) == (ours.server.digest, ours.server.path):
        return ours, ours
    check_second_dataset(inventory, server, ours.devices, sizes.source, ours.free_space.left_bytes)
    return ours, replace(ours, server=server)


def _store_gate(
    request: GateRequest,
    ours: Plan,
    theirs: Plan,
    sides: tuple[PlannedCandidate, PlannedCandidate],
    user: Any,
) -> Study:
    # The request that asks for the same gate, with its configs as they are measured.
    completed = request.model_copy(
        update={name: getattr(ours.request, name) for name in IN_COMMON}
        | {
            "baseline": _completed_side(request.baseline, sides[0], ours),
            "candidate": _completed_side(request.candidate, sides[1], theirs),
            "connections": ours.sizes.connections[0],
        }
    )
    study = store_plan(
        ours,
        sides[:1],
        completed,
        user,
        name=request.name,
        template=GATE,
        gate=request.plan.as_json(),
        applied=applied_of(sides),
        races=False,
        confirms=False,
    )
    other = None if theirs is ours else server_row(theirs.host, theirs.server)
    candidate_row(study, 1, sides[1], server=other)
    return study


def _completed_side(asked: GateSide, side: PlannedCandidate, plan: Plan) -> GateSide:
    """Return the side that asks for the same config; a file is asked for again as a whole."""
    if side.text:
        return asked.model_copy(update={"server": plan.server.path})
    stored = config_hash(side.knobs)[:12] if side.knobs else DEFAULTS
    return GateSide(stored=stored, server=plan.server.path)


@contextmanager
def _fields_of_a_gate() -> Iterator[None]:
    """Name the fields of refusals as a gate's request has them."""
    try:
        yield
    except ExpectedError as error:
        is_server = error.field == "server"
        error.field = (
            "baseline.server" if is_server else error.field.replace("devices[0]", "device")
        )
        raise
