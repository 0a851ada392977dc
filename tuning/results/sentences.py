"""Sentences of a study's document: failures, crash recovery, memory and data, ablation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import isfinite

from benchmarks.counted import counted, percent
from benchmarks.drivers.workloads import TPCC
from benchmarks.models import CrashTest, Device, JobState, RunState, Workload
from benchmarks.outcomes import Outcome
from tuning.models import Candidate, Study
from tuning.results.document import Ablation, Reduced, RunFacts, StudyDocument
from tuning.scale_model.model import ScaleModel
from tuning.scale_model.sizes import size_text
from tuning.statistics.aim import FULL_NAMES, recovery_limit_text
from tuning.statistics.confirmation import ReductionState, RemovalState, loss_text
from tuning.statistics.data import Metric
from tuning.statistics.estimate import Estimate
from tuning.strategy.ablation.ablate import MAX_ABLATION_RUNS

MAX_REASONS = 3
# Outcomes that a config may cause; a failed driver or a missing device is not its fault.
_FAULTS = (
    Outcome.NO_START,
    Outcome.CRASHED,
    Outcome.OUT_OF_MEMORY,
    Outcome.DISK_FULL,
    Outcome.TIMED_OUT,
)


def all_failed_text(baseline: str, others: Iterable[Candidate], failed: Mapping[str, str]) -> str:
    """Return that all other candidates failed, with the first reasons; "" if one did not.

    failed: by name of a candidate how its run failed. A refused candidate has no run.
    """
    reasons = {
        one.name: f"refused ({one.refusal})" if one.refusal else failed.get(one.name, "")
        for one in others
    }
    if not failed or not all(reasons.values()):
        return ""
    texts = [f"{name}: {why}" for name, why in reasons.items()]
    more = len(texts) - MAX_REASONS
    texts[MAX_REASONS:] = [f"{more} more"] if more > 0 else []
    return (
        f"Nothing to compare with {baseline}: every other candidate failed. {'; '.join(texts)}. "
        "Each failed run has the last lines of its log."
    )


def failure_text(run: RunFacts) -> str:
    """Return how a run ended and why, as "server crashed (signal 11)"."""
    reason = run.reason.rstrip(".")
    return RunState(run.state).label.lower() + (f" ({reason})" if reason else "")


def not_recovered(tests: Mapping[str, CrashTest], limit_s: float | None) -> dict[str, str]:
    """Return why crash recovery rules candidates out, by candidate; `tests` have ended.

    A server that did not come back is never advice. With a limit nor is one that took longer even
    once, or whose recovery could not be timed: nothing shows that it keeps the limit.
    """
    found = {}
    for name, test in tests.items():
        slowest = max(test.seconds, default=float("inf"))
        if test.state == JobState.FAILED and test.reason_code in _FAULTS:
            found[name] = f"after a kill under load: {test.reason}"
        elif limit_s is not None and slowest > limit_s:
            figure = f"{slowest:.1f} s" if isfinite(slowest) else "no figure"
            found[name] = f"{recovery_limit_text(limit_s)}: {figure}"
    return found


def recovery_sentence(name: str, test: CrashTest) -> str:
    """Return "Killed under load 3 times, X served again after 2.1 to 3.4 s" as a sentence.

    It names the redo log that was to be applied, as far as known: a full log takes longer.
    """
    if not test.seconds:
        return f"The crash recovery of {name} could not be timed: {test.reason}."
    low, high = f"{min(test.seconds):.1f}", f"{max(test.seconds):.1f}"
    span = f"{high} s" if low == high else f"{low} to {high} s"
    ages = [age for kill in test.kills if (age := kill["checkpoint_age_bytes"]) is not None]
    sizes = [size for kill in test.kills if (size := kill["redo_capacity_bytes"]) is not None]
    redo = f", with up to {max(ages) / 1e6:,.0f} MB of redo to apply" if ages else ""
    redo += f" of {max(sizes) / 1e6:,.0f} MB that its log holds" if ages and sizes else ""
    times = counted(len(test.seconds), "time")
    return f"Killed under load {times}, {name} served again after {span}{redo}."


def proportion_text(study: Study, device: Device, workload: Workload) -> str:
    """Return memory and data on one device in a sentence; "" if the memory is unknown.

    A scale model says what it is a model of, other studies what was measured.
    """
    if model := ScaleModel.from_json(study.scale_model):
        return model.sentence
    limit = device.memory_limit_bytes
    memory = limit if limit is not None else study.memory_bytes
    if memory is None:
        return ""
    data = workload.data_bytes
    share = memory / data
    times = percent(share) if share < 2 else f"{share:,.0f} times the data"
    text = f"{size_text(memory)} of memory for {size_text(data)} of data ({times})."
    if workload.name != TPCC:  # no scale model is made of it
        return text
    return f"{text} Is the proportion of your server different? Enter your sizes and run again."


def effect_text(estimate: Estimate | None, metric: Metric) -> str:
    """Return the change as "+12.3 % throughput (95 % interval +8.0 to +16.9 %)"."""
    return estimate.change(FULL_NAMES[metric]) if estimate is not None else "no figure"


def shortage_text(*, is_concluded: bool, is_left: bool) -> str:
    """Return why lines were not tested."""
    if is_concluded:
        return "the study was concluded early"
    return "there was no time left" if is_left else f"{MAX_ABLATION_RUNS} runs were not enough"


def ablation_sentences(document: StudyDocument, found: Ablation) -> Iterator[str]:
    """Yield for the verdict which lines were left out and why, and which were not tested."""
    whole = document.candidate[found.whole_id].name
    if found.reduced is not None:
        yield _about_reduced(document, found, found.reduced)
    elif found.is_over and (without_effect := _names(found, RemovalState.NO_EFFECT)):
        why = f"there was no run of {whole} without all of them: {found.shortage}"
        if found.no_use:
            why = f"{whole} without all of them cannot be used: {found.no_use.rstrip('.')}"
        names = ", ".join(without_effect)
        yield f"Nothing measurable is lost without {names}, but they are kept: {why}."
    untested = _names(found, RemovalState.UNTESTED) if found.is_over else []
    if untested and not any(one.blocks for one in found.effects):
        yield (
            f"Its lines were measured together; none was tested separately, because "
            f"{found.shortage}."
        )
    elif untested:
        yield f"Not tested separately, because {found.shortage}: {', '.join(untested)}."
    if found.is_over and found.is_left:
        yield (
            f'The button "Test each line" on the study\'s page, or manage.py study ablation '
            f"{document.study.id}, tests them, in at most {MAX_ABLATION_RUNS} runs."
        )


def _names(found: Ablation, state: RemovalState) -> list[str]:
    return [name for one in found.effects if one.state == state for name in one.names]


def _about_reduced(document: StudyDocument, found: Ablation, reduced: Reduced) -> str:
    whole, candidate = (document.candidate[pk] for pk in (found.whole_id, reduced.candidate_id))
    left_out, most = ", ".join(candidate.without), loss_text(found.margin)
    if reduced.state not in set(ReductionState) - {ReductionState.UNFINISHED}:
        return f"{whole.name} without {left_out} was not measured to the end."
    against = f"{effect_text(reduced.to_whole, found.metric)} against {whole.name}"
    if reduced.is_advice:
        lead = effect_text(reduced.to_baseline, found.metric)
        return (
            f"Lines tested: nothing measurable is lost without {left_out}, so they are left out. "
            f"{candidate.name}: {lead} against the baseline and {against}, in {reduced.rounds} "
            f"fresh rounds; at most {most} may be lost."
        )
    why = {
        ReductionState.NOT_CONFIRMED: "the config without is not measurably better than the "
        "baseline",
        ReductionState.LOSES: f"without, more than {most} may be lost: {against}",
        ReductionState.VERIFIED: "without, a run failed or a limit was missed",
    }
    return f"Lines tested: {left_out} kept, because {why[ReductionState(reduced.state)]}."
