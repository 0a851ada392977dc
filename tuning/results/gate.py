"""A regression gate by its rows: its pairs, its part of the document, its stored verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from math import ceil, isfinite
from statistics import geometric_mean
from typing import NamedTuple

from benchmarks.counted import counted
from benchmarks.measurement.fingerprint import comparable_facts
from benchmarks.models import BinaryLog, Run
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import traits_of
from tuning.configs.price import may_lose
from tuning.configs.readback import (
    EffectiveSettings,
    SettingDifference,
    effective_values,
    setting_differences,
)
from tuning.errors import NothingToRecommend
from tuning.models import GateVerdict, SlotPurpose, Study
from tuning.results import document as doc
from tuning.results.sentences import failure_text
from tuning.results.study_rows import StudyRows
from tuning.statistics.aim import metric_name
from tuning.statistics.data import Metric
from tuning.statistics.gate import (
    MAX_FORESEEN,
    GatePlan,
    GateResult,
    LimitResult,
    PairFigures,
    Verdict,
    judge_gate,
    percent_text,
)
from tuning.strategy.protocol import GateSeen
from tuning.strategy.racing import FAULTS

# A host on which so many pairs were disturbed and none succeeded will not become quiet.
NEVER_QUIET_PAIRS = 6


class GatePair(NamedTuple):
    """The newest runs of both sides of a pair."""

    candidate: doc.RunFacts
    baseline: doc.RunFacts

    @property
    def keys(self) -> tuple[str, str]:
        """The comparability keys of both runs."""
        return self.candidate.comparability_key, self.baseline.comparability_key

    @property
    def is_whole(self) -> bool:
        """Whether both runs succeeded."""
        return self.candidate.is_ok and self.baseline.is_ok

    @property
    def figures(self) -> PairFigures:
        return PairFigures(
            *({metric: run.figures.of(metric) for metric in Metric} for run in self)
        )


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
            by_block.setdefault(slot.block, {})[slot.is_baseline] = slot.run
        there = [runs for _, runs in sorted(by_block.items()) if len(runs) == 2]
        return [GatePair(runs[False], runs[True]) for runs in there]

    @cached_property
    def compared(self) -> list[GatePair]:
        """The whole pairs whose runs agree in all but what is compared, and with each other."""
        whole = [pair for pair in self.pairs if pair.is_whole]
        if self.candidate.server_id is None:
            return _usual([pair for pair in whole if len(set(pair.keys)) == 1])
        # Two servers, whose datasets differ as well: then the host at least is the same.
        return _usual([pair for pair, same in zip(whole, _same_host(whole), strict=True) if same])

    @cached_property
    def fault(self) -> str:
        """The reason why the candidate fails whatever the figures say; "" for none."""
        if self.candidate.refusal:
            return f"the server refuses the candidate: {self.candidate.refusal}"
        failed = (pair.candidate for pair in self.pairs if pair.candidate.state in FAULTS)
        return next((f"a run of the candidate failed: {failure_text(run)}" for run in failed), "")

    @cached_property
    def obstacle(self) -> tuple[str, str]:
        """Code and reason why no pair can tell anything; empty where there is none."""
        for pair in self.pairs:
            if pair.baseline.state in FAULTS:
                return (
                    "baseline_failed",
                    f"a run of the baseline failed: {failure_text(pair.baseline)}",
                )
        ended = [pair for pair in self.pairs if all(run.is_finished for run in pair)]
        whole = [pair for pair in self.pairs if pair.is_whole]
        if len(ended) >= NEVER_QUIET_PAIRS and not whole:
            run = next(run for run in ended[-1] if not run.is_ok)
            return (
                "no_whole_pair",
                f"of {len(ended)} pairs none could be measured: {failure_text(run)}",
            )
        if whole and not self.compared and (len(whole) > 1 or all(_same_host(whole))):
            return "not_comparable", (
                "the runs of candidate and baseline cannot be compared: the host changed in "
                "between, or one of them writes a binary log and the other does not"
            )
        return "", ""

    @cached_property
    def judged(self) -> GateResult:
        """The result by the figures alone."""
        return judge_gate(self.plan, [pair.figures for pair in self.compared])

    @cached_property
    def seconds(self) -> float:
        """Wall time from the study's start to the end of its last run."""
        ends = [run.finished_at for pair in self.pairs for run in pair if run.finished_at]
        if self.study.started_at is None or not ends:
            return 0.0
        return (max(ends) - self.study.started_at).total_seconds()

    @cached_property
    def pair_seconds(self) -> float:
        """Wall time of a pair, on average; 0 while there is none."""
        spent = [s for pair in self.pairs for run in pair if (s := run.wall_s) is not None]
        return 2 * sum(spent) / len(spent) if spent else 0.0

    @cached_property
    def sides(self) -> tuple[EffectiveSettings, EffectiveSettings] | None:
        """Candidate and baseline as they ran in the newest compared pair; None without a pair."""
        if not self.compared:
            return None
        runs = Run.objects.in_bulk([run.id for run in self.compared[-1]])
        candidate, baseline = (
            EffectiveSettings(
                traits_of(side.measured_on), runs[run.id].variables, side.config.knobs
            )
            for side, run in zip((self.candidate, self.baseline), self.compared[-1], strict=True)
        )
        return candidate, baseline

    def document(self) -> doc.Gate:
        """Return the gate's part of the document."""
        texts = [f"{self.fault[:1].upper()}{self.fault[1:]}."]
        if not self.fault:
            texts = list(_limit_sentences(self.judged, self.pair_seconds))
        durability, differences = None, []
        if self.sides is not None:
            candidate, baseline = self.sides
            differences = setting_differences(candidate, baseline)
            asked = BinaryLog(self.study.binary_log).is_on
            texts += _side_sentences(candidate, baseline, differences, asked)
            durability = doc.GateDurability(
                candidate=candidate.durability, baseline=baseline.durability
            )
        return doc.Gate(
            verdict=Verdict.FAIL if self.fault else self.judged.verdict,
            reason=" ".join(texts),
            pairs=len(self.compared),
            max_pairs=self.plan.max_pairs,
            confidence=self.plan.confidence,
            seconds=round(self.seconds, 1),
            limits=tuple(map(self._limit, self.judged.limits)),
            durability=durability,
            differences=tuple(differences),
        )

    def _limit(self, found: LimitResult) -> doc.GateLimit:
        metric = found.limit.metric
        candidate, baseline = (
            [figure for pair in self.compared if (figure := pair[side].figures.of(metric))]
            for side in range(2)
        )
        return doc.GateLimit(
            metric=metric,
            limit=found.limit.text,
            verdict=found.verdict,
            change_percent=change_percent(found.ratio),
            low_percent=change_percent(found.low),
            high_percent=change_percent(found.high),
            candidate=_level(candidate),
            baseline=_level(baseline),
            pairs=found.pairs,
            pairs_to_decide=found.pairs_to_decide,
        )


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


