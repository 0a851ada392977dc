"""What the source of a template found and what was found here, as pages and terminal show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass

from advisor.wording.words import devices_to_name
from benchmarks.models import Device
from benchmarks.storage.kinds import DeviceKind
from tuning.results.boards import Board
from tuning.results.study_result import StudyResult
from tuning.study_templates.claims import Claim
from tuning.study_templates.evaluation import Finding, FindingKind

TONES = {FindingKind.CONFIRMED: "ok", FindingKind.CONTRADICTED: "bad"}


@dataclass(frozen=True)
class PlacedFinding:
    """One finding; `place` is what tells it from the others of its claim, "" where it is alone."""

    finding: Finding
    place: str
    is_final: bool

    @property
    def label(self) -> str:
        """The answer, as it stands."""
        kind = self.finding.kind
        so_far = " so far" if kind.is_decided and not self.is_final else ""
        return f"{kind.label.lower()}{so_far}"

    @property
    def tone(self) -> str:
        """Of a badge."""
        return TONES.get(self.finding.kind, "")


@dataclass(frozen=True)
class ClaimFindings:
    """A claim of the source with what each place of the study says; `number` from 1."""

    number: int
    claim: Claim
    findings: list[PlacedFinding]


@dataclass(frozen=True)
class SourceFindings:
    """All claims of a study's template; `repeats` is the figure that the template repeats.

    `unknown` are devices of no kind that a claim could be about, because nobody has said what
    they are.
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
    """As the study's boards stand; None without claims."""
    template, is_final = result.template, result.study.is_finished
    if template is None or not template.claims:
        return None
    by_claim: dict[Claim, list[PlacedFinding]] = {}
    told = devices_to_name(result.devices.values())
    for one in result.findings:
        view = PlacedFinding(one, place_text(one, result.boards, told), is_final)
        by_claim.setdefault(one.claim, []).append(view)
    claims = [
        ClaimFindings(number, claim, views)
        for number, (claim, views) in enumerate(by_claim.items(), start=1)
    ]
    return SourceFindings(template.repeats, claims, is_final, _unknown(claims, result.boards))


def _unknown(claims: Sequence[ClaimFindings], found: Sequence[Board]) -> list[Device]:
    """A virtual disk does not tell what it is, and the user may know it."""
    if not any(claim.claim.devices for claim in claims):
        return []
    devices = {board.device.pk: board.device for board in found}
    return [
        device
        for device in devices.values()
        if device.kind == DeviceKind.OTHER and not device.is_throttled
    ]


def place_text(finding: Finding, found: Sequence[Board], told: Container[int | None]) -> str:
    """Where it holds: the device if that is `told`, connections where there are several."""
    words = []
    if finding.device is not None and finding.device_id in told:
        words.append(finding.device)
    several = len({board.workload.connections for board in found}) > 1
    if finding.connections is not None and several:
        words.append(f"{finding.connections} connections")
    return ", ".join(words)
