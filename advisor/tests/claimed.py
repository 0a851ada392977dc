"""Rows of studies whose template says what its source found."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from advisor.tests import factories
from benchmarks.models import Device, Run, RunState
from tuning.models import Study, StudyState

# Throughput about which runs scatter, by kind of device: the paper's own order of the configs,
# but on the SATA SSD #2 is not worse than #1.
AS_PUBLISHED = {
    "server-default": 9_000.0,
    "whitepaper-1": 24_441.0,
    "whitepaper-2": 37_802.0,
    "whitepaper-3": 79_338.0,
    "whitepaper-a": 103_684.0,
}
ON_A_HARD_DISK = {
    "server-default": 520.0,
    "whitepaper-1": 600.0,
    "whitepaper-2": 381.0,
    "whitepaper-3": 766.0,
    "whitepaper-a": 779.0,
}
OTHERWISE_ON_SATA = AS_PUBLISHED | {"whitepaper-1": 25_100.0}
Levels = Mapping[str, Mapping[str, float]]


def claimed_study(
    levels: Levels,
    *,
    template: str = "whitepaper-configs",
    connections: Sequence[int] = (16,),
    blocks: int = 6,
    done: int | None = None,
    scaling: Mapping[int, float] | None = None,
    noise: float = 0.01,
    **values: Any,
) -> Study:
    """A study on a device of each kind in `levels`; the first candidate is the baseline.

    `done`: it still runs, and so many of its runs have ended. `scaling`: of throughput, by
    the number of connections.
    """
    devices = [make_device(kind) for kind in levels]
    names = list(next(iter(levels.values())))
    workloads = [factories.make_workload(connections=count) for count in connections]
    dice = random.Random(7)

    def end(run: Run) -> None:
        if done is not None and run.slot.order > done:
            return
        level = levels[run.device.kind][run.slot.candidate.name]
        level *= (scaling or {}).get(run.workload.connections, 1.0)
        factories.end_well(run)
        run.throughput = level * dice.gauss(1.0, noise)
        run.p95_ms = 1e6 / level
        run.server_path_length = 1e11 / level

    return factories.make_study(
        template=template,
        names=names,
        device=devices[0],
        others=devices[1:],
        workloads=workloads,
        blocks=blocks,
        end=end,
        state=StudyState.FINISHED if done is None else StudyState.RUNNING,
        started_at=factories.BEGIN,
        finished_at=factories.BEGIN if done is None else None,
        **values,
    )


def make_device(kind: str) -> Device:
    """The one of that kind, in a directory of its name."""
    known = Device.objects.filter(data_dir=f"/srv/{kind}").first()
    return known or factories.make_device(
        kind=kind, data_dir=f"/srv/{kind}", model=f"A disk of {kind}"
    )


def finish_all(study: Study, levels: Mapping[str, float]) -> None:
    """Let what is still queued end well and the study with it; all on one device."""
    dice = random.Random(8)
    for slot in study.slots.filter(run__state=RunState.QUEUED).select_related("candidate", "run"):
        factories.finish(slot.run)
        tpmp = levels[slot.candidate.name] * dice.gauss(1.0, 0.01)
        Run.objects.filter(pk=slot.run_id).update(throughput=tpmp)
    Study.objects.filter(pk=study.pk).update(
        state=StudyState.FINISHED, finished_at=factories.BEGIN
    )
