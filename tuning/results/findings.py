"""A study's boards in the form in which the claims of its template are checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.models import Device
from tuning.models import Candidate
from tuning.results.boards import Board
from tuning.statistics.data import Metric
from tuning.study_templates.evaluation import ClaimBoard


def claim_boards(
    boards: Sequence[Board], candidates: Iterable[Candidate], devices: Iterable[Device]
) -> list[ClaimBoard]:
    """The boards, followed by the devices of the study that have none yet."""
    same_as = {one.name: one.merged_into.name for one in candidates if one.merged_into}
    seen = {board.device.pk for board in boards}
    waiting = [
        ClaimBoard(
            device=str(device),
            kind=device.kind,
            connections=0,
            analyses={},
            device_id=device.pk,
            is_throttled=device.is_throttled,
        )
        for device in devices
        if device.pk not in seen
    ]
    measured = [
        ClaimBoard(
            device=str(board.device),
            kind=board.device.kind,
            connections=board.workload.connections,
            analyses={metric: board.judgements[metric].analysis for metric in Metric},
            observations=board.observations,
            alpha=board.alpha,
            same_as=same_as,
            device_id=board.device.pk,
            is_throttled=board.device.is_throttled,
        )
        for board in boards
    ]
    return measured + waiting
