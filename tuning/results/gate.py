"""A regression gate by its rows: its pairs, its part of the document, its stored verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import geometric_mean

from benchmarks.measurement.fingerprint import comparable_facts
from benchmarks.models import BinaryLog, Run, RunState
from tuning.catalogue.target import traits_of
from tuning.configs.readback import EffectiveSettings, setting_differences
from tuning.errors import NothingToRecommend
from tuning.models import GateVerdict, SlotPurpose, Study
from tuning.results import document as doc
from tuning.results.gate_sentences import change_percent, side_sentences, verdict_sentences
from tuning.results.study_rows import StudyRows
from tuning.statistics.data import Metric
from tuning.statistics.gate import (
    GatePlan,
    GateResult,
    LimitResult,
    PairFigures,
    Verdict,
    judge_gate,
)
from tuning.strategy.protocol import GateSeen
from tuning.strategy.racing import FAULTS

# A host on which so many pairs were disturbed and none succeeded will not become quiet.
NEVER_QUIET_PAIRS = 6


@dataclass(frozen=True)
class GatePair:
    """One pair; its runs are the newest of either side. `is_whole`: both succeeded."""

    number: int
    candidate: doc.RunFacts
    baseline: doc.RunFacts

    @property
    def is_ended(self) -> bool:
        return self.candidate.is_finished and self.baseline.is_finished

    @property
    def runs(self) -> tuple[doc.RunFacts, doc.RunFacts]:
        return self.candidate, self.baseline

    @property
    def keys(self) -> tuple[str, str]:
        """The comparability keys of both runs."""
        return self.candidate.comparability_key, self.baseline.comparability_key

    @property
    def is_whole(self) -> bool:
        return self.candidate.state == self.baseline.state == RunState.OK

    @property
    def figures(self) -> PairFigures:
        return PairFigures(_figures(self.candidate), _figures(self.baseline))


class GateOutcome:
    """A gate as its rows are now; make one per request.

    plan: what it decides. candidate, baseline: its two sides.
    """

    def __init__(self, rows: StudyRows) -> None:
        self.study = rows.study
        self.plan = GatePlan.from_json(self.study.gate or {})
        sides = {one.is_baseline: one for one in rows.candidates.values()}
        self.baseline, self.candidate = sides[True], sides[False]
        self._slots = [slot for slot in rows.slots if slot.purpose == SlotPurpose.GATE]

    @cached_property
    def pairs(self) -> list[GatePair]:
        """The pairs that were queued, in their order."""
        by_block: dict[int, dict[bool, doc.RunFacts]] = {}
        for slot in self._slots:
            by_block.setdefault(slot.block, {})[slot.candidate.is_baseline] = slot.run
        return [
            GatePair(number, there[False], there[True])
            for number, there in sorted(by_block.items())
            if len(there) == 2
        ]

    @cached_property
    def compared(self) -> list[GatePair]:
        """The whole pairs whose runs agree in all but what is compared, and with each other."""
        whole = [pair for pair in self.pairs if pair.is_whole]
        if self.candidate.server_id is None:
            return _usual([pair for pair in whole if len(set(pair.keys)) == 1])
        # Two servers, whose datasets differ as well: then the host at least is the same.
        facts = _facts([run for pair in whole for run in pair.runs])
        same = [pair for pair in whole if facts[pair.candidate.id] == facts[pair.baseline.id]]
        return _usual(same)

    @cached_property
    def fault(self) -> str:
        """The reason why the candidate fails whatever the figures say; "" for none."""
        if self.candidate.refusal:
            return f"the server refuses the candidate: {self.candidate.refusal}"
        for pair in self.pairs:
            if pair.candidate.state in FAULTS:
                return f"a run of the candidate failed: {_how(pair.candidate)}"
        return ""

    @cached_property
    def obstacle(self) -> tuple[str, str]:
        """Code and reason why no pair can tell anything; empty where there is none."""
        for pair in self.pairs:
            if pair.baseline.state in FAULTS:
                return "baseline_failed", f"a run of the baseline failed: {_how(pair.baseline)}"
        ended = [pair for pair in self.pairs if pair.is_ended]
        if len(ended) >= NEVER_QUIET_PAIRS and not any(pair.is_whole for pair in ended):
            run = next(run for run in ended[-1].runs if run.state != RunState.OK)
            return "no_whole_pair", f"of {len(ended)} pairs none could be measured: {_how(run)}"
        whole = [pair for pair in self.pairs if pair.is_whole]
        if whole and not self.compared and (len(whole) > 1 or not _changed_during(whole[0])):
            return "not_comparable", (
                "the runs of candidate and baseline cannot be compared: the host changed in "
                "between, or one of them writes a binary log and the other does not"
            )
        return "", ""

    @cached_property
    def judged(self) -> GateResult:
        """The result by the figures alone."""
        return judge_gate(self.plan, [pair.figures for pair in self.compared])

    @property
    def verdict(self) -> Verdict:
        return Verdict.FAIL if self.fault else self.judged.verdict

    @cached_property
    def seconds(self) -> float:
        """Wall time from the study's start to the end of its last run."""
        ends = [run.finished_at for pair in self.pairs for run in pair.runs]
        known = [end for end in ends if end is not None]
        if self.study.started_at is None or not known:
            return 0.0
        return (max(known) - self.study.started_at).total_seconds()

    @cached_property
    def pair_seconds(self) -> float:
        """Wall time of a pair, on average; 0 while there is none."""
        times = (run.wall_s for pair in self.pairs for run in pair.runs)
        spent = [time for time in times if time is not None]
        return 2 * sum(spent) / len(spent) if spent else 0.0

    @cached_property
    def sides(self) -> tuple[EffectiveSettings, EffectiveSettings] | None:
        """Candidate and baseline as they ran in the newest compared pair; None without a pair."""
        if not self.compared:
            return None
        runs = self.compared[-1].runs
        read = dict(
            Run.objects.filter(pk__in=[run.id for run in runs]).values_list("pk", "variables")
        )
        candidate, baseline = (
            EffectiveSettings(traits_of(side.measured_on), read[run.id], side.config.knobs)
            for side, run in zip((self.candidate, self.baseline), runs, strict=True)
        )
        return candidate, baseline

    def document(self) -> doc.Gate:
        """Return the gate's part of the document."""
        texts, durability, differences = [self._reason()], None, []
        if self.sides is not None:
            candidate, baseline = self.sides
            differences = setting_differences(candidate, baseline)
            asked = BinaryLog(self.study.binary_log).is_on
            texts += side_sentences(candidate, baseline, differences, asked)
            durability = doc.GateDurability(
                candidate=candidate.durability, baseline=baseline.durability
            )
        return doc.Gate(
            verdict=self.verdict,
            reason=" ".join(texts),
            pairs=len(self.compared),
            max_pairs=self.plan.max_pairs,
            confidence=self.plan.confidence,
            seconds=round(self.seconds, 1),
            limits=tuple(map(self._limit, self.judged.limits)),
            durability=durability,
            differences=tuple(differences),
        )

    def _reason(self) -> str:
        if self.fault:
            return f"{self.fault[0].upper()}{self.fault[1:]}."
        return verdict_sentences(self.judged, self.pair_seconds)

    def _limit(self, found: LimitResult) -> doc.GateLimit:
        more, metric = found.pairs_to_decide, found.limit.metric
        sign = -1 if metric.more_is_better else 1
        return doc.GateLimit(
            metric=metric,
            limit=found.limit.text,
            allowed_percent=sign * round(found.limit.loss * 100, 6),
            verdict=found.verdict,
            change_percent=change_percent(found.ratio),
            low_percent=change_percent(found.low),
            high_percent=change_percent(found.high),
            candidate=self._level("candidate", metric),
            baseline=self._level("baseline", metric),
            pairs=found.pairs,
            pairs_to_decide=more,
            minutes_to_decide=None if more is None else round(more * self.pair_seconds / 60, 1),
        )

    def _level(self, side: str, metric: Metric) -> float | None:
        figures = [getattr(pair, side).figures.of(metric) for pair in self.compared]
        known = [figure for figure in figures if figure]
        return round(geometric_mean(known), 4) if known else None


