"""A judged board: one durability class of a study on one device with one workload.

Results that are not comparable are never mixed: a config that may lose commits is not "faster"
than one that may not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from benchmarks.models import CrashTest, Device, Workload
from tuning.models import Candidate, DurabilityClass, Elimination
from tuning.results.document import Pair
from tuning.results.sentences import all_failed_text, not_recovered
from tuning.results.study_rows import SlotRow
from tuning.statistics.aim import Aim, figure_text, limit_text
from tuning.statistics.confirmation import Confirmation, ConfirmationState, confirm_each
from tuning.statistics.data import Metric, Observation
from tuning.statistics.ranking import Judgement, judge, pareto_front
from tuning.statistics.verdict import VerdictKind, conclude_by_pairs
from tuning.strategy.protocol import count_changes
from tuning.strategy.racing import FAULTS

#: Device, workload and durability class.
BoardKey = tuple[Device, Workload, str]


@dataclass(frozen=True)
class Board:
    """The ranking of one durability class on one device with one workload.

    The baseline is on every board, whatever its own class, because all are compared with it.
    `slots` are the slots of the blocks, `pair_slots` of fresh pairs. `excluded` are OK and
    cut runs of another fingerprint, server, driver or dataset: shown, never ranked here.
    `screening` are the slots of a search, `ablation_slots` of an ablation: only
    their failures count here. `crash_tests` are the ended ones, by name of the candidate.
    `confirms`: whether fresh pairs decide what is recommended.
    """

    device: Device
    workload: Workload
    durability: DurabilityClass
    candidates: dict[str, Candidate]
    baseline: Candidate
    observations: list[Observation]
    slots: list[SlotRow]
    pair_slots: list[SlotRow]
    eliminations: dict[str, Elimination]
    excluded: list[int]
    alpha: float
    screening: list[SlotRow] = field(default_factory=list)
    ablation_slots: list[SlotRow] = field(default_factory=list)
    aim: Aim = field(default_factory=Aim)
    crash_tests: Mapping[str, CrashTest] = field(default_factory=dict)
    confirms: bool = False

    @property
    def has_figures(self) -> bool:
        """Return whether any run succeeded."""
        return any(run.counts for run in self.observations)

    @property
    def judgement(self) -> Judgement:
        """The ranking by throughput."""
        return self.judgements[Metric.THROUGHPUT]

    @cached_property
    def judgements(self) -> dict[Metric, Judgement]:
        """The ranking by each metric."""
        return self._judged_by(list(Metric))

    @cached_property
    def for_advice(self) -> Judgement:
        """The ranking by the objective, of the candidates that can be recommended.

        A candidate whose server or workload failed even once is never recommended, however fast
        its other runs were; nor is one that misses a limit. Where fresh pairs decide, the verdict
        is theirs.
        """
        found, drift = self._chosen, self._chosen.drift
        if not self.confirms or found.verdict.kind is VerdictKind.NOTHING_TO_COMPARE:
            return found
        tried = {
            name: one.sentence
            for name, one in self.confirmations.items()
            if name in found.analysis.choices
        }
        verdict = conclude_by_pairs(found.analysis, self.confirmed, tried, drift)
        return replace(found, verdict=verdict)

    @cached_property
    def _chosen(self) -> Judgement:
        """The ranking by blocks alone, which chooses the candidates for fresh pairs."""
        return self._among_the_fit(self.aim.objective)

    @cached_property
    def confirmations(self) -> dict[str, Confirmation]:
        """The results of fresh pairs by candidate, in the order in which they were tried.

        Candidates whose pairs are still being measured have none.
        """
        return self._judge_pairs(self.aim.objective, self._chosen.analysis.run_noise)

    @property
    def confirmed(self) -> str | None:
        """The best-looking candidate that its fresh pairs confirm."""
        there = {
            name
            for name, one in self.confirmations.items()
            if one.state is ConfirmationState.CONFIRMED
        }
        return next((name for name in self._chosen.analysis.choices if name in there), None)

    def _judge_pairs(self, metric: Metric, run_noise: float | None) -> dict[str, Confirmation]:
        pairs = {one.name: self.pairs_of(one, metric) for one in self.tried}
        figures = {
            name: [(pair.winner, pair.baseline) for pair in found] for name, found in pairs.items()
        }
        judged = confirm_each(figures, self.baseline.name, run_noise=run_noise, metric=metric)
        return {
            name: one
            for name, one in judged.items()
            if all(pair.is_finished for pair in pairs[name])
        }

    @property
    def leader(self) -> str | None:
        """The config whose lead decides: the confirmed one, else the first that got pairs.

        Without pairs the winner of the blocks.
        """
        if not self.confirms:
            return self._chosen.analysis.winner
        choices = self._chosen.analysis.choices
        tried = (name for name in self.confirmations if name in choices)
        return self.confirmed or next(tried, None)

    def _among_the_fit(self, metric: Metric) -> Judgement:
        unfit = {*self.failed, *self.over_limits}
        return self._judged_by([metric], unfit)[metric]

    @cached_property
    def missed(self) -> dict[str, dict[Metric, float | None]]:
        """The limits that runs in blocks and pairs miss, by candidate, as in `Aim.missed`."""
        if not self.aim.keep:
            return {}
        runs: dict[str, list[Observation]] = {}
        pairs = [slot.observation for slot in self.pair_slots if slot.is_finished]
        for run in (*self.observations, *pairs):
            runs.setdefault(run.candidate, []).append(run)
        found = {name: self.aim.missed(seen) for name, seen in runs.items()}
        return {name: missed for name, missed in found.items() if missed}

    @property
    def over_limits(self) -> list[str]:
        """The candidates, without the baseline, that miss a limit or did not recover."""
        names = dict.fromkeys([*self.missed, *self.not_recovered])
        return [name for name in names if name != self.baseline.name]

    @cached_property
    def not_recovered(self) -> dict[str, str]:
        """The reasons why crash recovery rules candidates out, by candidate."""
        return not_recovered(self.crash_tests, self.aim.max_recovery_s)

    @property
    def key(self) -> BoardKey:
        """The identity of a board in a study."""
        return self.device, self.workload, str(self.durability)

    @cached_property
    def failed(self) -> list[str]:
        """The candidates, without the baseline, with a run that their config may have broken."""
        return [name for name in self.candidates if name in self._faults]

    @cached_property
    def _faults(self) -> dict[str, tuple[str, str]]:
        """State and reason of the last run that a config may have broken, by candidate."""
        return {
            slot.candidate.name: (slot.run.state, slot.run.reason)
            for slot in (*self.slots, *self.pair_slots, *self.screening, *self.ablation_slots)
            if slot.run.state in FAULTS and not slot.candidate.is_baseline
        }

    @cached_property
    def all_failed(self) -> str:
        """The reason why all but the baseline failed; "" if one did not."""
        others = [one for one in self.candidates.values() if not one.is_baseline]
        return all_failed_text(self.baseline.name, others, self._faults)

    @cached_property
    def pareto(self) -> tuple[str, ...]:
        """The candidates that no other beats in all three rankings."""
        return pareto_front([judgement.analysis for judgement in self.judgements.values()])

    def _judged_by(
        self, metrics: Sequence[Metric], without: Iterable[str] = ()
    ) -> dict[Metric, Judgement]:
        names = [name for name in self.candidates if name not in without]
        seen = [run for run in self.observations if run.candidate in names]
        return {
            metric: self._explained(
                judge(seen, self.baseline.name, names, metric, self.alpha, self.changes)
            )
            for metric in metrics
        }

    def _explained(self, found: Judgement) -> Judgement:
        """Return the ranking; its verdict names the reason if there is nothing to compare."""
        if found.verdict.kind is not VerdictKind.NOTHING_TO_COMPARE:
            return found
        sentence = self.all_failed
        if len(self.candidates) == 1 and found.analysis.blocks:
            sentence = (
                f"Nothing to compare with {self.baseline.name}: there is no other candidate."
            )
            if found.drift is not None and found.drift.is_named:
                sentence += f" {found.drift.sentence(self.baseline.name)}"
        sentence = sentence or found.verdict.sentence
        return replace(found, verdict=replace(found.verdict, sentence=sentence))

    @cached_property
    def changes(self) -> dict[str, int]:
        """The number of variables that each candidate sets otherwise than the baseline."""
        knobs = {name: candidate.config.knobs for name, candidate in self.candidates.items()}
        return count_changes(knobs, self.baseline.name)

    @cached_property
    def tried(self) -> list[Candidate]:
        """The candidates that got fresh pairs, in the order in which they were tried."""
        slots = sorted(self.pair_slots, key=lambda slot: slot.order)
        return list(dict.fromkeys(s.candidate for s in slots if not s.is_baseline))

    def pairs_of(self, tried: Candidate, metric: Metric = Metric.THROUGHPUT) -> list[Pair]:
        """The fresh pairs of that candidate and the baseline, in order."""
        at = {(slot.block, slot.candidate_id): slot.run for slot in self.pair_slots}
        found = []
        for (block, candidate_id), ours in sorted(at.items(), key=lambda item: item[0]):
            theirs = at.get((block, self.baseline.pk))
            if candidate_id != tried.pk or theirs is None:
                continue
            same = ours.comparability_key == theirs.comparability_key
            found.append(
                Pair(
                    block=block,
                    winner=ours.figures.of(metric) if same else None,
                    baseline=theirs.figures.of(metric) if same else None,
                    is_finished=ours.is_finished and theirs.is_finished,
                )
            )
        return found

    @cached_property
    def throughputs(self) -> dict[str, Confirmation]:
        """The results of fresh pairs for throughput, whatever the objective."""
        if self.aim.objective is Metric.THROUGHPUT:
            return self.confirmations
        return self._judge_pairs(
            Metric.THROUGHPUT, self._among_the_fit(Metric.THROUGHPUT).analysis.run_noise
        )

    def missed_text(self, name: str) -> str:
        """Return the limits that a candidate misses, as `p95 <= 50 ms: 61.2 ms`; "" for none."""
        missed = [
            f"{limit_text(metric, self.aim.keep[metric])}: {figure_text(metric, value)}"
            for metric, value in self.missed.get(name, {}).items()
        ]
        return ", ".join([*missed, *filter(None, [self.not_recovered.get(name)])])
