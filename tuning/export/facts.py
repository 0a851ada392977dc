"""The parts of an export: a recommendation, the evidence for it and the server it is for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from benchmarks.counted import counted
from benchmarks.drivers.workloads import TPCC
from benchmarks.servers.binary import Flavour
from benchmarks.storage.kinds import kind_words
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import ServerTraits, parse_version
from tuning.configs.line import Action, Note
from tuning.results.confidence import Confidence, confidence_of
from tuning.results.document import (
    Board,
    CandidateFacts,
    DeviceFacts,
    Figures,
    LinesEffect,
    Recommendation,
    StudyDocument,
)
from tuning.scale_model.model import ScaleModel
from tuning.statistics.confirmation import ConfirmationState
from tuning.statistics.data import Metric
from tuning.statistics.estimate import Estimate


@dataclass(frozen=True)
class Effect:
    """The effect measured with the workload; None is "no figure". unit: that of throughputs.

    `throughput` is the ratio to the baseline's, from the `fresh_pairs` that confirmed it or, if
    that is 0, from `blocks` blocks. `objective` is of `metric`, where that decided.
    """

    workload: str
    unit: str
    runs: int
    failures: int
    blocks: int
    figures: Figures
    baseline: Figures
    throughput: Estimate | None = None
    fresh_pairs: int = 0
    metric: Metric = Metric.THROUGHPUT
    objective: Estimate | None = None


@dataclass(frozen=True)
class ExportFacts:
    """A recommendation and its evidence, as text and plain values.

    `knobs` are normalised and passed the config check for `server`. `candidate_variables` and
    `baseline_variables` are SHOW GLOBAL VARIABLES (lower-case names) of a successful run of each,
    empty if there is none. `baseline_knobs` are those that the baseline set: only a baseline that
    set nothing shows the server's defaults. `device_untested`: what the device leaves open. With a
    scale model `model` the knobs are those measured; `as_measured` leaves them so, otherwise the
    lines are sized back to the real server. `ablation`: what lines of the winner contribute;
    `winner_knobs`: all its lines. `file`: the user's own file that the recommendation came from
    (None: none), as bytes. `place`: what tells the board from others of the study. `equals`: who
    does equally well. `recovery`: how long its crash recovery took, "" if it was not timed.
    `limit`: what kept it from being faster. `recommendation`: its primary key. `can_be_scaled`:
    whether a scale model can be made of the workload.
    """

    study: str
    date: str
    device: str
    server: ServerTraits
    candidate: str
    baseline: str
    knobs: Mapping[str, str]
    effect: Effect
    source: str = ""
    verdict: str = ""
    data_bytes: int = 0
    notes: Sequence[Note] = ()
    candidate_variables: Mapping[str, str] = field(default_factory=dict)
    baseline_variables: Mapping[str, str] = field(default_factory=dict)
    device_untested: str = ""
    study_url: str = ""
    baseline_knobs: Mapping[str, str] = field(default_factory=dict)
    proportion: str = ""
    model: ScaleModel | None = None
    as_measured: bool = False
    ablation: Sequence[LinesEffect] = ()
    winner_knobs: Mapping[str, str] = field(default_factory=dict)
    file: bytes | None = None
    recommendation: int = 0
    can_be_scaled: bool = True
    place: str = ""
    confidence: Confidence = field(default_factory=Confidence)
    equals: Sequence[str] = ()
    recovery: str = ""
    limit: str = ""

    @property
    def left_out(self) -> list[LinesEffect]:
        """The lines of the winner that the candidate lacks because they contribute nothing."""
        return [
            one
            for one in self.ablation
            # The baseline may have another value of the line, which then is in the file.
            if not any(self.knobs.get(n) == self.winner_knobs.get(n) for n in one.names)
        ]

    def own_effect(self, name: str) -> LinesEffect | None:
        """The finding of ablation on a line that is kept; None if nothing."""
        left_out = self.left_out
        kept = (one for one in self.ablation if one not in left_out)
        return next((one for one in kept if name in one.names), None)

    @property
    def keeps_baseline(self) -> bool:
        """Whether the recommendation is to keep the baseline."""
        return self.candidate == self.baseline

    @property
    def sizes_back(self) -> ScaleModel | None:
        """The scale model whose values are to be sized back to the real server."""
        return None if self.as_measured else self.model

    def not_tested(self) -> Iterator[str]:
        """Yield what the study did not test."""
        yield "other devices, versions, hosts, workloads, connections and more data"
        if self.model is not None:
            yield f"the real server (every figure is from the {self.model.title})"
        recovery = "" if self.recovery else " and crash recovery"
        yield f"restart{recovery} times, replication, backups, schema changes"
        if self.device_untested:
            yield self.device_untested


def export_facts(
    document: StudyDocument,
    board: Board,
    variables: Mapping[int, Mapping[str, str]],
    files: Mapping[int, bytes],
    *,
    keeps_lines: bool = False,
    as_measured: bool = False,
    study_url: str = "",
) -> ExportFacts:
    """Return what an export of the board's recommendation is made of.

    variables, files: what a run read back, and the user's own file, by id of the candidate.
    keeps_lines: the winner with all its lines, also those that contribute nothing measurable.
    """
    found = board.recommendation
    if found is None:
        raise ValueError("the board has no recommendation")
    study, device = document.study, document.device[board.device_id]
    baseline = document.candidate[board.baseline_id]
    whole = found.whole_id if keeps_lines else None
    winner = document.candidate[found.candidate_id if whole is None else whole]
    number = re.match(r"[0-9.]+", study.server_version)
    version = parse_version(number[0].rstrip(".") if number else "")
    server = ServerTraits(Flavour(study.flavour), version)
    model = ScaleModel.from_json(study.scale_model)
    only_here = model.only_here(server) if model else {}
    ablation = board.ablation
    if ablation and ablation.whole_id not in (found.candidate_id, found.whole_id):
        ablation = None
    ended = study.finished_at or datetime.now(UTC)
    row, standing = board.row(winner.id), board.advice.standing(found.whole_id or winner.id)
    tied = standing.tied_with if standing and winner.id != baseline.id else ()
    better = {one.candidate_id for one in board.advice.standings if one.better}
    asked = f" This file has all lines of {winner.name}, as asked for." if whole else ""
    return ExportFacts(
        study=f"{study.id}, {study.name} (template {study.template})",
        date=ended.astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        device=_device_text(device),
        server=server,
        candidate=winner.name,
        baseline=baseline.name,
        knobs=winner.knobs,
        effect=_effect(document, board, found, winner),
        source=_origin(winner),
        verdict=found.sentence + asked,
        data_bytes=document.workload[board.workload_id].data_bytes,
        notes=[Note(one["name"], Action(one["action"]), one["detail"]) for one in winner.notes],
        candidate_variables=variables.get(winner.merged_into_id or winner.id, {}),
        baseline_variables={
            name: value
            for name, value in variables.get(baseline.id, {}).items()
            if name not in only_here
        },
        device_untested=_device_untested(device, winner),
        study_url=study_url,
        baseline_knobs={
            name: value for name, value in baseline.knobs.items() if only_here.get(name) != value
        },
        proportion=board.proportion,
        model=model,
        as_measured=as_measured,
        ablation=ablation.effects if ablation else (),
        winner_knobs=document.candidate[ablation.whole_id].knobs if ablation else {},
        file=next(filter(None, map(files.get, _origins(document, winner, baseline))), None),
        recommendation=found.id,
        can_be_scaled=document.workload[board.workload_id].kind == TPCC,
        place=_place(document, board),
        confidence=confidence_of(document, board, found),
        equals=[document.candidate[pk].name for pk in tied if pk in better],
        recovery=_recovery(board, winner, baseline),
        limit=row.limit if row else "",
    )


def _place(document: StudyDocument, board: Board) -> str:
    """Return what tells the board from the study's others, as "on nvme with 8 connections"."""
    words = []
    if board.device_id in document.named_devices:
        words.append(f"on {document.short_names[board.device_id]}")
    if len(document.workloads) > 1:
        connections = document.workload[board.workload_id].connections
        words.append(f"with {counted(connections, 'connection')}")
    if board.durability != Durability.D0:
        words.append(f"at durability {board.durability}")
    return " ".join(words)