def gate_seen(rows: StudyRows) -> GateSeen:
    """Return what a gate's strategy may know."""
    outcome = GateOutcome(rows)
    return GateSeen(
        pairs=tuple(pair.figures for pair in outcome.compared),
        begun=len(outcome.pairs),
        stopped=outcome.fault or outcome.obstacle[1],
    )


def gate_document(rows: StudyRows) -> doc.Gate:
    """Return the gate as it was stored at its end, else as it stands."""
    stored = GateVerdict.objects.filter(study=rows.study).first()
    return doc.Gate.model_validate(stored.result) if stored else GateOutcome(rows).document()


def store_verdict(study: Study) -> None:
    """Store how the gate ended. Raises NothingToRecommend where its pairs can tell nothing."""
    outcome = GateOutcome(StudyRows(study))
    code, reason = outcome.obstacle
    if code and not outcome.fault:
        raise NothingToRecommend(code, reason)
    found = outcome.document()
    GateVerdict.objects.update_or_create(
        study=study,
        defaults={
            "verdict": found.verdict,
            "reason": found.reason,
            "result": found.model_dump(mode="json"),
        },
    )


def _figures(run: doc.RunFacts) -> Mapping[Metric, float | None]:
    return {metric: run.figures.of(metric) for metric in Metric}


def _how(run: doc.RunFacts) -> str:
    return f"{RunState(run.state).label.lower()}{f', {run.reason}' if run.reason else ''}"


def _changed_during(pair: GatePair) -> bool:
    facts = _facts(list(pair.runs))
    return facts[pair.candidate.id] != facts[pair.baseline.id]


def _usual(pairs: Sequence[GatePair]) -> list[GatePair]:
    """Return the pairs with the most frequent keys; a tie goes to the earlier keys."""
    counted = Counter(pair.keys for pair in pairs).most_common(1)
    return [pair for pair in pairs if pair.keys == counted[0][0]]


def _facts(runs: list[doc.RunFacts]) -> dict[int, tuple[object, ...]]:
    """Return what two servers must have in common, by primary key of the run."""
    rows = Run.objects.filter(pk__in=[run.id for run in runs])
    return {
        pk: (comparable_facts(fingerprint), driver)
        for pk, fingerprint, driver in rows.values_list("pk", "fingerprint", "driver_version")
    }
