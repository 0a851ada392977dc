"""The result document of a study: all that is shown of it, as one versioned document.

`tuning.results.build` makes it from rows. Figures are numbers in the units of their names; ratios
are relative to the baseline; None is "no figure". Things are named by their primary keys. Series,
variables that a server read back, and logs of runs stay outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cached_property
from math import isfinite
from statistics import median
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from tuning.configs.readback import SettingDifference
from tuning.statistics.data import Metric
from tuning.statistics.estimate import Estimate
from tuning.statistics.verdict import Drift
from tuning.strategy.search.importance import Importance
from tuning.study_templates.evaluation import Finding
from tuning.study_templates.loader import Claim

#: Rises with every change of the classes below, and of what is computed for them.
SCHEMA_VERSION = 3


def finite(value: float | None) -> float | None:
    """Return the figure; None for infinity, which JSON does not have."""
    return value if value is not None and isfinite(value) else None


class Part(BaseModel):
    """A part of the document."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def copied_from(cls, row: object, **others: Any) -> Self:
        """Return a part with the row's values of the same names, and with the others."""
        names = cls.model_fields.keys() - others.keys()
        return cls(**{name: getattr(row, name) for name in names}, **others)


class Figures(Part):
    """Throughput per minute, times in ms, CPU cycles per transaction."""

    throughput: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    server_path_length: float | None = None
    host_path_length: float | None = None

    def of(self, metric: Metric) -> float | None:
        value: float | None = getattr(self, metric.value)
        return value


#: Cycles of the host per transaction in a run, % of the CPUs in user and in system code, and bytes
#: written per transaction.
Costs = tuple[float | None, float | None, float | None, float | None]


class StudyFacts(Part):
    """The request and the state of the study; objective: the metric that decides."""

    id: int
    name: str
    template: str
    host_id: int
    server: str
    flavour: str
    server_version: str
    state: str
    is_finished: bool
    is_paused: bool
    is_concluded: bool
    reason_code: str
    reason: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    durability: str
    blocks: int
    conclusions: int
    races: bool
    confirms: bool
    ablates: bool
    searches: bool
    is_gate: bool
    objective: Metric
    limits: tuple[str, ...]
    scale_model: dict[str, Any] | None
    memory_bytes: int | None
    proportions: tuple[str, ...]


class DeviceFacts(Part):
    """A device of the study. emulation_label: "" for a real one."""

    id: int
    name: str
    kind: str
    what: str
    data_dir: str
    log_dir: str
    model: str
    block_device: str
    file_system: str
    emulation_label: str
    emulation_text: str
    emulation_limits: str
    is_throttled: bool
    memory_limit_bytes: int | None


class WorkloadFacts(Part):
    """kind: as typed, such as tpcc. title: its size in words. unit: that of its throughput."""

    id: int
    name: str
    kind: str
    title: str
    unit: str
    data_bytes: int
    driver: str
    connections: int
    warmup_s: int
    measure_s: int


class CandidateFacts(Part):
    """A config of the study; notes, lines, checks: as in `tuning.models.Candidate`.

    changes: how many variables it sets otherwise than the baseline. refusal_log: the log of the
    server that refused it.
    """

    id: int
    name: str
    position: int
    is_baseline: bool
    durability: str
    config_id: int
    config_hash: str
    knobs: dict[str, str]
    source: str
    refusal: str
    refusal_log: str
    found_by_search: bool
    taken_from_id: int | None
    without: tuple[str, ...]
    merged_into_id: int | None
    logs_with_data: bool
    changes: int
    notes: tuple[dict[str, Any], ...]
    lines: tuple[dict[str, Any], ...]
    checks: tuple[dict[str, Any], ...]

    @property
    def is_made(self) -> bool:
        """Whether the advisor made the config during the study."""
        return self.found_by_search or self.taken_from_id is not None