def _recovery(board: Board, winner: CandidateFacts, baseline: CandidateFacts) -> str:
    """Return how long both took to serve again after a kill, at most; "" if not timed."""
    slowest = {one.candidate_id: max(one.seconds) for one in board.crash_tests if one.seconds}
    if winner.id not in slowest:
        return ""
    theirs = slowest.get(baseline.id)
    beside = f" ({baseline.name}: {theirs:.1f} s)" if theirs and winner is not baseline else ""
    return f"crash recovery in {slowest[winner.id]:.1f} s{beside}"


def _origins(
    document: StudyDocument, winner: CandidateFacts, baseline: CandidateFacts
) -> Iterator[int]:
    """The candidates whose file the export may be a patch of, the nearest first."""
    current: CandidateFacts | None = winner
    while current is not None:
        yield current.id
        current = document.candidate.get(current.taken_from_id or 0)
    yield baseline.id


def _origin(candidate: CandidateFacts) -> str:
    """Where its values come from; of a config that a search made, why it tried that one."""
    if not candidate.found_by_search:
        return candidate.source
    return f"made by the search of this study; why it was tried then: {candidate.source}"


def _device_text(device: DeviceFacts) -> str:
    what = device.emulation_text or kind_words(device.kind)
    parts = [what, device.model, device.block_device, device.file_system]
    logs = f", redo logs in {device.log_dir}" if device.log_dir else ""
    return f"{', '.join(part for part in parts if part)}: {device.data_dir}{logs}"