def _level(figures: Sequence[float]) -> float | None:
    return round(geometric_mean(figures), 4) if figures else None


def _usual(pairs: Sequence[GatePair]) -> list[GatePair]:
    """Return the pairs with the most frequent keys; a tie goes to the earlier keys."""
    keys = Counter(pair.keys for pair in pairs).most_common(1)
    return [pair for pair in pairs if pair.keys == keys[0][0]]


def _same_host(pairs: Sequence[GatePair]) -> list[bool]:
    """Return for each pair whether host and driver were the same for both of its runs."""
    rows = Run.objects.filter(pk__in=[run.id for pair in pairs for run in pair])
    facts = {
        pk: (comparable_facts(fingerprint), driver)
        for pk, fingerprint, driver in rows.values_list("pk", "fingerprint", "driver_version")
    }
    return [facts[pair.candidate.id] == facts[pair.baseline.id] for pair in pairs]


def change_percent(ratio: float | None) -> float | None:
    """Return the change as it is stored; None also for an end that is not known yet."""
    if ratio is None or not isfinite(ratio) or ratio == 0:
        return None
    return round((ratio - 1) * 100, 2)


def _limit_sentences(judged: GateResult, pair_s: float) -> Iterable[str]:
    """Yield the limits that decided, or what is missing; `pair_s`: seconds of a pair.

    A limit is formatted as `p95 +1.2 % (-0.8 % to +3.1 %), allowed is at most +5 %`.
    """
    for one in judged.limits:
        name, allowed = metric_name(one.limit.metric), one.limit.allowed
        change, low, high = (
            percent_text(change_percent(ratio)) for ratio in (one.ratio, one.low, one.high)
        )
        if one.ratio is None:
            text = f"{name} has {counted(one.pairs, 'pair')} with figures, allowed is {allowed}"
        elif one.is_inconsistent:
            text = (
                f"{name} {change}, allowed is {allowed}; earlier and later pairs contradict each "
                "other, so the host or a server changed during the gate"
            )
        else:
            text = f"{name} {change} ({low} to {high}), allowed is {allowed}"
        if judged.verdict is Verdict.UNDECIDED and one.verdict is Verdict.UNDECIDED:
            yield f"{text}: {_missing(one, pair_s)}."
        elif judged.verdict in (Verdict.PASS, one.verdict):
            yield f"{text}."


