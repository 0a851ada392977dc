"""A candidate as the study page shows it: stages of the config check, values, duplicates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from advisor.pages.configs.report import MAX_LINES
from tuning.catalogue.target import ServerTraits
from tuning.configs.check import Stage
from tuning.configs.line import Action
from tuning.configs.price import KnobCost, costs_of, losses
from tuning.results.document import CandidateFacts, StudyDocument

TITLES = {
    Stage.VALUES: "Values",
    Stage.RULES: "Rules",
    Stage.SERVER: "Server check",
    Stage.READ_BACK: "Read-back",
}


@dataclass(frozen=True)
class ShownStage:
    """One stage of the check; `tone` is the badge class, `word` the result."""

    title: str
    tone: str
    word: str
    seconds: float | None = None
    problems: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class CandidateView:
    """A candidate and what is said of it.

    differences: [{name, requested, effective}] of the trial start. notes omits what `lines`
    already contain and `reasons`, which are those of a proposal, line by line. losses: (variable,
    value, class, what is lost). same_as: the candidate that is measured for it.
    """

    candidate: CandidateFacts
    stages: list[ShownStage]
    lines: Sequence[Mapping[str, Any]]
    lines_left: int
    differences: Sequence[Mapping[str, Any]]
    notes: Sequence[Mapping[str, str]]
    reasons: Sequence[Mapping[str, str]]
    losses: list[tuple[str, str, str, str]]
    costs: list[KnobCost]
    duplicates: list[CandidateFacts]
    same_as: CandidateFacts | None


def candidate_views(
    document: StudyDocument, candidates: Sequence[CandidateFacts], target: ServerTraits
) -> list[CandidateView]:
    """Return these candidates in their order; `target` is the study's server."""
    duplicates: dict[int | None, list[CandidateFacts]] = defaultdict(list)
    for one in document.candidates:
        duplicates[one.merged_into_id].append(one)
    return [
        _view(
            one,
            duplicates.get(one.id, []),
            document.candidate.get(one.merged_into_id or 0),
            target,
        )
        for one in candidates
    ]


def _view(
    candidate: CandidateFacts,
    duplicates: list[CandidateFacts],
    same_as: CandidateFacts | None,
    target: ServerTraits,
) -> CandidateView:
    checks = {check["stage"]: check for check in candidate.checks}
    in_lines = {(line["name"], line["reason"]) for line in candidate.lines}
    knobs = candidate.knobs
    return CandidateView(
        candidate=candidate,
        stages=[_stage(stage, checks.get(stage)) for stage in Stage] if checks else [],
        lines=candidate.lines[:MAX_LINES],
        lines_left=max(0, len(candidate.lines) - MAX_LINES),
        differences=[d for check in checks.values() for d in check["differences"]],
        notes=[
            note
            for note in candidate.notes
            if (note["name"], note["detail"]) not in in_lines and note["action"] != Action.PROPOSED
        ],
        reasons=[note for note in candidate.notes if note["action"] == Action.PROPOSED],
        losses=[(name, knobs[name], *lost) for name, lost in losses(knobs, target).items()],
        costs=costs_of(knobs, target),
        duplicates=duplicates,
        same_as=same_as,
    )


def _stage(stage: Stage, check: Mapping[str, Any] | None) -> ShownStage:
    title = TITLES[stage]
    if check is None:
        return ShownStage(title, "", "not run")
    if not check.get("reached", True):
        return ShownStage(title, "", "not reached")
    differing = len(check["differences"])
    if not check["passed"]:
        return ShownStage(title, "bad", "refused", check["seconds"], check["problems"])
    if differing:
        return ShownStage(title, "warn", f"{differing} changed", check["seconds"])
    return ShownStage(title, "ok", "passed", check["seconds"])
