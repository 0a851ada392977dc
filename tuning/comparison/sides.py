"""Runs, candidates, configs and studies that a user lays side by side, by the names in a link."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from django.db.models import QuerySet

from benchmarks.counted import counted
from benchmarks.models import Run
from tuning.comparison.measured import measured_slots, ranked_slots
from tuning.models import Candidate, Recommendation, Slot, Study
from tuning.results.document import Price
from tuning.results.series import BULKY, middle_run

#: More columns than that are no comparison any more.
MAX_SIDES: Final = 8
# A candidate or config may have the place that is meant: its device and workload.
_TOKEN = re.compile(r"(run|candidate|config|study)-(\d{1,18})(?:-(\d{1,18})-(\d{1,18}))?")
# A config that was measured for years is shown by its newest runs.
_MAX_RUNS = 200
# Long columns by which nothing is compared.
_HEAVY = (
    *(f"run__{name}" for name in (*BULKY, "live", "disturbances", "load_side")),
    *(f"run__host__{name}" for name in ("inventory", "datasets")),
    *(f"candidate__{name}" for name in ("notes", "lines", "checks", "source")),
    *("study__log_tail", "study__search"),
)
_SHOWN = "run__host", "run__server", "run__device", "run__workload", "candidate__config", "study"

#: A study and a block of it: runs of two sides in one block share their conditions.
Block = tuple[int, str, int]


@dataclass(frozen=True)
class Side:
    """One column: successful runs that are comparable among themselves.

    token: its name in links. about: where it was measured, in words. block_of: by id of a run.
    is_candidate: whether its runs are those by which one study ranks one candidate. left_out: runs
    that are not comparable with most of the side.
    """

    token: str
    name: str
    about: str
    runs: Sequence[Run]
    block_of: Mapping[int, Block]
    candidate: Candidate
    study: Study
    is_candidate: bool
    left_out: int

    @property
    def knobs(self) -> dict[str, str]:
        return {name: str(value) for name, value in self.candidate.config.knobs.items()}

    @property
    def price(self) -> Price:
        """Medians over its runs."""
        names = "host_path_length", "cpu_user_pct", "cpu_sys_pct", "bytes_written_per_transaction"
        return Price.of(attrgetter(*names)(run) for run in self.runs)

    @property
    def middle(self) -> Run:
        """The run nearest to its median throughput, which stands for it in charts over time."""
        by_key = {run.pk: run for run in self.runs}
        return by_key[middle_run({pk: run.throughput or 0.0 for pk, run in by_key.items()})]

    @property
    def place(self) -> tuple[int, int]:
        """Primary keys of the device and the workload."""
        return self.middle.device_id, self.middle.workload_id


@dataclass(frozen=True)
class Found:
    """missing: the names that stand for nothing that was measured, with the reason."""

    sides: list[Side]
    missing: list[tuple[str, str]]


def find_sides(tokens: Iterable[str]) -> Found:
    """Return the sides in the order asked for; a study is one side for each recommendation.

    The number of queries grows with the number of names, at most MAX_SIDES, and with nothing else.
    """
    sides: dict[str, Side] = {}
    missing: list[tuple[str, str]] = []
    for token in dict.fromkeys(tokens):
        named = _TOKEN.fullmatch(token)
        if named is None:
            missing.append((token[:60], "not a name of a run, candidate, config or study"))
            continue
        kind, pk = named[1], int(named[2])
        found = [side for side in _sides(kind, pk) if not named[3] or side.token == token]
        if not found:
            missing.append((_name(kind, pk) or token, "has no successful run"))
        sides |= {side.token: side for side in found}
    return Found(list(sides.values())[:MAX_SIDES], missing)


def _name(kind: str, pk: int) -> str:
    """Return the name of a candidate that was not measured, with its study; "" for all else."""
    row = Candidate.objects.filter(pk=pk).values_list("name", "study__name").first()
    return f"{row[0]} of {row[1]}" if kind == "candidate" and row else ""


def _sides(kind: str, pk: int) -> list[Side]:
    """Return one side per device and workload, and of a study per candidate."""
    read = _slots(kind, pk).select_related(*_SHOWN).defer(*_HEAVY).order_by("-run_id")
    found: dict[tuple[int, int, int], list[Slot]] = defaultdict(list)
    for slot in read[:_MAX_RUNS]:
        candidate = 0 if kind == "config" else slot.candidate_id
        found[candidate, slot.device_id, slot.workload_id].append(slot)
    return [_side(kind, pk, found[key]) for key in sorted(found)]


def _slots(kind: str, pk: int) -> QuerySet[Slot]:
    """Return the runs that a name stands for.

    A study stands for what it recommends, before that for its baseline.
    """
    match kind:
        case "run":
            return measured_slots().filter(run=pk)
        case "candidate":
            return ranked_slots().filter(candidate=pk)
        case "config":
            return ranked_slots().filter(candidate__config=pk)
    advised = Recommendation.objects.filter(study=pk).values("candidate")
    there = ranked_slots().filter(study=pk)
    chosen = there.filter(candidate__in=advised)
    return chosen if chosen.exists() else there.filter(candidate__is_baseline=True)


def _side(kind: str, pk: int, slots: Sequence[Slot]) -> Side:
    # Slots are the newest first, and the first of the most frequent keys is the newest.
    [(key, _)] = Counter(slot.run.comparability_key for slot in slots).most_common(1)
    kept = [slot for slot in slots if slot.run.comparability_key == key]
    run, candidate, study = kept[0].run, kept[0].candidate, kept[0].study
    place = f"{run.device}; {counted(run.workload.connections, 'connection')}"
    at = f"{run.device_id}-{kept[0].workload_id}"
    tokens = {"run": f"run-{pk}", "config": f"config-{pk}-{at}"}
    return Side(
        token=tokens.get(kind, f"candidate-{candidate.pk}-{at}"),
        name=f"{candidate.name}, run {pk}" if kind == "run" else candidate.name,
        about=place if kind == "config" else f"{study.name}; {place}",
        runs=[slot.run for slot in reversed(kept)],
        block_of={slot.run_id: (slot.study_id, str(slot.purpose), slot.block) for slot in kept},
        candidate=candidate,
        study=study,
        is_candidate=kind not in tokens,
        left_out=len(slots) - len(kept),
    )
