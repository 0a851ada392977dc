"""How much memory a study had for how much data."""

from __future__ import annotations

from benchmarks.counted import percent
from benchmarks.datasets.rules import estimated_bytes
from benchmarks.models import Device, Workload
from tuning.models import Study
from tuning.scale_model.model import ScaleModel
from tuning.scale_model.sizes import size_text


def proportion_text(study: Study, device: Device, workload: Workload) -> str:
    """Memory and data on one device in a sentence; "" for an old study that did not store it.

    A scale model says what it is a model of, other studies what was measured.
    """
    if model := ScaleModel.from_json(study.scale_model):
        return model.sentence
    limit = device.memory_limit_bytes
    memory = limit if limit is not None else study.memory_bytes
    if memory is None:
        return ""
    data = estimated_bytes(workload.warehouses)
    share = memory / data
    times = percent(share) if share < 2 else f"{share:,.0f} times the data"
    return (
        f"{size_text(memory)} of memory for {size_text(data)} of data ({times}). If your server "
        "has another proportion, state its data size and memory, and a study keeps it."
    )