def _device_untested(device: DeviceFacts, winner: CandidateFacts) -> str:
    """Return what the study's device leaves open; the file itself cannot place a redo log."""
    left = []
    if device.is_throttled:
        left.append("a real device of that kind: this one was emulated, without seek times")
    if device.log_dir and winner.logs_with_data:
        left.append("the redo log on its separate device: it was on the data device in this study")
    elif device.log_dir:
        left.append(
            f"the redo log on the data device: it was in {device.log_dir}, so set "
            "innodb_log_group_home_dir to a directory there as well"
        )
    return "; ".join(left)


def _effect(
    document: StudyDocument, board: Board, found: Recommendation, winner: CandidateFacts
) -> Effect:
    """The effect of the recommended config; for a confirmed one that of the fresh pairs."""
    default = board.row(board.baseline_id)
    pairs = next((one for one in board.confirmations if one.candidate_id == winner.id), None)
    reduced = board.ablation.reduced if board.ablation else None
    is_reduced = found.whole_id is not None and winner.id == found.candidate_id
    measured = reduced if is_reduced else board.row(winner.id)
    standing = board.rankings[Metric.THROUGHPUT].standing(winner.id)
    blocks, fresh_pairs = standing.blocks if standing else 0, 0
    effect, objective = found.effect, found.objective_effect
    if is_reduced and reduced is not None:
        blocks = fresh_pairs = reduced.blocks
    elif pairs is not None and found.confirmation == ConfirmationState.CONFIRMED:
        fresh_pairs = pairs.throughput_pairs
        if winner.id == found.whole_id and pairs.throughput is not None:
            effect, objective = pairs.throughput, objective and pairs.estimate
    return Effect(
        workload=document.workload[board.workload_id].name,
        unit=document.unit_on(board),
        runs=measured.runs if measured else 0,
        failures=measured.failures if measured else 0,
        blocks=blocks,
        figures=measured.figures if measured else Figures(),
        baseline=default.figures if default else Figures(),
        throughput=effect,
        fresh_pairs=fresh_pairs,
        metric=found.objective,
        objective=objective,
    )
