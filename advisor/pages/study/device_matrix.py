"""A study of several devices: the config to use on each, and how much a faster device gains.

The devices are not measured in common blocks. So the ratio between two of them has no confidence
interval, but the lowest and highest ratio of any two runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from advisor.wording.formatting import significant
from advisor.wording.words import ANSWERS, certainty
from benchmarks.models import Device, Host, RunState, Workload
from tuning.comparison.device_comparison import device_names
from tuning.models import DurabilityClass, Recommendation, Study, StudyState
from tuning.results.boards import Board
from tuning.results.evidence import CONFIDENCE
from tuning.results.study_result import StudyResult
from tuning.statistics.ranking import Interval, Ranked
from tuning.statistics.ratios import Ratio, Spread, ratio, spread

# States that do not explain why a baseline has no result.
_NO_REASON = (RunState.OK, RunState.CANCELLED)


@dataclass(frozen=True)
class DeviceRow:
    """The result of a device. `line` is that of the config to use, None if there is none.

    `change` is that config's ratio to the baseline: the recommendation's, which after a
    confirmation comes from the fresh pairs alone, else the board's. `times` is its throughput as a
    multiple of the slowest device's, None for that device and while any has no result.
    """

    device: Device
    host: Host
    answer: str
    baseline: str = ""
    line: Ranked | None = None
    change: float | None = None
    interval: Interval | None = None
    tpmP: Spread | None = None
    times: Ratio | None = None
    is_slowest: bool = False


@dataclass(frozen=True)
class DeviceMatrix:
    """The devices under one workload in one durability class, slowest first; those without a
    result last. `summary` compares the fastest with the slowest, "" while any has no result.
    `is_final`: whether all its studies are finished; `several_hosts`: whether there are several.
    """

    workload: Workload
    durability: DurabilityClass
    rows: list[DeviceRow]
    summary: str
    is_final: bool
    several_hosts: bool


def device_matrices(*results: StudyResult) -> list[DeviceMatrix]:
    """One per workload and class of a study of several devices, or of one study per host."""
    devices = [(result, device) for result in results for device in result.devices.values()]
    if len(devices) < 2:
        return []
    advised = {
        (one.device, one.workload, str(one.durability)): one
        for result in results
        for one in result.recommendations
    }
    boards = [board for result in results for board in result.boards]
    at = {board.key: board for board in boards}
    # Until the first board has started, only the class of the baseline is known.
    classes = sorted({board.durability for board in boards}) or [DurabilityClass.D0]
    names = _names(results)
    is_final = all(result.study.state == StudyState.FINISHED for result in results)
    workloads = {pk: one for result in results for pk, one in result.workloads.items()}
    matrices = []
    for workload in workloads.values():
        for durability in classes:
            rows = []
            for result, device in devices:
                key = device, workload, str(durability)
                rows.append(_row(result.study, device, at.get(key), advised.get(key)))
            rows = _compared(rows)
            summary = _summary(rows, names)
            matrices.append(
                DeviceMatrix(workload, durability, rows, summary, is_final, len(results) > 1)
            )
    return matrices


def _names(results: Sequence[StudyResult]) -> dict[int, str]:
    """Short names of the devices, with their hosts where there are several studies."""
    if len(results) == 1:
        return device_names(results[0].devices.values())
    return {
        pk: f"{name} on {result.study.host}"
        for result in results
        for pk, name in device_names(result.devices.values()).items()
    }


def _row(
    study: Study, device: Device, board: Board | None, advice: Recommendation | None
) -> DeviceRow:
    if board is None:
        answer = "not measured" if study.is_finished else "not measured yet"
        return DeviceRow(device, study.host, answer)
    lines = {line.candidate: line for line in board.judgement.ranked}
    baseline = board.baseline.name
    if study.is_finished and lines[baseline].tpmP is None:
        return DeviceRow(device, study.host, _no_result(board), baseline)
    name = advice.candidate.name if advice else board.for_advice.verdict.candidate
    line = lines.get(name)
    change, interval = (line.ratio_to_baseline, line.interval) if line else (None, None)
    if advice is not None:
        change, interval = advice.ratio_to_baseline, None
        if advice.low is not None and advice.high is not None:
            interval = Interval(advice.low, advice.high, CONFIDENCE)
    return DeviceRow(
        device=device,
        host=study.host,
        answer=_answer(study, board, advice),
        baseline=baseline,
        line=line,
        change=change,
        interval=interval,
        tpmP=spread(
            run.tpmP for run in board.observations if run.candidate == name and run.counts
        ),
    )


def _compared(rows: Sequence[DeviceRow]) -> list[DeviceRow]:
    """Slowest first; no slowest is named while any has no result."""
    ordered = sorted(rows, key=lambda row: row.tpmP.median if row.tpmP else inf)
    if any(row.tpmP is None for row in ordered):
        return ordered
    first = ordered[0]
    others = [replace(row, times=ratio(first.tpmP, row.tpmP)) for row in ordered[1:]]
    return [replace(first, is_slowest=True), *others]


def _summary(rows: Sequence[DeviceRow], names: Mapping[int, str]) -> str:
    slow, fast = rows[0], rows[-1]
    if fast.times is None or fast.line is None or slow.line is None:
        return ""
    if not fast.times.is_clear:
        return (
            f"Whether {names[fast.device.pk]} is faster than {names[slow.device.pk]} is not "
            "known: their runs overlap."
        )
    configs = {row.line.candidate for row in rows if row.line is not None}
    differ = "; the configs differ" if len(configs) > 1 else ""
    return (
        f"{names[fast.device.pk]} completes {significant(fast.times.value)} times as many "
        f"New-Orders as {names[slow.device.pk]}, each with its config in this table{differ}."
    )


def _answer(study: Study, board: Board, advice: Recommendation | None) -> str:
    """How certain the config to use is; from the current verdict if there is no advice yet."""
    if advice is not None:
        return certainty(advice)
    unknown = "nothing to compare" if study.is_finished else "not known yet"
    return ANSWERS.get(board.for_advice.verdict.kind, unknown)


def _no_result(board: Board) -> str:
    """Why the baseline, and so the device, has no result."""
    failed = [
        slot.run
        for slot in board.slots
        if slot.candidate.is_baseline and slot.run.is_finished and slot.run.state not in _NO_REASON
    ]
    newest = max(failed, key=lambda run: run.pk, default=None)
    reason = newest.reason or newest.label if newest else ""
    return f"no result: {reason}" if reason else "no result"