class RunFacts(Part):
    """A run. replaced_by: the run by which it was measured again.

    write_debt: `benchmarks.telemetry.write_debt.WriteDebt`. disturbances: why it is void.
    measure_s: how long its workload is measured. unwatched: the checks that were off.
    """

    id: int
    order: int
    block: int
    purpose: str
    replicate: int
    candidate_id: int
    device_id: int
    workload_id: int
    state: str
    step: str
    reason: str
    is_finished: bool
    started_at: datetime | None
    finished_at: datetime | None
    replaced_by: int | None
    figures: Figures
    throughput_at_most: float | None
    cpu_user_pct: float | None
    cpu_sys_pct: float | None
    cpu_iowait_pct: float | None
    cpu_steal_pct: float | None
    server_cores: float | None
    driver_cpu_ms_per_transaction: float | None
    bytes_written_per_transaction: float | None
    data_read_iops: float | None
    data_write_iops: float | None
    data_write_mb_s: float | None
    redo_mb_s: float | None
    measured_s: float | None
    trend_pct: float | None
    still_warming: bool
    debt_grew: bool
    write_debt: dict[str, Any] | None
    disturbances: tuple[dict[str, Any], ...]
    measure_s: int
    comparability_key: str
    unwatched: tuple[str, ...]

    @property
    def costs(self) -> Costs:
        return (
            self.figures.host_path_length,
            self.cpu_user_pct,
            self.cpu_sys_pct,
            self.bytes_written_per_transaction,
        )

    @property
    def place(self) -> tuple[int, int]:
        return self.device_id, self.workload_id

    @property
    def is_ok(self) -> bool:
        return self.state == "ok"

    @property
    def is_done(self) -> bool:
        """Finished, and not because it was cancelled."""
        return self.is_finished and self.state != "cancelled"

    @property
    def wall_s(self) -> float | None:
        """Seconds from start to end; None while unknown."""
        if self.started_at is None or self.finished_at is None:
            return None
        return (self.finished_at - self.started_at).total_seconds()


class Verdict(Part):
    """candidate_id: the config to use: the winner, the best of a tie, or the baseline."""

    kind: str
    candidate_id: int
    sentence: str


class Standing(Part):
    """A candidate in the ranking by one metric; fields as in `tuning.statistics.ranking.Ranked`.

    at_most: an upper bound, of a candidate that was cut short and has no estimate.
    """

    candidate_id: int
    rank: int | None
    estimate: Estimate | None
    blocks: int
    tied_with: tuple[int, ...]
    better: bool
    worse: bool
    at_most: float | None

    @property
    def ratio(self) -> float | None:
        """The ratio to the baseline; None without an estimate."""
        return self.estimate.ratio if self.estimate else None


class Ranking(Part):
    """A board by one metric, best first. noise_floor, run_noise: as shares.

    same: the replicates of the baseline divided by its first runs.
    """

    metric: Metric
    standings: tuple[Standing, ...]
    verdict: Verdict
    winner_id: int | None
    noise_floor: float | None
    run_noise: float | None
    same: float | None
    blocks: int
    drift: Drift | None

    @property
    def confidence(self) -> float | None:
        """The confidence of all intervals at once; None without an interval."""
        estimates = (one.estimate for one in self.standings if one.estimate)
        return next((one.confidence for one in estimates if one.confidence is not None), None)

    def standing(self, candidate_id: int) -> Standing | None:
        """The place of a candidate; None if it is not in this ranking."""
        return next((one for one in self.standings if one.candidate_id == candidate_id), None)


class Elimination(Part):
    """The reason why a candidate left the race."""

    after_block: int
    reason: str


class Price(Part):
    """The price of a transaction on the whole host: 10^6 CPU cycles and kB written; medians."""

    user_megacycles: float | None
    sys_megacycles: float | None
    written_kb: float | None

    @classmethod
    def of(cls, runs: Iterable[Costs]) -> Self:
        """Return the medians over these runs; cycles are split as the CPU time is."""
        users, systems, written = [], [], []
        for cycles, user, system, bytes_written in runs:
            if bytes_written is not None:
                written.append(bytes_written / 1e3)
            if cycles and user is not None and system is not None and user + system > 0:
                users.append(cycles / 1e6 * user / (user + system))
                systems.append(cycles / 1e6 * system / (user + system))
        return cls(
            user_megacycles=median(users) if users else None,
            sys_megacycles=median(systems) if systems else None,
            written_kb=median(written) if written else None,
        )


class BoardRow(Part):
    """A candidate's line on a board, whatever it is ranked by: medians over its runs.

    disturbed, warming, owing count its void runs, those whose throughput had a trend, and those
    that postponed writes. missed: the limits that it misses, in words. limit: what kept it from
    being faster, in a sentence; "" if unknown.
    """

    candidate_id: int
    outcome: str
    figures: Figures
    runs: int
    failures: int
    cut_short: int
    disturbed: int
    warming: int
    owing: int
    left: Elimination | None
    missed: str
    limit: str
    price: Price


