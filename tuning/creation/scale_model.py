"""A study as a scale model: what is stated of the real server, checked against its host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchmarks.emulation.shipped import throttles
from benchmarks.inventory.device_lookup import DeviceSpec
from benchmarks.inventory.host import HostInventory
from benchmarks.servers.binary import Flavour
from tuning.catalogue.loader import load_catalogue
from tuning.configs.candidates import FileFit, PlannedCandidate
from tuning.configs.effective.expected import Expected
from tuning.configs.effective.variables import CHUNK, DIRECT_METHODS, FLUSH_METHOD
from tuning.configs.notes import Action, Note
from tuning.configs.situation import Situation
from tuning.configs.values import BadValue, normalise
from tuning.creation.devices import own_bytes
from tuning.errors import BadRequest
from tuning.requests.sizes import MAX_WAREHOUSES, Sizes
from tuning.requests.study import StudyRequest
from tuning.scale_model.conversion import in_model, is_scaled
from tuning.scale_model.model import WAREHOUSE_BYTES, ScaleModel
from tuning.scale_model.sizes import MB, size_text
from tuning.studies.host_resources import real_host_facts

# A connection needs this much beside the buffers that a server has anyway.
_CONNECTION_BYTES = 1 * MB


def model_of(
    inventory: HostInventory,
    request: StudyRequest,
    devices: Sequence[DeviceSpec],
    sizes: Sizes,
    flavour: Flavour,
) -> ScaleModel | None:
    """The scale model that is asked for, None for a study that is none.

    Raises BadRequest with what cannot be modelled on that host, and what could be.
    """
    data_size, memory = request.data_size, request.memory
    if data_size is None and memory is None:
        return None
    if data_size is None:
        raise BadRequest("memory is of no use without the size of the data", field="data_size")
    if memory is None:
        raise BadRequest("the size of the data is of no use without the memory", field="memory")
    model = ScaleModel(
        data_bytes=data_size,
        memory_bytes=memory,
        warehouses=sizes.warehouses,
        own_bytes=own_bytes(flavour) + max(sizes.connections) * _CONNECTION_BYTES,
    )
    _check_size(model, inventory.memory_budget_bytes)
    return _limited_as_possible(model, devices, inventory)


def _check_size(model: ScaleModel, memory_bytes: int) -> None:
    """Raise BadRequest for a model that has more data than the server, or no room in memory."""
    if model.data_bytes < WAREHOUSE_BYTES:
        raise BadRequest(
            f"{size_text(model.data_bytes)} is less than one warehouse "
            f"({size_text(WAREHOUSE_BYTES)}): the data is too small for a scale model",
            field="data_size",
        )
    most, least = model.max_warehouses(memory_bytes), model.min_warehouses
    allowed = MAX_WAREHOUSES
    share = f"{size_text(model.memory_bytes)} for {size_text(model.data_bytes)}"
    if least > allowed:
        raise BadRequest(
            f"{share} cannot be modelled: a server needs at least {least:,} warehouses of that "
            f"proportion, and a study has at most {allowed:,}",
            field="memory",
        )
    if least > most:
        raise BadRequest(
            f"{share} cannot be modelled on this host: a server needs at least {least} warehouses "
            f"of that proportion, and {most} is the most that {size_text(memory_bytes)} of memory "
            "and the stated data allow",
            field="memory",
        )
    if model.warehouses > most:
        why = (
            f"are {size_text(model.model_data_bytes)}, more than the stated data"
            if model.model_data_bytes > model.data_bytes
            else f"need {size_text(model.limit_bytes)} of memory at {share}, and this host has "
            f"{size_text(memory_bytes)}"
        )
        raise BadRequest(
            f"{model.warehouses} warehouses {why}: use at most {most}", field="warehouses"
        )
    if model.warehouses < least:
        raise BadRequest(
            f"{share} leaves {model.warehouses} warehouses {size_text(model.model_memory_bytes)} "
            f"of memory, less than a server needs: use at least {least} warehouses",
            field="warehouses",
        )


def _limited_as_possible(
    model: ScaleModel, devices: Sequence[DeviceSpec], inventory: HostInventory
) -> ScaleModel:
    """Scale only the buffer pool where control groups are missing and no device is emulated."""
    if any(throttles(one.emulate) for one in devices):
        return model
    return replace(model, limits_memory=not inventory.memory_limit_problem)


def check_direct_io(model: ScaleModel | None, situation: Situation) -> None:
    """Raise BadRequest where memory cannot be limited and the page cache not be bypassed."""
    if model is not None and not model.limits_memory and situation.host.direct_io is False:
        raise BadRequest(
            "a scale model needs control groups that limit memory (docs/how-to/emulation.md) or "
            "a file system with direct I/O, and this host has neither for these devices",
            field="memory",
        )


def file_fit(model: ScaleModel | None, situation: Situation) -> FileFit | None:
    """How files that were written for the real server are resized; None without a model."""
    if model is None:
        return None
    return FileFit(
        real_host_facts(situation.host, model),
        lambda knobs: in_model(knobs, model, situation.target, situation.host),
    )


def fitted(
    plan: PlannedCandidate, model: ScaleModel | None, situation: Situation
) -> PlannedCandidate:
    """The candidate with what every config of a scale model sets."""
    if model is None or plan.left_out:
        return plan
    added = {}
    expected = Expected(plan.knobs, situation.target, situation.host)
    for name, value in model.fitted(situation.target).items():
        if name == CHUNK and name in plan.knobs:
            continue
        if name == FLUSH_METHOD and expected.text(name) in DIRECT_METHODS:
            continue
        added[name] = value
    reasons = {
        CHUNK: f"fine steps for the buffer pool of the {model.title}",
        FLUSH_METHOD: "memory could not be limited here, so no config uses the page cache",
    }
    notes = [Note(name, Action.ADJUSTED, reasons[name]) for name in added]
    return replace(plan, knobs={**plan.knobs, **added}, notes=(*plan.notes, *notes))


def pinned_in_model(
    pinned: Mapping[str, str], model: ScaleModel | None, situation: Situation
) -> dict[str, str]:
    """A search's pins as the model has them, with what it holds fixed by itself."""
    if model is None:
        return dict(pinned)
    held = {} if model.limits_memory else {FLUSH_METHOD: "O_DIRECT"}
    return held | {name: _sized(name, text, model, situation) for name, text in pinned.items()}


def bounds_in_model(
    bounds: Mapping[str, tuple[str, str]], model: ScaleModel | None, situation: Situation
) -> dict[str, tuple[str, str]]:
    """A search's bounds as the model has them."""
    if model is None:
        return dict(bounds)
    return {
        name: (_sized(name, low, model, situation), _sized(name, high, model, situation))
        for name, (low, high) in bounds.items()
    }


def _sized(name: str, text: str, model: ScaleModel, situation: Situation) -> str:
    """The value in the model; what is no value of the knob stays, to be refused as it is."""
    knob = load_catalogue().get(name)
    if knob is None or not is_scaled(name) or not knob.exists_in(situation.target):
        return text
    try:
        value = normalise(knob, text, situation.target)
    except BadValue:
        return text
    return in_model({name: value}, model, situation.target, situation.host)[0][name]
