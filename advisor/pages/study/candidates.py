"""A candidate as the study page shows it: stages of the gate, result, duplicates.

A search makes hundreds. What each of them has lines of comes as HTML: as a template it takes ten
times as long.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from advisor.pages.configs.report import MAX_LINES
from advisor.templatetags.readable import durability_tone
from advisor.wording.formatting import decimals
from advisor.wording.spaces import knob_text
from benchmarks.counted import counted
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.costs import KnobCost, costs_of
from tuning.configs.effective.durability import losses
from tuning.configs.gate.stages import Stage
from tuning.configs.notes import Action
from tuning.models import Candidate, DurabilityClass, Study

TITLES = {
    Stage.VALUES: "Values",
    Stage.RULES: "Rules",
    Stage.SERVER: "Server check",
    Stage.READ_BACK: "Read-back",
}

_TAG = ' <span class="tag">baseline</span>'
_NOT_TRIED = (
    '<p class="muted">Values and rules were checked when the study was created. The server\'s own '
    "check and the read-back follow before the first run.</p>"
)
_NO_KNOBS = '<p class="muted">No variables set: the server\'s defaults apply.</p>'


@dataclass(frozen=True)
class ShownStage:
    """One stage of the gate; `tone` is the badge class, `word` the result."""

    title: str
    tone: str
    word: str
    seconds: float | None
    problems: Sequence[Mapping[str, Any]]

    @property
    def row(self) -> str:
        """As HTML."""
        took = "" if self.seconds is None else f"{decimals(self.seconds)} s"
        known = took and f' <span class="muted small nowrap">{took}</span>'
        problems = "".join(map(_problem, self.problems))
        listed = problems and f'<ul class="problems">{problems}</ul>'
        return (
            f'<li><span class="stage">{self.title}</span> '
            f'<span class="badge {self.tone}">{self.word}</span>{known}{listed}</li>'
        )


@dataclass(frozen=True)
class CandidateDetails:
    """`differences` are [{name, requested, effective}] of the trial start; `log_tail` the log of a
    server that refused it; `notes` omits those that `lines` already contain and `reasons`, which
    are those of a proposal, line by line.
    """

    candidate: Candidate
    stages: list[ShownStage]
    lines: Sequence[Mapping[str, Any]]
    lines_left: int
    differences: Sequence[Mapping[str, Any]]
    notes: Sequence[Mapping[str, str]]
    reasons: Sequence[Mapping[str, str]]
    losses: list[tuple[str, str, str, str]]  # name, value, class, what is lost
    costs: list[KnobCost]
    duplicates: list[Candidate]
    log_tail: str

    @property
    def is_made(self) -> bool:
        """Whether the advisor made it while the study went on."""
        return self.candidate.found_by_search or self.candidate.taken_from_id is not None

    @property
    def has_findings(self) -> bool:
        """Whether anything is said of its values but what they are and why."""
        one = self.candidate
        said = self.duplicates, self.losses, self.costs, self.differences, self.lines
        return bool(one.refusal) or one.merged_into_id is not None or any(said)

    def html(self, study: Study) -> SafeString:
        """All of it, folded."""
        one = self.candidate
        parts = {"view": self, "candidate": one, "study": study}
        findings = notes = ""
        if self.has_findings:
            findings = render_to_string("studies/_candidate_findings.html", parts)
        if self.reasons or self.notes:
            notes = render_to_string("studies/_candidate_notes.html", parts)
        source = one.source and f'<p class="muted source">{escape(capfirst(one.source))}</p>'
        not_tried = "" if self.stages or study.is_finished else _NOT_TRIED
        return SafeString(
            f'<details class="candidate" id="candidate-{one.pk}"><summary>{self._summary}'
            f"</summary>{source}{self._checks}{not_tried}{findings}"
            f'<div class="columns"><div>{self._knob_table}</div><div>{notes}</div></div></details>'
        )

    @property
    def _summary(self) -> str:
        """Its name, what is special about it, and how much there is to read."""
        one = self.candidate
        notes = f", {counted(len(self.notes), 'note')}" if self.notes else ""
        return (
            f"<strong>{escape(one.name)}</strong>{_TAG * one.is_baseline}{self._badges} "
            f'<span class="muted">{counted(len(one.config.knobs), "variable")}{notes}</span>'
        )

    @property
    def _checks(self) -> str:
        if not self.stages:
            return ""
        rows = "".join(stage.row for stage in self.stages)
        checked = f"Checks of {escape(self.candidate.name)} before its first run"
        return f'<ol class="stages" aria-label="{checked}">{rows}</ol>'

    @property
    def _badges(self) -> str:
        one, found = self.candidate, []
        if one.durability != DurabilityClass.D0:
            found.append((f" {durability_tone(one.durability)}", one.durability))
        if one.refusal:
            found.append((" bad", "refused by the server"))
        elif one.merged_into is not None:
            found.append(("", f"same as {escape(one.merged_into.name)}"))
        elif self.differences:
            found.append(
                (" warn", f"{counted(len(self.differences), 'value')} changed by the server")
            )
        return "".join(f' <span class="badge{tone}">{text}</span>' for tone, text in found)

    @property
    def _knob_table(self) -> str:
        one = self.candidate
        if not one.config.knobs:
            return _NO_KNOBS
        rows = "".join(
            f'<tr><th scope="row" class="mono">{escape(name)}</th>'
            f'<td class="num mono">{escape(knob_text(name, str(value)))}</td></tr>'
            for name, value in one.config.knobs.items()
        )
        return (
            f'<div class="scroll" role="region" aria-label="Variables of {escape(one.name)}" '
            'tabindex="0"><table class="values"><caption>Variables set (config '
            f"<code>{escape(str(one.config))}</code>)</caption>"
            '<thead><tr><th scope="col">Variable</th><th scope="col" class="num">Value</th></tr>'
            f"</thead><tbody>{rows}</tbody></table></div>"
        )


def details_of(views: Sequence[CandidateDetails], study: Study) -> SafeString:
    """As HTML: those that the study began with, then those that were made while it went on."""
    parts = {
        "given": [one.html(study) for one in views if not one.is_made],
        "found": [one.html(study) for one in views if one.candidate.found_by_search],
        "variants": [one.html(study) for one in views if one.candidate.taken_from_id is not None],
    }
    return render_to_string("studies/_candidate_details.html", parts)


def _problem(found: Mapping[str, Any]) -> str:
    line = f"Line {found['line']}: " if found.get("line") else ""
    name = f"<code>{escape(found['name'])}</code>: " if found.get("name") else ""
    return f"<li>{line}{name}{escape(found['reason'])}</li>"


def candidate_details(
    candidates: Sequence[Candidate], target: ServerTraits
) -> list[CandidateDetails]:
    """The candidates in their order; `target` is the study's server."""
    duplicates: dict[int | None, list[Candidate]] = defaultdict(list)
    for one in candidates:
        duplicates[one.merged_into_id].append(one)
    return [_details(one, duplicates.get(one.pk, []), target) for one in candidates]


def _details(
    candidate: Candidate, duplicates: list[Candidate], target: ServerTraits
) -> CandidateDetails:
    checks = {check["stage"]: check for check in candidate.checks}
    in_lines = {(line["name"], line["detail"]) for line in candidate.lines}
    knobs = candidate.config.knobs
    return CandidateDetails(
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
        log_tail="\n".join(c["log_tail"] for c in checks.values() if c["log_tail"])
        if candidate.refusal
        else "",
    )


def _stage(stage: Stage, check: Mapping[str, Any] | None) -> ShownStage:
    title = TITLES[stage]
    if check is None:
        return ShownStage(title, "", "not run", None, ())
    if not check.get("reached", True):
        return ShownStage(title, "", "not reached", None, ())
    differing = len(check["differences"])
    if not check["passed"]:
        return ShownStage(title, "bad", "refused", check["seconds"], check["problems"])
    if differing:
        return ShownStage(title, "warn", f"{differing} changed", check["seconds"], ())
    return ShownStage(title, "ok", "passed", check["seconds"], ())