class Pair(Part):
    """A fresh pair; throughputs."""

    block: int
    winner: float | None
    baseline: float | None
    is_finished: bool


class Confirmation(Part):
    """The fresh pairs of a winner. state: "measuring" before all are measured.

    estimate is of the objective, throughput of throughput, whatever the objective. whole_pairs,
    throughput_pairs: how many pairs have both figures.
    """

    candidate_id: int
    pairs: tuple[Pair, ...]
    pairs_done: int
    state: str
    whole_pairs: int
    estimate: Estimate | None
    throughput_pairs: int
    throughput: Estimate | None
    sentence: str


class Debtor(Part):
    """A candidate on a board of which `marked` of its `runs` postponed writes.

    put_off: median share of the writes that its marked runs left for later. seconds_to_settle: how
    long a run would have to be, None if unknown. is_settled: whether its longest runs were long
    enough.
    """

    candidate_id: int
    marked: int
    runs: int
    put_off: float
    seconds_to_settle: float | None
    is_settled: bool


class CrashTest(Part):
    """A crash test that has ended; kills as in `benchmarks.models.CrashTest`.

    too_slow: why the recovery rules the candidate out, in words.
    """

    candidate_id: int
    state: str
    reason: str
    seconds: tuple[float, ...]
    kills: tuple[dict[str, Any], ...]
    too_slow: str
    sentence: str


class LinesEffect(Part):
    """The effect of some lines together; most often of one line.

    estimate: the metric with them divided by without; its interval holds for all lines at once.
    reason: why they stay. is_left_out: whether nothing measurable is lost without them.
    """

    names: tuple[str, ...]
    state: str
    estimate: Estimate | None
    blocks: int
    reason: str
    text: str
    is_left_out: bool


class Reduced(Part):
    """The winner without the lines that contribute nothing, from its own rounds.

    figures: medians over its `runs` successful runs, which lie in `blocks` rounds.
    """

    candidate_id: int
    rounds: int
    rounds_done: int
    state: str
    to_baseline: Estimate | None
    to_whole: Estimate | None
    throughput: Estimate | None
    runs: int
    failures: int
    blocks: int
    figures: Figures
    debtor: Debtor | None
    is_advice: bool


class Ablation(Part):
    """The winner without some of its lines. margin: what may be lost at most, as a log.

    effects: of every line that differs from the baseline. is_over, is_concluded: whether the study
    has ended, and early, on request. is_left: whether more time would decide more. no_use: why the
    config without the lines that contribute nothing was not measured, if not for lack of time.
    shortage: why lines were not tested.
    """

    whole_id: int
    metric: Metric
    margin: float
    effects: tuple[LinesEffect, ...]
    reduced: Reduced | None
    is_over: bool
    is_concluded: bool
    is_left: bool
    no_use: str
    shortage: str


class Recommendation(Part):
    """The stored answer. effect: on throughput; objective_effect: where another metric decided.

    whole_id: the confirmed winner, if the candidate is that without some of its lines.
    certainty: a phrase.
    """

    id: int
    candidate_id: int
    whole_id: int | None
    kind: str
    effect: Estimate
    objective: Metric
    objective_effect: Estimate | None
    noise_floor: float | None
    confirmation: str
    sentence: str


class Board(Part):
    """The ranking of one durability class on one device with one workload.

    rows: best first by throughput. rankings: by each metric, of all candidates. advice: by the
    objective, of those that can be recommended. pareto: whom no other beats by all metrics.
    excluded: runs with figures that cannot be compared. leader_id: the config whose lead decides.
    blocks_begun: those of which a run has ended. is_raced: whether it has blocks at all.
    proportion: memory and data in words.
    """

    device_id: int
    workload_id: int
    durability: str
    proportion: str
    baseline_id: int
    rows: tuple[BoardRow, ...]
    rankings: dict[Metric, Ranking]
    advice: Ranking
    leader_id: int | None
    has_figures: bool
    is_raced: bool
    blocks_begun: int
    excluded: tuple[int, ...]
    pareto: tuple[int, ...]
    failed: tuple[int, ...]
    confirmations: tuple[Confirmation, ...]
    debtors: tuple[Debtor, ...]
    debt_sentence: str
    crash_tests: tuple[CrashTest, ...]
    ablation: Ablation | None
    recommendation: Recommendation | None

    @property
    def key(self) -> str:
        """Its name in pages and addresses."""
        return f"board-{self.device_id}-{self.workload_id}-{self.durability}"

    @property
    def place(self) -> tuple[int, int]:
        return self.device_id, self.workload_id

    def row(self, candidate_id: int) -> BoardRow | None:
        """The line of a candidate; None if it is not on the board."""
        return next((one for one in self.rows if one.candidate_id == candidate_id), None)