def _missing(found: LimitResult, pair_s: float) -> str:
    if found.ratio is None:
        return "too few to tell"
    if found.is_inconsistent:
        return "run the gate again on a steady host"
    if found.pairs_to_decide is None:
        return f"too near the limit to be decided by {MAX_FORESEEN} pairs"
    minutes = ceil(found.pairs_to_decide * pair_s / 60)
    time = f", {counted(minutes, 'minute')} of measuring" if minutes else ""
    return (
        f"undecided after {counted(found.pairs, 'pair')}; about "
        f"{counted(found.pairs_to_decide, 'pair')}{time} would "
        "decide, if the difference is what it looks like"
    )


def _side_sentences(
    candidate: EffectiveSettings,
    baseline: EffectiveSettings,
    differences: Iterable[SettingDifference],
    asked: bool | None,
) -> Iterable[str]:
    """Yield how the sides differ apart from what is compared.

    asked: whether both were to write a binary log; None for the servers' own defaults.
    """
    if candidate.durability != baseline.durability:
        lost = [
            f"with the {side} {_losses(ran)}"
            for side, ran in (("candidate", candidate), ("baseline", baseline))
            if ran.durability > Durability.D0
        ]
        yield (
            f"The durability differs, {candidate.durability} of the candidate and "
            f"{baseline.durability} of the baseline: {'; '.join(lost)}."
        )
    if candidate.logs != baseline.logs and None not in (candidate.logs, baseline.logs):
        side = "candidate" if candidate.logs else "baseline"
        yield (
            f"Only the {side} writes a binary log, so its commits cost more; a gate can have "
            "it on both sides or on none."
        )
    elif asked is not None and candidate.logs == baseline.logs == asked:
        wrote = "Both sides write a" if asked else "Neither side writes a"
        yield f"{wrote} binary log, as was asked for."
    by_default = [one for one in differences if one.is_default]
    if by_default and candidate.target != baseline.target:
        durable = [one.name for one in by_default if one.is_durability]
        about = f", of durability {', '.join(durable)}" if durable else ""
        differ = counted(len(by_default), "setting", ("differs", "differ"))
        yield f"{differ} by the servers' defaults{about}."


def _losses(ran: EffectiveSettings) -> str:
    shown = effective_values(ran.losses, ran.variables, ran.target)
    return ", ".join(may_lose(name, shown[name], lost) for name, lost in ran.losses.items())
