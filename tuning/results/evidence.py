"""Collects the evidence for a study's winner, as the exported my.cnf shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from benchmarks.datasets.rules import estimated_bytes
from benchmarks.models import Device
from benchmarks.storage.kinds import kind_words
from tuning.catalogue.target import traits_of
from tuning.configs.notes import Action, Note
from tuning.export.facts import Effect, ExportFacts, LinesEvidence, ObjectiveEffect
from tuning.models import Candidate, Recommendation, Study
from tuning.results.boards import Board
from tuning.results.document import Ablation
from tuning.results.sentences import proportion_text
from tuning.scale_model.model import ScaleModel
from tuning.statistics.confirmation import ConfirmationState
from tuning.statistics.data import Metric
from tuning.statistics.ranking import Interval, Ranked

CONFIDENCE = 0.95


def export_facts(
    recommendation: Recommendation,
    board: Board,
    variables: Mapping[int, Mapping[str, str]],
    apart: Ablation | None = None,
) -> ExportFacts:
    """The evidence for the recommended config, from the board it was chosen by.

    `variables`: the variables read back in a run, by primary key of the candidate. `apart`: what
    taking the board's winner apart found.
    """
    study, device, winner = recommendation.study, recommendation.device, recommendation.candidate
    baseline = board.baseline
    model = ScaleModel.from_json(study.scale_model)
    only_here = model.only_here(traits_of(study.server)) if model else {}
    return ExportFacts(
        study=f"{study.pk}, {study.name} (template {study.template})",
        date=_date(study),
        device=f"{_device_text(device)}, on host {study.host}",
        server=traits_of(study.server),
        candidate=winner.name,
        baseline=baseline.name,
        knobs=winner.config.knobs,
        effects=[_effect(board, recommendation, apart)],
        source=_origin(winner),
        verdict=recommendation.verdict,
        data_bytes=estimated_bytes(board.workload.warehouses),
        notes=[Note(n["name"], Action(n["action"]), n["detail"]) for n in winner.notes],
        candidate_variables=variables.get(winner.merged_into_id or winner.pk, {}),
        baseline_variables={
            name: value
            for name, value in variables.get(baseline.pk, {}).items()
            if name not in only_here
        },
        baseline_knobs={
            name: value
            for name, value in baseline.config.knobs.items()
            if only_here.get(name) != value
        },
        not_tested=_not_tested(device, winner),
        proportion=proportion_text(study, device, board.workload),
        model=model,
        recovery_tested=winner.name in board.crash_tests
        and bool(board.crash_tests[winner.name].seconds),
        **_of_lines(recommendation, board, variables, apart),
    )


def _origin(candidate: Candidate) -> str:
    """Where its values come from; of a config that a search made, why it tried that one."""
    if not candidate.found_by_search:
        return candidate.source
    return f"made by the search of this study; why it was tried then: {candidate.source}"


def _of_lines(
    recommendation: Recommendation,
    board: Board,
    variables: Mapping[int, Mapping[str, str]],
    apart: Ablation | None,
) -> dict[str, Any]:
    """What is known of single lines of the winner, and of the winner with all of them."""
    winner, whole = recommendation.candidate, recommendation.whole
    with_all_lines = whole or winner
    if apart is None or apart.whole_id != with_all_lines.pk:
        return {}
    knobs = with_all_lines.config.knobs
    found = [
        LinesEvidence(
            {name: knobs[name] for name in one.names},
            one.state,
            one.text,
            one.estimate.ratio if one.estimate else None,
            one.estimate.interval if one.estimate else None,
        )
        for one in apart.effects
    ]
    if whole is None:
        return {"apart": found}
    confirmed = board.throughput_of(whole)
    with_all = Recommendation(
        study=recommendation.study,
        device=recommendation.device,
        workload=recommendation.workload,
        durability=recommendation.durability,
        candidate=whole,
        kind=recommendation.kind,
        ratio_to_baseline=confirmed.ratio or 1.0,
        low=confirmed.interval.low if confirmed.interval else None,
        high=confirmed.interval.high if confirmed.interval else None,
        confirmation=recommendation.confirmation,
        verdict=f"{recommendation.verdict} This file has all lines of {whole.name}, as asked for.",
    )
    if recommendation.objective_ratio is not None:
        of_objective = board.confirmation_of(whole)
        with_all.objective = recommendation.objective
        with_all.objective_ratio = of_objective.ratio
        if of_objective.interval is not None:
            with_all.objective_low = of_objective.interval.low
            with_all.objective_high = of_objective.interval.high
    return {
        "apart": found,
        # The baseline may have another value of the line, which then is in the file.
        "left_out": [one for one in found if not winner.config.knobs.items() & one.lines.items()],
        "all_lines": export_facts(with_all, board, variables, apart),
    }


def _date(study: Study) -> str:
    ended = study.finished_at or timezone.now()
    return timezone.localtime(ended).strftime("%Y-%m-%d %H:%M %Z")


def _device_text(device: Device) -> str:
    profile = device.profile
    what = profile.text() if profile else kind_words(device.kind)
    parts = [what, device.model, device.block_device, device.file_system]
    logs = f", redo logs in {device.log_dir}" if device.log_dir else ""
    return f"{', '.join(part for part in parts if part)}: {device.data_dir}{logs}"


def _not_tested(device: Device, winner: Candidate) -> list[str]:
    """What the study's device leaves open; the file itself cannot place a redo log."""
    left = []
    if device.profile is not None and device.profile.throttles:
        left.append(
            "a real device of that kind: this one was emulated by limits on the server, which do "
            "not model seek times (docs/emulation.md)"
        )
    if device.log_dir and winner.logs_with_data:
        left.append("the redo log on its separate device: it was on the data device in this study")
    elif device.log_dir:
        left.append(
            f"the redo log on the data device: it was in {device.log_dir}, so set "
            "innodb_log_group_home_dir to a directory there as well"
        )
    return left