class ChangedLine(Part):
    """A line to set or to leave out; values as in a my.cnf.

    before: in the baseline, "not set" if unknown. value: "the server's default" of a line to leave
    out.
    """

    name: str
    before: str
    value: str


class Answer(Part):
    """The answer of a board in the words that page, terminal, files and API share.

    title: what to do, and where if the study has several boards. lines: what differs from the
    baseline, for the real server. effect: with its interval and against what. confidence:
    confirmed, provisional, no difference or not known; reason: why. equals: who does equally
    well. price: what it costs. limit: what keeps the config from being faster. next_step: what to
    do before production. Sentences are "" where there is nothing to say.
    """

    recommendation_id: int
    title: str
    lines: tuple[ChangedLine, ...]
    effect: str
    confidence: str
    reason: str
    equals: str
    price: str
    limit: str
    next_step: str

    @property
    def sentences(self) -> tuple[tuple[str, str], ...]:
        """Title and text of each part that is known, in the order in which they are shown."""
        word = f"{self.confidence.capitalize()}." if self.confidence else ""
        sure = " ".join(filter(None, (word, self.reason, self.equals)))
        parts = (
            ("Effect", self.effect),
            ("Confidence", sure),
            ("Price", self.price),
            ("Limit", self.limit),
            ("Before production", self.next_step),
        )
        return tuple((title, text) for title, text in parts if text)

    @property
    def text(self) -> str:
        return " ".join(f"{title}: {text}" for title, text in self.sentences)


class ShortRun(Part):
    """A screening run that says something of its config; ratios to the baseline of its round."""

    number: int
    round: int
    candidate_id: int
    run_id: int
    state: str
    ratio: float | None
    ratios: dict[Metric, float]


class TriedConfig(Part):
    """A config that a search has measured; ratios are means over its short runs."""

    candidate_id: int
    runs: int
    last_run_id: int
    last_state: str
    ratio: float | None
    ratios: dict[Metric, float]
    is_finalist: bool


class BestSoFar(Part):
    number: int
    candidate_id: int
    ratio: float


class EarlierStudies(Part):
    """Earlier studies from which a search began, and how much of them it used."""

    studies: tuple[int, ...]
    configs: int
    runs: int


class Search(Part):
    """A search so far. space: `tuning.strategy.search.space.Space`.

    fronts: by the metric that throughput is weighed against, whom no other beats in both. noise:
    standard deviation of the ratio of one run. raced: how many configs were taken into a race.
    misses: limits that the baseline misses in this study.
    """

    metric: Metric
    space: dict[str, Any]
    runs: tuple[ShortRun, ...]
    tried: tuple[TriedConfig, ...]
    best: tuple[BestSoFar, ...]
    fronts: dict[Metric, tuple[int, ...]]
    noise: float | None
    refused: int
    duplicates: int
    raced: int
    misses: tuple[str, ...]
    importance: Importance | None
    began_with: EarlierStudies | None

    @property
    def has_figures(self) -> bool:
        """Return whether any config can be compared with the baseline."""
        return any(one.ratio is not None for one in self.runs)


class Quality(Part):
    """The data quality of the ranked runs.

    disturbed counts void runs, without_figure those of them that were not measured again. kinds:
    their causes; a run may have several. still_warming: runs that count although their throughput
    had a trend.
    """

    disturbed: int
    without_figure: int
    still_warming: int
    kinds: dict[str, int]
    unwatched: tuple[str, ...]
    sentence: str


class GateLimit(Part):
    """A limit of a gate and the answer of its pairs.

    Changes are in percent of the baseline's figure; candidate, baseline: geometric means.
    """

    metric: Metric
    limit: str
    verdict: str
    change_percent: float | None
    low_percent: float | None
    high_percent: float | None
    candidate: float | None
    baseline: float | None
    pairs: int
    pairs_to_decide: int | None


