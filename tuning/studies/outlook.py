"""What a requested study will take, before it is requested: runs, time and disk space.

Looks at the rows of its host only. A request is planned in full, and its files are checked, when
it is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.inventory.stored import inventory_of
from tuning.studies.arrangement import arrange
from tuning.studies.crash_forecast import crash_test_s
from tuning.studies.crash_tests import with_crash_tests
from tuning.studies.forecast import ASSUMED_OVERHEAD_S
from tuning.studies.hosts import host_for
from tuning.studies.request import StudyRequest, sizes_of
from tuning.studies.room import needed_on
from tuning.study_templates.loader import load_template


@dataclass(frozen=True)
class Disk:
    """A directory, the bytes that the study needs there and those that it may use."""

    path: Path
    needed: int
    usable: int


@dataclass(frozen=True)
class Outlook:
    """`candidates` are those of the template and the given files, the baseline included; with
    `proposes` the advisor adds some of its own. `runs` is None for a search, whose time is fixed
    and not its number of runs; else the most that its blocks can take. `seconds` are those of all
    blocks or of the budget, without loading data and confirming a winner; `crash_tests_s` those of
    the crash tests after them, 0 without any.
    """

    host: str
    candidates: int
    proposes: bool
    devices: int
    connections: tuple[int, ...]
    runs: int | None
    seconds: float
    crash_tests_s: float
    confirms: bool
    disks: list[Disk]

    @property
    def rankings(self) -> int:
        """One for each device and number of connections."""
        return self.devices * len(self.connections)


def outlook(request: StudyRequest) -> Outlook:
    """Raises TuningError or BenchmarkError, with the field that it is about."""
    template = load_template(request.template)
    host = host_for(request.host, request.devices)
    inventory = inventory_of(host)
    sizes = sizes_of(request, template, inventory.logical_cpus)
    arranged = arrange(request, template, host, inventory, sizes)
    candidates = len(template.candidates) + template.copies_of_baseline + len(request.configs)
    places = len(arranged.devices) * len(sizes.connections)
    minutes = request.budget_minutes or template.budget_minutes
    runs: int | None = None
    if not template.searches:
        # The baseline runs twice in each block.
        runs = places * sizes.blocks * (candidates + 1)
        seconds = runs * (sizes.warmup_s + sizes.measure_s + ASSUMED_OVERHEAD_S)
        seconds = seconds if minutes is None else min(seconds, minutes * 60.0)
    else:
        seconds = (minutes or 0) * 60.0
    kills = with_crash_tests(request, searches=template.searches)
    confirms = template.confirms if request.confirms is None else request.confirms
    return Outlook(
        host=host.name,
        candidates=candidates,
        proposes=bool(template.proposals) or template.searches,
        devices=len(arranged.devices),
        connections=sizes.connections,
        runs=runs,
        seconds=seconds,
        # Of the baseline and a winner on each place.
        crash_tests_s=2 * places * crash_test_s(sizes) if kills else 0.0,
        confirms=confirms or template.searches,
        disks=[
            Disk(*one)
            for one in needed_on(inventory, arranged.binary, arranged.devices, sizes.warehouses)
        ],
    )
