"""Runs, candidates, configs and studies that a user lays side by side, by the names in a link."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import QuerySet

from benchmarks.counted import counted
from benchmarks.models import Run, RunState
from tuning.comparison.measured import ranked_slots
from tuning.models import Candidate, Recommendation, Slot, Study
from tuning.results.series import BULKY, middle_run

#: More columns than that are no comparison any more.
MAX_SIDES: Final = 8
# A candidate or config may have the place that is meant: its device and workload.
_TOKEN = re.compile(r"(run|candidate|config|study)-(\d{1,18})(?:-(\d{1,18})-(\d{1,18}))?")
# Of a config that was measured for years the newest runs speak.
_MAX_RUNS = 200

# Long columns that nothing is compared by.
_HEAVY = (
    *(f"run__{name}" for name in (*BULKY, "live", "disturbances", "load_side")),
    *(f"run__host__{name}" for name in ("inventory", "datasets")),
    *(f"candidate__{name}" for name in ("notes", "lines", "checks", "source")),
    *("study__log_tail", "study__search"),
)


@dataclass(frozen=True)
class Side:
    """One column: successful runs that are comparable among themselves.

    token: its name in links. about: where it was measured, in words. block_of: by id of a run the
    study, purpose and block that it belongs to; a run of the same block of another side shares
    its conditions. left_out: runs that are not comparable with most of the side.
    """

    token: str
    name: str
    about: str
    runs: Sequence[Run]
    block_of: Mapping[int, tuple[int, str, int]]
    knobs: Mapping[str, str]
    candidate: Candidate | None = None
    study: Study | None = None
    left_out: int = 0

    @property
    def middle(self) -> Run:
        """The run nearest to its median tpmP, which stands for it in charts over time."""
        by_key = {run.pk: run for run in self.runs}
        return by_key[middle_run({pk: run.tpmP or 0.0 for pk, run in by_key.items()})]


@dataclass(frozen=True)
class Found:
    """`missing`: the names that stand for nothing that was measured, with the reason."""

    sides: list[Side]
    missing: list[tuple[str, str]]


def find_sides(tokens: Iterable[str]) -> Found:
    """The sides in the order asked for; a study is one for each of its recommendations.

    The number of queries grows with the number of names, at most MAX_SIDES, and with nothing else;
    candidates together take one.
    """
    sides: list[Side] = []
    missing: list[tuple[str, str]] = []
    names = {token: _TOKEN.fullmatch(token) for token in dict.fromkeys(tokens)}
    of_candidates = _measured_of(
        int(named[2]) for named in names.values() if named and named[1] == "candidate"
    )
    for token, named in names.items():
        if named is None:
            missing.append((token[:60], "not a name of a run, candidate, config or study"))
            continue
        kind, pk = named[1], int(named[2])
        if kind == "candidate":
            found = _of_candidate(pk, of_candidates.get(pk, []))
        else:
            found = _FINDERS[kind](pk)
        if named[3]:
            found = [side for side in found if side.token == token]
        if not found:
            missing.append((_name_of(kind, pk) or token, "has no successful run"))
        sides += found
    unique = {side.token: side for side in sides}
    return Found(list(unique.values())[:MAX_SIDES], missing)


def _name_of(kind: str, pk: int) -> str:
    """Of a candidate that was not measured, with its study; "" for all else."""
    row = Candidate.objects.filter(pk=pk).values_list("name", "study__name").first()
    return f"{row[0]} of {row[1]}" if kind == "candidate" and row else ""


def _read(slots: QuerySet[Slot]) -> QuerySet[Slot]:
    """Return the slots with what a side shows, newest run first."""
    return (
        slots.select_related(
            "run",
            "run__host",
            "run__server",
            "run__device",
            "run__workload",
            "candidate__config",
            "study",
        )
        .defer(*_HEAVY)
        .order_by("-run_id")
    )


def _of_run(pk: int) -> list[Side]:
    slots = list(_read(Slot.objects.filter(run__state=RunState.OK, run__tpmP__gt=0, run=pk)))
    return [_side(f"run-{pk}", f"{slots[0].candidate.name}, run {pk}", slots)] if slots else []


def _measured_of(candidates: Iterable[int]) -> dict[int, list[Slot]]:
    """The slots of each, newest run first; one study measures none of them very often."""
    wanted, found = list(candidates), defaultdict(list)
    for slot in _read(ranked_slots()).filter(candidate__in=wanted):
        found[slot.candidate_id].append(slot)
    return {pk: slots[:_MAX_RUNS] for pk, slots in found.items()}


def _of_candidate(pk: int, slots: Sequence[Slot]) -> list[Side]:
    """One side per device and workload that it was measured on."""
    return [_side(f"candidate-{pk}", slots[0].candidate.name, there) for there in _places(slots)]


def _of_config(pk: int) -> list[Side]:
    """Its newest runs, wherever they were measured: one side per device and workload."""
    slots = list(_read(ranked_slots()).filter(candidate__config=pk)[:_MAX_RUNS])
    return [_side(f"config-{pk}", slots[0].candidate.name, there) for there in _places(slots)]


def _of_study(pk: int) -> list[Side]:
    """What it recommends, or its baseline before that; one side per device and workload."""
    advised = list(Recommendation.objects.filter(study=pk).values_list("candidate", flat=True))
    there = _read(ranked_slots()).filter(study=pk)
    chosen = there.filter(candidate__in=advised) if advised else there.none()
    slots = list(chosen[:_MAX_RUNS]) or list(there.filter(candidate__is_baseline=True)[:_MAX_RUNS])
    by_candidate: dict[int, list[Slot]] = {}
    for slot in slots:
        by_candidate.setdefault(slot.candidate_id, []).append(slot)
    return [
        _side(f"candidate-{candidate}", own[0].candidate.name, one)
        for candidate, own in by_candidate.items()
        for one in _places(own)
    ]


_FINDERS = {
    "run": _of_run,
    "config": _of_config,
    "study": _of_study,
}


def _places(slots: Iterable[Slot]) -> list[list[Slot]]:
    found: dict[tuple[int, int], list[Slot]] = {}
    for slot in slots:
        found.setdefault((slot.device_id, slot.workload_id), []).append(slot)
    return [found[key] for key in sorted(found)]


def _side(token: str, name: str, slots: Sequence[Slot]) -> Side:
    """`slots` are of one place, the newest first."""
    count = Counter(slot.run.comparability_key for slot in slots)
    newest = [slot.run.comparability_key for slot in slots]
    key = max(count, key=lambda one: (count[one], -newest.index(one)))
    kept = [slot for slot in slots if slot.run.comparability_key == key]
    last = kept[0]
    run, study = last.run, last.study
    several = token.startswith(("candidate", "config"))
    where = f"-{run.device_id}-{run.workload_id}" if several else ""
    about = f"{study.name}; {run.device}; {counted(run.workload.connections, 'connection')}"
    if token.startswith("config"):
        about = f"{run.device}; {counted(run.workload.connections, 'connection')}"
    return Side(
        token=token + where,
        name=name,
        about=about,
        runs=[slot.run for slot in reversed(kept)],
        block_of={slot.run_id: (slot.study_id, str(slot.purpose), slot.block) for slot in kept},
        knobs={name: str(value) for name, value in last.candidate.config.knobs.items()},
        candidate=last.candidate,
        study=study,
        left_out=len(slots) - len(kept),
    )
