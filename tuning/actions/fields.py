"""The parameters of actions: bounds, titles and help, from which forms and options are made."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from benchmarks.probe.run import MAX_S, MIN_S, USUAL_S
from benchmarks.storage.kinds import DeviceKind, kind_words
from tuning.actions.action import Fields
from tuning.requests.study import MAX_BLOCKS, MAX_PAUSE_REASON


class ReasonFields(Fields):
    reason: str = Field(
        "", max_length=MAX_PAUSE_REASON, title="Reason", description="shown with what it stops"
    )


class BlocksFields(Fields):
    blocks: int = Field(
        ge=1, le=MAX_BLOCKS, title="Blocks", description="how many more to measure"
    )


class ProbeFields(Fields):
    seconds: int = Field(
        int(USUAL_S),
        ge=int(MIN_S),
        le=int(MAX_S),
        title="Seconds",
        description="duration; a longer probe gives steadier figures",
    )


class KindFields(Fields):
    kind: DeviceKind | Literal[""] = Field(
        "",
        title="Kind",
        description="what the device is; empty: as detected",
        json_schema_extra={
            "choices": {"": "As detected", **{kind.value: kind_words(kind) for kind in DeviceKind}}
        },
    )


class DatasetFields(Fields):
    name: str = Field(min_length=1, title="Name", description="name of the dataset")
