"""A study of several devices: the config to use on each, and how much a faster device gains.

The devices are not measured in common blocks. So the ratio between two of them has no confidence
interval, but the lowest and highest ratio of any two runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from advisor.wording.formatting import significant
from benchmarks.models import RunState
from tuning.models import DurabilityClass, SlotPurpose, StudyState
from tuning.results.confidence import ANSWERS, certainty_text
from tuning.results.document import (
    Board,
    BoardRow,
    CandidateFacts,
    DeviceFacts,
    StudyDocument,
    WorkloadFacts,
)
from tuning.statistics.data import Metric
from tuning.statistics.estimate import Estimate
from tuning.statistics.ratios import Ratio, Spread, ratio, spread
from tuning.statistics.verdict import VerdictKind

# States that do not explain why a baseline has no result.
_NO_REASON = (RunState.OK, RunState.CANCELLED)


@dataclass(frozen=True)
class DeviceRow:
    """The result of a device. candidate, row: the config to use; None if there is none.

    change: that config's ratio to the baseline: the recommendation's, which after a confirmation
    comes from the fresh pairs alone, else the board's. times: its throughput as a multiple of the
    slowest device's, None for that device and while any has no result.
    """

    device: DeviceFacts
    host: str
    answer: str
    candidate: CandidateFacts | None = None
    row: BoardRow | None = None
    change: Estimate | None = None
    throughput: Spread | None = None
    times: Ratio | None = None
    is_slowest: bool = False

    @property
    def ratio(self) -> float | None:
        return self.change.ratio if self.change else None


@dataclass(frozen=True)
class DeviceMatrix:
    """The devices under one workload in one durability class, slowest first; those without a
    result last. `summary` compares the fastest with the slowest, "" while any has no result.
    `is_final`: whether all its studies are finished; `several_hosts`: whether there are several.
    """

    workload: WorkloadFacts
    durability: str
    rows: list[DeviceRow]
    summary: str
    is_final: bool
    several_hosts: bool


def device_matrices(*documents: StudyDocument, hosts: Sequence[str] = ()) -> list[DeviceMatrix]:
    """One per workload and class of a study of several devices, or of one study per host.

    hosts: the name of the host of each study, where there are several.
    """
    names = list(hosts) or [""] * len(documents)
    devices = [
        (document, host, device)
        for document, host in zip(documents, names, strict=True)
        for device in document.devices
    ]
    if len(devices) < 2:
        return []
    # Until the first board has started, only the class of the baseline is known.
    classes = sorted({board.durability for one in documents for board in one.boards})
    is_final = all(one.study.state == StudyState.FINISHED for one in documents)
    workloads = {load.id: load for one in documents for load in one.workloads}
    short = {
        pk: f"{name} on {host}" if host else name
        for document, host in zip(documents, names, strict=True)
        for pk, name in document.short_names.items()
    }
    matrices = []
    for workload in workloads.values():
        for durability in classes or [DurabilityClass.D0.value]:
            rows = _compared(
                [
                    _row(document, host, device, _board(document, device, workload, durability))
                    for document, host, device in devices
                ]
            )
            summary = _summary(rows, short)
            matrices.append(
                DeviceMatrix(workload, durability, rows, summary, is_final, len(documents) > 1)
            )
    return matrices


def _board(
    document: StudyDocument, device: DeviceFacts, workload: WorkloadFacts, durability: str
) -> Board | None:
    wanted = (device.id, workload.id), durability
    return next((one for one in document.boards if (one.place, one.durability) == wanted), None)


def _row(
    document: StudyDocument, host: str, device: DeviceFacts, board: Board | None
) -> DeviceRow:
    is_finished = document.study.is_finished
    if board is None:
        return DeviceRow(device, host, "not measured" if is_finished else "not measured yet")
    baseline = board.row(board.baseline_id)
    if is_finished and (baseline is None or baseline.figures.throughput is None):
        return DeviceRow(device, host, _no_result(document, board))
    advice = board.recommendation
    pk = advice.candidate_id if advice else board.advice.verdict.candidate_id
    standing = board.rankings[Metric.THROUGHPUT].standing(pk)
    change = advice.effect if advice else standing.estimate if standing else None
    return DeviceRow(
        device=device,
        host=host,
        answer=_answer(document, board),
        candidate=document.candidate[pk],
        row=board.row(pk),
        change=change,
        throughput=spread(
            run.figures.throughput for run in document.ranked_runs(board) if run.candidate_id == pk
        ),
    )


def _compared(rows: Sequence[DeviceRow]) -> list[DeviceRow]:
    """Slowest first; no slowest is named while any has no result."""
    ordered = sorted(rows, key=lambda row: row.throughput.median if row.throughput else inf)
    if any(row.throughput is None for row in ordered):
        return ordered
    first = ordered[0]
    others = [replace(row, times=ratio(first.throughput, row.throughput)) for row in ordered[1:]]
    return [replace(first, is_slowest=True), *others]


def _summary(rows: Sequence[DeviceRow], names: Mapping[int, str]) -> str:
    slow, fast = rows[0], rows[-1]
    if fast.times is None or fast.candidate is None or slow.candidate is None:
        return ""
    if not fast.times.is_clear:
        return (
            f"Whether {names[fast.device.id]} is faster than {names[slow.device.id]} is not "
            "known: their runs overlap."
        )
    configs = {row.candidate.name for row in rows if row.candidate is not None}
    differ = "; the configs differ" if len(configs) > 1 else ""
    return (
        f"{names[fast.device.id]} completes {significant(fast.times.value)} times as many "
        f"transactions as {names[slow.device.id]}, each with its config in this table{differ}."
    )


def _answer(document: StudyDocument, board: Board) -> str:
    """How certain the config to use is; from the current verdict if there is no advice yet."""
    advice, study = board.recommendation, document.study
    if advice is not None:
        return certainty_text(advice.kind, advice.confirmation, confirms=study.confirms)
    unknown = "nothing to compare" if study.is_finished else "not known yet"
    return ANSWERS.get(VerdictKind(board.advice.verdict.kind), unknown)


def _no_result(document: StudyDocument, board: Board) -> str:
    """Why the baseline, and so the device, has no result."""
    failed = [
        run
        for run in document.board_runs(board, SlotPurpose.BLOCK)
        if run.candidate_id == board.baseline_id
        and run.is_finished
        and run.state not in _NO_REASON
    ]
    newest = max(failed, key=lambda run: run.id, default=None)
    reason = newest.reason or str(RunState(newest.state).label) if newest else ""
    return f"no result: {reason}" if reason else "no result"