class GateDurability(Part):
    """The durability class of each side as it ran."""

    candidate: str
    baseline: str


class Gate(Part):
    """A regression gate so far, or as it ended.

    pairs: those that are compared. durability: None before there is one.
    """

    verdict: str
    reason: str
    pairs: int
    max_pairs: int
    confidence: float
    seconds: float
    limits: tuple[GateLimit, ...]
    durability: GateDurability | None
    differences: tuple[SettingDifference, ...]


def short_names(what: Mapping[int, str], whole: Mapping[int, str]) -> dict[int, str]:
    """Return what each device is; devices that are the same get their whole name.

    what, whole: by primary key, as "NVMe" and as "NVMe at /data". Devices whose whole names are
    the same get their keys as well.
    """
    names = {}
    for pk, name in what.items():
        if list(what.values()).count(name) > 1:
            name = whole[pk]
            if list(whole.values()).count(name) > 1:
                name = f"{name} (device {pk})"
        names[pk] = name
    return names


class StudyDocument(Part):
    """A study at one revision.

    runs: every run in the order of the study. repeats: the figure that the template repeats. gate:
    None for a study that is no gate. answers: one per recommendation. candidate, device, workload:
    by primary key; answer: by that of its recommendation.
    """

    schema_version: int
    revision: int
    study: StudyFacts
    devices: tuple[DeviceFacts, ...]
    workloads: tuple[WorkloadFacts, ...]
    candidates: tuple[CandidateFacts, ...]
    runs: tuple[RunFacts, ...]
    boards: tuple[Board, ...]
    search: Search | None
    gate: Gate | None
    quality: Quality
    repeats: str
    claims: tuple[Claim, ...]
    findings: tuple[Finding, ...]
    can_be_ablated: bool
    answers: tuple[Answer, ...] = ()

    @cached_property
    def candidate(self) -> dict[int, CandidateFacts]:
        return {one.id: one for one in self.candidates}

    @cached_property
    def device(self) -> dict[int, DeviceFacts]:
        return {one.id: one for one in self.devices}

    def unit_on(self, board: Board) -> str:
        return self.workload[board.workload_id].unit

    @cached_property
    def workload(self) -> dict[int, WorkloadFacts]:
        return {one.id: one for one in self.workloads}

    @cached_property
    def answer(self) -> dict[int, Answer]:
        return {one.recommendation_id: one for one in self.answers}

    @cached_property
    def short_names(self) -> dict[int, str]:
        """Names of the devices by primary key, as short as they can be told apart."""
        what = {one.id: one.what for one in self.devices}
        return short_names(what, {one.id: one.name for one in self.devices})

    @cached_property
    def named_devices(self) -> frozenset[int]:
        """The devices to name beside figures: all of several, an emulated one always."""
        several = len(self.devices) > 1
        return frozenset(one.id for one in self.devices if several or one.emulation_label)

    @cached_property
    def current(self) -> RunFacts | None:
        """The run that is measured now or next; None if nothing is queued."""
        return next((run for run in self.runs if not run.is_finished), None)

    @cached_property
    def newest_runs(self) -> tuple[RunFacts, ...]:
        """The newest run of each place in the study, in its order."""
        return tuple(run for run in self.runs if run.replaced_by is None)

    @property
    def recommendations(self) -> tuple[tuple[Board, Recommendation], ...]:
        """The stored answers with their boards, in the order of the boards."""
        return tuple((one, one.recommendation) for one in self.boards if one.recommendation)

    def board_runs(self, board: Board, *purposes: str) -> tuple[RunFacts, ...]:
        """Return the newest runs of the board for these purposes, in the order of the study."""
        ranked = {row.candidate_id for row in board.rows}
        there = (run for run in self.newest_runs if run.place == board.place)
        return tuple(r for r in there if r.purpose in purposes and r.candidate_id in ranked)

    def ranked_runs(self, board: Board) -> tuple[RunFacts, ...]:
        """Return the runs of the board's blocks whose figures are in its ranking."""
        ok = (run for run in self.board_runs(board, "block") if run.is_ok)
        return tuple(run for run in ok if run.figures.throughput and run.id not in board.excluded)
