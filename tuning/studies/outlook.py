"""What a requested study will take, before it is requested: runs, time and disk space.

Looks at the rows of its host only. A request is planned in full, and its files are checked, when
it is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from pathlib import Path

from tuning.catalogue.knob import Durability
from tuning.requests.study import StudyRequest
from tuning.statistics.confirmation import most_pairs
from tuning.strategy.apart.take_apart import MAX_APART_RUNS
from tuning.studies.arrangement import arrange
from tuning.studies.crash_forecast import crash_test_s
from tuning.studies.crash_tests import with_crash_tests
from tuning.studies.forecast import ASSUMED_OVERHEAD_S
from tuning.studies.lifecycle import design_of
from tuning.studies.room import needed_on
from tuning.studies.template_time import template_minutes


@dataclass(frozen=True)
class Disk:
    """A directory, the bytes that the study needs there and those that it may use."""

    path: Path
    needed: int
    usable: int


@dataclass(frozen=True)
class Outlook:
    """`candidates` are those of the template and the given files, the baseline included; what it
    `searches` comes on top. `runs` is None where the time is fixed and not the number of runs;
    else the most that its blocks can take. `pair_runs` are the most that confirm winners after
    them, `apart_runs` those that then take winners apart. `block_s` and `seconds` are those of the
    blocks and of all of these, or of the budget, without loading data; `crash_tests_s` those of
    the crash tests after them, 0 without any.
    """

    host: str
    candidates: int
    searches: bool
    devices: int
    connections: tuple[int, ...]
    runs: int | None
    pair_runs: int
    apart_runs: int
    block_s: float
    seconds: float
    crash_tests_s: float
    disks: tuple[Disk, ...]

    @property
    def rankings(self) -> int:
        """One for each device and number of connections."""
        return self.devices * len(self.connections)

    @property
    def most_runs(self) -> int:
        """All of them."""
        return (self.runs or 0) + self.pair_runs + self.apart_runs


def outlook(request: StudyRequest) -> Outlook:
    """Raises TuningError or BenchmarkError, with the field that it is about."""
    arranged = arrange(request)
    template, inventory, sizes = arranged.template, arranged.inventory, arranged.sizes
    candidates = len(template.candidates) + template.copies_of_baseline + len(request.configs)
    places = len(arranged.devices) * len(sizes.connections)
    design = design_of(request, template, searches=template.searches)
    minutes = request.budget_minutes or template.budget_minutes
    run_s = sizes.warmup_s + sizes.measure_s + ASSUMED_OVERHEAD_S
    runs: int | None = None
    pair_runs = apart_runs = 0
    if minutes is None:
        # The baseline runs twice in each block; each durability class may have a winner.
        runs = places * sizes.blocks * (candidates + 1)
        winners = places * (list(Durability).index(arranged.situation.durability) + 1)
        pair_runs = design["confirms"] * winners * 2 * most_pairs(sizes.blocks)
        apart_runs = design["takes_apart"] * winners * MAX_APART_RUNS
        cpus, devices = inventory.logical_cpus, len(arranged.devices)
        end = template_minutes(template, sizes, cpus, configs=candidates, devices=devices)
        if end is not None:  # of this only what follows the pairs is kept short
            apart_runs = min(apart_runs, max(floor(end * 60 / run_s) - runs - pair_runs, 0))
    block_s = (runs or 0) * run_s
    after_s = (pair_runs + apart_runs) * run_s
    kills = with_crash_tests(request, searches=template.searches)
    return Outlook(
        host=arranged.host.name,
        candidates=candidates,
        searches=template.searches,
        devices=len(arranged.devices),
        connections=sizes.connections,
        runs=runs,
        pair_runs=pair_runs,
        apart_runs=apart_runs,
        block_s=block_s,
        seconds=block_s + after_s if minutes is None else minutes * 60.0,
        # Of the baseline and a winner on each place.
        crash_tests_s=2 * places * crash_test_s(sizes) if kills else 0.0,
        disks=tuple(
            Disk(*one)
            for one in needed_on(inventory, arranged.binary, arranged.devices, sizes.warehouses)
        ),
    )
