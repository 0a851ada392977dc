"""The claims of a template's source and this study's findings, for pages and terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass

from advisor.wording.words import devices_to_name
from benchmarks.counted import counted
from benchmarks.models import Device
from benchmarks.storage.kinds import DeviceKind
from tuning.results.boards import Board
from tuning.results.study_result import StudyResult
from tuning.study_templates.claims import Claim
from tuning.study_templates.evaluation import Finding, FindingKind

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
    """A claim of the source with the finding of each place; `number` counts from 1."""

    number: int
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
    unknown: list[Device]

    @property
    def has_figures(self) -> bool:
        """Whether there is anything to draw."""
        return any(
            view.finding.ratio is not None for claim in self.claims for view in claim.findings
        )

    @property
    def summary(self) -> str:
        """As `3 confirmed, 1 contradicted, 2 not decided`."""
        kinds = Counter(view.finding.kind for claim in self.claims for view in claim.findings)
        return ", ".join(f"{kinds[one]} {one.label.lower()}" for one in FindingKind if kinds[one])


def source_findings(result: StudyResult) -> SourceFindings | None:
    """The findings so far; None without claims."""
    template, is_final = result.template, result.study.is_finished
    if template is None or not template.claims:
        return None
    by_claim: dict[Claim, list[PlacedFinding]] = {}
    named = devices_to_name(result.devices.values())
    for one in result.findings:
        view = PlacedFinding(one, place_text(one, result.boards, named), is_final)
        by_claim.setdefault(one.claim, []).append(view)
    claims = [
        ClaimFindings(number, claim, views)
        for number, (claim, views) in enumerate(by_claim.items(), start=1)
    ]
    return SourceFindings(template.repeats, claims, is_final, _unknown(claims, result.boards))


def _unknown(claims: Sequence[ClaimFindings], found: Sequence[Board]) -> list[Device]:
    """The kind of a virtual disk cannot be detected, but the user may know it."""
    if not any(claim.claim.devices for claim in claims):
        return []
    devices = {board.device.pk: board.device for board in found}
    return [
        device
        for device in devices.values()
        if device.kind == DeviceKind.OTHER and not device.is_throttled
    ]


def place_text(finding: Finding, found: Sequence[Board], named: Container[int | None]) -> str:
    """The device if it is one of `named`, and the connections if the study has several counts."""
    words = []
    if finding.device is not None and finding.device_id in named:
        words.append(finding.device)
    several = len({board.workload.connections for board in found}) > 1
    if finding.connections is not None and several:
        words.append(counted(finding.connections, "connection"))
    return ", ".join(words)