def _objective(found: Recommendation) -> ObjectiveEffect | None:
    """What decided, where that is not tpmP."""
    if found.objective_ratio is None:
        return None
    low, high = found.objective_low, found.objective_high
    interval = Interval(low, high, CONFIDENCE) if low is not None and high is not None else None
    return ObjectiveEffect(Metric(found.objective), found.objective_ratio, interval)


def _effect(board: Board, recommendation: Recommendation, apart: Ablation | None = None) -> Effect:
    """The effect of the recommended config; for a confirmed one that of the fresh pairs."""
    lines = {line.candidate: line for line in board.judgement.ranked}
    if recommendation.whole is not None:
        default = lines[board.baseline.name]
        return _of_reduced(recommendation, default, apart)
    line, default = lines[recommendation.candidate.name], lines[board.baseline.name]
    low, high = recommendation.low, recommendation.high
    return Effect(
        workload=str(board.workload),
        ratio=recommendation.ratio_to_baseline,
        runs=line.runs,
        failures=line.failures,
        blocks=line.blocks,
        tpmP=line.tpmP,
        p95_ms=line.p95_ms,
        baseline_tpmP=default.tpmP,
        baseline_p95_ms=default.p95_ms,
        interval=Interval(low, high, CONFIDENCE) if low is not None and high is not None else None,
        objective=_objective(recommendation),
        fresh_pairs=board.throughput_of(recommendation.candidate).pairs
        if recommendation.confirmation == ConfirmationState.CONFIRMED
        else 0,
    )


def _of_reduced(recommendation: Recommendation, default: Ranked, apart: Ablation | None) -> Effect:
    """The effect of a reduced config, from its own fresh rounds."""
    low, high = recommendation.low, recommendation.high
    reduced = apart.reduced if apart else None
    if reduced is None:
        raise ValueError("a reduced config without its rounds")
    return Effect(
        workload=str(recommendation.workload),
        ratio=recommendation.ratio_to_baseline,
        runs=reduced.runs,
        failures=reduced.failures,
        blocks=reduced.blocks,
        tpmP=reduced.figures.throughput,
        p95_ms=reduced.figures.p95_ms,
        baseline_tpmP=default.tpmP,
        baseline_p95_ms=default.p95_ms,
        interval=Interval(low, high, CONFIDENCE) if low is not None and high is not None else None,
        fresh_pairs=reduced.blocks,
        objective=_objective(recommendation),
    )
