"""The typed context of the study page, made from a result document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from advisor.pages.study.board_choice import BoardChoice
from advisor.pages.study.boards import BoardView, board_views, charts_url, verdicts_of
from advisor.pages.study.candidates import CandidateView, candidate_views
from advisor.pages.study.device_matrix import DeviceMatrix, device_matrices
from advisor.pages.study.search import Part, SearchView, search_view
from advisor.wording.findings import SourceFindings, source_findings
from advisor.wording.formatting import duration
from benchmarks.counted import counted
from benchmarks.models import UNDONE_RUN_STATES, RunState
from tuning.catalogue.target import ServerTraits
from tuning.export.texts import sentence
from tuning.models import SlotPurpose, StudyState
from tuning.results.document import CandidateFacts, DeviceFacts, RunFacts, StudyDocument

#: Rows of a long table, and candidates that a search made, that come at once.
ROWS = 50
# With more lines in all, of several rankings only the first is open, also in a wide window.
MAX_OPEN_ROWS = 40
# States with a result or a bound, whose log is not shown.
_HAVE_A_FIGURE = (RunState.OK, RunState.CUT_SHORT)
_NUMBERED: dict[str, str] = {SlotPurpose.REDUCED: "round ", SlotPurpose.ABLATION: "ablation "}


@dataclass(frozen=True)
class RunLine:
    """A row of the table of all runs; block: as the study counts it, pairs from 1."""

    run: RunFacts
    block: str
    candidate: CandidateFacts
    device: DeviceFacts
    connections: int

    @property
    def is_void(self) -> bool:
        return self.run.replaced_by is not None or self.run.state == RunState.DISTURBED


@dataclass(frozen=True)
class StudyPage:
    """The parts of the page that change with the study's revision."""

    document: StudyDocument
    choice: BoardChoice
    server: ServerTraits

    @cached_property
    def boards(self) -> list[BoardView]:
        """The rankings; none before a run has ended, and of a search before it races."""
        if not self.has_begun:
            return []
        return self._raced

    @cached_property
    def verdicts(self) -> list[tuple[str, str]]:
        return verdicts_of(self.document, self._raced)

    @cached_property
    def _raced(self) -> list[BoardView]:
        searches, views = self.document.study.searches, board_views(self.document, self.choice)
        return [view for view in views if view.board.is_raced or not searches]

    @property
    def has_begun(self) -> bool:
        """Whether a run that had started has ended."""
        return any(run.is_finished and run.started_at is not None for run in self.document.runs)

    @property
    def long_boards(self) -> bool:
        return sum(len(view.board.rows) for view in self.boards) > MAX_OPEN_ROWS

    @cached_property
    def search(self) -> SearchView | None:
        return search_view(self.document)

    @cached_property
    def findings(self) -> SourceFindings | None:
        return source_findings(self.document)

    @property
    def matrices(self) -> list[DeviceMatrix]:
        return device_matrices(self.document)

    @property
    def parts(self) -> int:
        """Another number when there are more rankings or charts than before."""
        drawn = sum(view.board.has_figures for view in self.boards)
        drawn += bool(self.search and self.search.found.has_figures)
        drawn += bool(self.findings and self.findings.has_figures)
        return len(self.boards) + drawn

    @property
    def charts_url(self) -> str:
        return charts_url(self.document, self.choice)

    @property
    def shows_device(self) -> bool:
        return bool(self.document.named_devices)

    @cached_property
    def given(self) -> list[CandidateView]:
        """The candidates that the study began with."""
        return self._views([one for one in self.document.candidates if not one.is_made])

    @cached_property
    def made(self) -> dict[str, list[CandidateFacts]]:
        """The candidates that the search found, and the variants that test lines of a winner."""
        there = self.document.candidates
        return {
            "found": [one for one in there if one.found_by_search],
            "variants": [one for one in there if one.taken_from_id is not None],
        }

    @property
    def runs(self) -> Part:
        return self.part("runs")

    @property
    def found(self) -> Part:
        return self.part("found")

    @property
    def variants(self) -> Part:
        return self.part("variants")

    def part(self, name: str, start: int = 0) -> Part:
        """Return the next rows of a long table. Raises KeyError for a part that is not there."""
        end = start + ROWS
        if name in self.made:
            made = self.made[name]
            return Part(name, self._views(made[start:end]), len(made), end)
        tables: dict[str, Sequence[Any]] = {"runs": self.run_lines}
        if self.search is not None:
            tables["tried"] = self.search.lines
        return Part(name, tables[name][start:end], len(tables[name]), end)

    def _views(self, candidates: Sequence[CandidateFacts]) -> list[CandidateView]:
        return candidate_views(self.document, candidates, self.server)

    @property
    def refused(self) -> list[CandidateFacts]:
        """The refused candidates, except those that a search or an ablation made."""
        there = self.document.candidates
        return [one for one in there if one.refusal and not one.is_made]

    @cached_property
    def run_lines(self) -> list[RunLine]:
        """Every run that has ended, except those that never started."""
        document, numbers = self.document, self._pair_numbers
        return [
            RunLine(
                run,
                f"pair {numbers[run.device_id, run.workload_id, run.block]}"
                if run.purpose == SlotPurpose.CONFIRMATION
                else f"{_NUMBERED.get(run.purpose, '')}{run.block}",
                document.candidate[run.candidate_id],
                document.device[run.device_id],
                document.workload[run.workload_id].connections,
            )
            for run in document.runs
            if run.is_finished and not self._never_started(run)
        ]

    @property
    def failed(self) -> list[RunLine]:
        """The runs without a result that were not measured again."""
        return [
            line
            for line in self.run_lines
            if line.run.replaced_by is None and line.run.state not in _HAVE_A_FIGURE
        ]

    @property
    def runs_done(self) -> int:
        """How many places of the study have been measured, or tried in vain."""
        return sum(run.state not in UNDONE_RUN_STATES for run in self.document.newest_runs)

    @property
    def never_started(self) -> int:
        ended = (run for run in self.document.newest_runs if run.is_finished)
        return sum(self._never_started(run) for run in ended)

    def _never_started(self, run: RunFacts) -> bool:
        """Whether it was cancelled before its start, or the server refused its candidate."""
        refused = bool(self.document.candidate[run.candidate_id].refusal)
        return run.started_at is None and (refused or run.state == RunState.CANCELLED)

    @property
    def _pair_numbers(self) -> dict[tuple[int, int, int], int]:
        """Number the confirming pairs from 1, by device, workload and block."""
        pairs = sorted(
            {
                (run.device_id, run.workload_id, run.block)
                for run in self.document.runs
                if run.purpose == SlotPurpose.CONFIRMATION
            }
        )
        numbers: dict[tuple[int, int, int], int] = {}
        for device, workload, block in pairs:
            there = [key for key in numbers if key[:2] == (device, workload)]
            numbers[device, workload, block] = len(there) + 1
        return numbers

    @property
    def design(self) -> str:
        """The compared configs, and their order."""
        twice = "the baseline twice in each (A/A)"
        if self.search is not None:
            return (
                f"a search of {counted(len(self.search.space), 'variable')}: short runs compared "
                f"with the baseline, then randomised blocks of the best few, {twice}"
            )
        candidates = counted(len(self.document.candidates), "candidate")
        blocks = counted(self.document.study.blocks, "randomised block")
        return f"{candidates} in {blocks}, {twice}"

    @property
    def course(self) -> str:
        """The events after the first blocks."""
        study = self.document.study
        race = "a race, in which the runs of those that leave go to further blocks"
        parts = [
            race if study.races else "no race",
            f"a winner is {'' if study.confirms else 'not '}confirmed in fresh pairs",
        ]
        if study.ablates:
            parts.append("then its lines are tested")
        if study.conclusions > 1:
            parts.append(f"extended {counted(study.conclusions - 1, 'time')}")
        return "; ".join(parts)

    @property
    def first_figures(self) -> str:
        """Name the first run and the time of its figures; "" once a run has ended."""
        study = self.document.study
        if study.is_finished or self.has_begun:
            return ""
        first = self._first_run
        if study.state != StudyState.RUNNING:
            first = f"the host loads the dataset and tries each config on the server; then {first}"
        if study.is_paused and not any(run.started_at for run in self.document.runs):
            first = f"nothing is measured until the study is resumed. After that, {first}"
        there = "when that run has ended"
        if study.searches:
            there = "when the baseline and a config have been measured"
        figures = f"The first figures, in a table and in charts, are on this page {there}."
        return f"{sentence(first)} {figures}"

    @property
    def _first_run(self) -> str:
        document, first = self.document, self.document.current
        if first is None:
            return "the first run measures the first config"
        several = len(document.devices) > 1
        on = f" on {document.device[first.device_id].name}" if several else ""
        load = document.workload[first.workload_id]
        return (
            f"the first run measures {document.candidate[first.candidate_id].name}{on}, for "
            f"{duration(load.measure_s)} after {duration(load.warmup_s)} of warm-up"
        )
