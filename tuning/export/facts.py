"""A recommendation with the evidence for it and the server it is for, as its files need them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

from benchmarks.servers.binary import Flavour
from benchmarks.storage.kinds import kind_words
from tuning.catalogue.target import ServerTraits, parse_version
from tuning.results.document import (
    Ablation,
    Board,
    CandidateFacts,
    DeviceFacts,
    LinesEffect,
    Recommendation,
    StudyDocument,
    StudyFacts,
    WorkloadFacts,
)
from tuning.scale_model.model import ScaleModel


def server_of(study: StudyFacts) -> ServerTraits:
    """Return the server that the study measured."""
    number = re.match(r"[0-9.]+", study.server_version)
    version = parse_version(number[0].rstrip(".") if number else "")
    return ServerTraits(Flavour(study.flavour), version)


@dataclass(frozen=True)
class ExportFacts:
    """A board's recommendation, and what the document does not have.

    candidate_variables, baseline_variables: SHOW GLOBAL VARIABLES (lower-case names) of a
    successful run of each, empty if there is none. file: the user's own file that the
    recommendation came from, if any. study_url: the page of the study, for the head of a file.
    """

    document: StudyDocument
    board: Board
    found: Recommendation
    candidate_variables: Mapping[str, str] = field(default_factory=dict)
    baseline_variables: Mapping[str, str] = field(default_factory=dict)
    file: bytes | None = None
    study_url: str = ""

    @property
    def candidate(self) -> CandidateFacts:
        """The recommended config."""
        return self.document.candidate[self.found.candidate_id]

    @property
    def baseline(self) -> CandidateFacts:
        return self.document.candidate[self.board.baseline_id]

    @property
    def device(self) -> DeviceFacts:
        return self.document.device[self.board.device_id]

    @property
    def workload(self) -> WorkloadFacts:
        return self.document.workload[self.board.workload_id]

    @property
    def keeps_baseline(self) -> bool:
        return self.found.candidate_id == self.board.baseline_id

    @cached_property
    def server(self) -> ServerTraits:
        return server_of(self.document.study)

    @cached_property
    def model(self) -> ScaleModel | None:
        """The scale model by which the lines are sized back to the real server."""
        return ScaleModel.from_json(self.document.study.scale_model)

    @property
    def knobs(self) -> Mapping[str, str]:
        """The recommended values, normalised; the config check passed them for `server`."""
        return self.candidate.knobs

    @cached_property
    def baseline_knobs(self) -> Mapping[str, str]:
        """The baseline's own values: only a baseline that set nothing shows the defaults."""
        only_here = self.model.only_here(self.server) if self.model else {}
        knobs = self.baseline.knobs.items()
        return {name: value for name, value in knobs if only_here.get(name) != value}

    @property
    def study(self) -> str:
        study = self.document.study
        return f"{study.id}, {study.name} (template {study.template})"

    @property
    def date(self) -> str:
        ended = self.document.study.finished_at or datetime.now(UTC)
        return ended.astimezone().strftime("%Y-%m-%d %H:%M %Z")

    @property
    def _ablation(self) -> Ablation | None:
        """The ablation of the winner that is recommended, whole or reduced."""
        found, ours = self.board.ablation, (self.found.candidate_id, self.found.whole_id)
        return found if found is not None and found.whole_id in ours else None

    @property
    def winner_knobs(self) -> Mapping[str, str]:
        """All lines of the winner; empty without an ablation."""
        return self.document.candidate[self._ablation.whole_id].knobs if self._ablation else {}

    @cached_property
    def left_out(self) -> Sequence[LinesEffect]:
        """The lines of the winner that the candidate lacks because they contribute nothing."""
        whole = self.winner_knobs
        # The baseline may have another value of the line, which then is in the file.
        return [
            one
            for one in (self._ablation.effects if self._ablation else ())
            if not any(self.knobs.get(name) == whole.get(name) for name in one.names)
        ]

    def own_effect(self, name: str) -> LinesEffect | None:
        """Return the finding of ablation on a line that is kept; None if nothing."""
        effects = self._ablation.effects if self._ablation else ()
        kept = (one for one in effects if one not in self.left_out)
        return next((one for one in kept if name in one.names), None)

    @property
    def recovery(self) -> str:
        """How long both took to serve again after a kill, at most; "" if not timed."""
        tests = self.board.crash_tests
        slowest = {one.candidate_id: max(one.seconds) for one in tests if one.seconds}
        ours, theirs = slowest.get(self.candidate.id), slowest.get(self.baseline.id)
        if ours is None:
            return ""
        compared = theirs is not None and not self.keeps_baseline
        beside = f" ({self.baseline.name}: {theirs:.1f} s)" if compared else ""
        return f"crash recovery in {ours:.1f} s{beside}"

    @property
    def device_text(self) -> str:
        device = self.device
        what = device.emulation_text or kind_words(device.kind)
        parts = [what, device.model, device.block_device, device.file_system]
        logs = f", redo logs in {device.log_dir}" if device.log_dir else ""
        return f"{', '.join(part for part in parts if part)}: {device.data_dir}{logs}"

    @property
    def device_untested(self) -> str:
        """Say what the study's device leaves open; the file cannot place a redo log."""
        return "; ".join(self._untested())

    def _untested(self) -> Iterator[str]:
        if self.device.is_throttled:
            yield "a real device of that kind: this one was emulated, without seek times"
        if self.device.log_dir and self.candidate.logs_with_data:
            yield "the redo log on its separate device: it was on the data device in this study"
        elif self.device.log_dir:
            yield (
                f"the redo log on the data device: it was in {self.device.log_dir}, so set "
                "innodb_log_group_home_dir to a directory there as well"
            )

    @property
    def not_tested(self) -> list[str]:
        """Return the conditions that the study did not test."""
        recovery = "" if self.recovery else " and crash recovery"
        texts = [
            "other devices, versions, hosts, workloads, connections and more data",
            f"the real server (every figure is from the {self.model.title})" if self.model else "",
            f"restart{recovery} times, replication, backups, schema changes",
            self.device_untested,
        ]
        return [text for text in texts if text]
