"""The claims of a template's source and this study's findings, for pages and terminal."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from benchmarks.counted import counted
from benchmarks.storage.kinds import DeviceKind
from tuning.results.document import DeviceFacts, StudyDocument
from tuning.study_templates.evaluation import Finding, FindingKind
from tuning.study_templates.loader import Claim

TONES = {FindingKind.CONFIRMED: "ok", FindingKind.CONTRADICTED: "bad"}


@dataclass(frozen=True)
class PlacedFinding:
    """One finding; `place` distinguishes it from others of its claim, "" if there is only one."""

    finding: Finding
    place: str
    is_final: bool

    @property
    def label(self) -> str:
        """The current result."""
        kind = self.finding.kind
        so_far = " so far" if kind.is_decided and not self.is_final else ""
        return f"{kind.label.lower()}{so_far}"

    @property
    def tone(self) -> str:
        """The class of its badge."""
        return TONES.get(self.finding.kind, "")


@dataclass(frozen=True)
class ClaimFindings:
    """A claim of the source with the finding of each place."""

    claim: Claim
    findings: list[PlacedFinding]


@dataclass(frozen=True)
class SourceFindings:
    """All claims of a study's template; `repeats` is the figure that the template repeats.

    `unknown` are devices whose kind was neither detected nor set, so no claim can apply to them.
    """

    repeats: str
    claims: list[ClaimFindings]
    is_final: bool
    unknown: list[DeviceFacts]

    @property
    def has_figures(self) -> bool:
        """Whether there is anything to draw."""
        return any(
            view.finding.estimate is not None for claim in self.claims for view in claim.findings
        )

    @property
    def summary(self) -> str:
        """Return `3 confirmed, 1 contradicted, 2 not decided`."""
        kinds = Counter(view.finding.kind for claim in self.claims for view in claim.findings)
        return ", ".join(f"{kinds[one]} {one.label.lower()}" for one in FindingKind if kinds[one])


def source_findings(document: StudyDocument) -> SourceFindings | None:
    """The findings so far; None without claims."""
    if not document.claims:
        return None
    is_final = document.study.is_finished
    claims = [
        ClaimFindings(
            claim,
            [
                PlacedFinding(one, place_text(one, document), is_final)
                for one in document.findings
                if one.claim == number
            ],
        )
        for number, claim in enumerate(document.claims, 1)
    ]
    return SourceFindings(document.repeats, claims, is_final, _unknown(document))


def _unknown(document: StudyDocument) -> list[DeviceFacts]:
    """The kind of a virtual disk cannot be detected, but the user may know it."""
    if not any(claim.devices for claim in document.claims):
        return []
    there = {board.device_id: document.device[board.device_id] for board in document.boards}
    return [
        device
        for device in there.values()
        if device.kind == DeviceKind.OTHER and not device.is_throttled
    ]


def place_text(finding: Finding, document: StudyDocument) -> str:
    """The device if it is to be named, and the connections if the study has several counts."""
    words = []
    if finding.device_id is not None and finding.device_id in document.named_devices:
        words.append(document.device[finding.device_id].name)
    loads = {document.workload[board.workload_id].connections for board in document.boards}
    if finding.connections is not None and len(loads) > 1:
        words.append(counted(finding.connections, "connection"))
    return ", ".join(words)
