"""Decides whether a study confirms the claims of its template's source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from benchmarks.storage.kinds import kind_words
from tuning.statistics.analysis import Analysis, analyse
from tuning.statistics.compare import ALPHA
from tuning.statistics.data import Metric, Observation
from tuning.statistics.estimate import Estimate
from tuning.statistics.verdict import percent
from tuning.study_templates.loader import Claim, Ratio

#: By metric, words for a larger and for a smaller figure.
_WORDS = {
    Metric.THROUGHPUT: (
        "completes {} more transactions per minute",
        "completes {} fewer transactions per minute",
    ),
    Metric.P95: (
        "has a 95th-percentile response time {} longer",
        "has a 95th-percentile response time {} shorter",
    ),
    Metric.SERVER_PATH_LENGTH: (
        "takes {} more CPU cycles per transaction",
        "takes {} fewer CPU cycles per transaction",
    ),
}


class FindingKind(StrEnum):
    """The possible results of a claim."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    NOT_DECIDED = "not_decided"

    @property
    def label(self) -> str:
        """Text for people, as the beginning of a sentence."""
        return self.value.replace("_", " ").capitalize()

    @property
    def is_decided(self) -> bool:
        return self is not FindingKind.NOT_DECIDED


@dataclass(frozen=True)
class ClaimBoard:
    """One board: a ranking on one device with one number of connections.

    device_id, kind: the device and what it is, as in `benchmarks.storage.kinds.DeviceKind`.
    analyses: the ranking by each metric. observations: the runs behind them. same_as: the measured
    config of each duplicate, by name. is_throttled: whether the device is emulated and therefore
    has no seek times.
    """

    device_id: int
    kind: str
    connections: int
    analyses: Mapping[Metric, Analysis]
    observations: Sequence[Observation] = ()
    alpha: float = ALPHA
    same_as: Mapping[str, str] = field(default_factory=dict)
    is_throttled: bool = False

    def measured(self, name: str) -> str:
        """Return the name of the config that was measured for this one."""
        return self.same_as.get(name, name)

    def has(self, ratio: Ratio) -> bool:
        """Whether all configs of the ratio have figures."""
        analysis = self.analyses.get(ratio.metric)
        standings = analysis.standings if analysis else ()
        with_figures = {line.name for line in standings if line.estimate is not None}
        return set(map(self.measured, ratio.names)) <= with_figures


class Finding(BaseModel):
    """The result of a claim on one board.

    claim: its number in the template. said: the measured figures with the interval, or why there
    is no result; begins in lower case or with a name. sentence: the result with its evidence.
    estimate: first config to second; of several ratios, the one that decided; None without
    figures. device_id, device_kind, connections: the board; None if no board of the study applies.
    connections is also None for a ratio between numbers of connections.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    claim: int = 0
    kind: FindingKind
    said: str
    sentence: str = ""
    estimate: Estimate | None = None
    device_id: int | None = None
    device_kind: str | None = None
    connections: int | None = None

    def of(self, **columns: Any) -> Finding:
        """Return the finding with these columns."""
        return self.model_copy(update=columns)


def evaluate_all(claims: Iterable[Claim], boards: Sequence[ClaimBoard]) -> list[Finding]:
    """Return the findings of all claims, in their order."""
    return [
        finding.of(claim=number)
        for number, claim in enumerate(claims, 1)
        for finding in evaluate(claim, boards)
    ]


def evaluate(claim: Claim, boards: Sequence[ClaimBoard]) -> list[Finding]:
    """Return one finding per board that the claim applies to, at least one.

    A claim about numbers of connections has one per device. Boards without the claim's candidates
    are skipped if others have them (each durability class has a board of its own).
    """
    found = []
    for one in _evaluated(claim, boards):
        here = " here" if one.kind.is_decided or one.estimate is not None else ""
        found.append(one.of(sentence=f"{one.kind.label}{here}: {one.said}."))
    return found


def _evaluated(claim: Claim, boards: Sequence[ClaimBoard]) -> list[Finding]:
    ratio = claim.ratio
    suited = [board for board in boards if not claim.devices or board.kind in claim.devices]
    if not suited:
        return [_undecided(_no_such_device(claim, boards))]
    if claim.needs_seeks:
        suited = [board for board in suited if not board.is_throttled]
        if not suited:
            return [_undecided("an emulated disk has no seek times to decide this by")]
    having = [board for board in suited if board.has(ratio)]
    if not having:
        names = " and ".join(dict.fromkeys(ratio.names))
        return [_undecided(f"there are no comparable figures of {names}")]
    if ratio.connections is None:
        return [
            _between_configs(ratio, one).of(connections=one.connections, **_place(one))
            for one in having
        ]
    devices: dict[int, list[ClaimBoard]] = {}
    for board in having:
        devices.setdefault(board.device_id, []).append(board)
    return [_between_connections(ratio, same).of(**_place(same[0])) for same in devices.values()]


def _place(board: ClaimBoard) -> dict[str, Any]:
    return {"device_id": board.device_id, "device_kind": board.kind}


def _no_such_device(claim: Claim, boards: Sequence[ClaimBoard]) -> str:
    kinds = " or ".join(map(kind_words, claim.devices)) or "any"
    measured = " and ".join(dict.fromkeys(kind_words(board.kind) for board in boards))
    on = f"; it ran on {measured}" if measured else ""
    return f"the study measured no device of kind {kinds}{on}"


def _between_configs(ratio: Ratio, board: ClaimBoard) -> Finding:
    """Compare with each other config; one contradiction decides, else all must confirm."""
    ours, findings = board.measured(ratio.of), []
    for name in ratio.to:
        theirs = board.measured(name)
        found = board.analyses[ratio.metric].between(ours, theirs)
        if theirs == ours:
            # A config equals itself: that contradicts no claim.
            low, high = ratio.bounds
            kind = FindingKind.CONFIRMED if low < 1 < high else FindingKind.NOT_DECIDED
            said = f"{ratio.of} and {name} are the same config on this server"
            findings.append(Finding(kind=kind, said=said, estimate=Estimate(ratio=1.0)))
        elif found is not None:
            findings.append(_judged(ratio, found, ratio.of, name))
    if not findings:
        return _undecided(f"{ratio.of} shares no block with the others")
    # One contradiction decides against the claim, and one open comparison leaves it open.
    order = (FindingKind.CONTRADICTED, FindingKind.NOT_DECIDED, FindingKind.CONFIRMED)
    return min(findings, key=lambda one: order.index(one.kind))


def _between_connections(ratio: Ratio, boards: Sequence[ClaimBoard]) -> Finding:
    """Compare the largest number of connections with a smaller one, as if they were configs."""
    counts = sorted(board.connections for board in boards)
    most, share = counts[-1], ratio.connections or 0
    below = [count for count in counts if count <= most * share]
    if not below:
        return _undecided(f"{ratio.of} has no figures with up to {share * 100:g} % of {most}")
    runs = [
        run._replace(candidate=f"{board.connections}", replicate=0)
        for board in boards
        for run in board.observations
        if run.candidate == board.measured(ratio.of)
    ]
    names = [f"{count}" for count in counts]
    analysis = analyse(runs, f"{most}", names, ratio.metric, alpha=boards[0].alpha)
    found = analysis.between(f"{most}", f"{below[-1]}")
    if found is None:
        return _undecided(f"{below[-1]} and {most} connections share no block")
    return _judged(ratio, found, f"{ratio.of} with {most} connections", f"with {below[-1]}")


def _judged(ratio: Ratio, found: Estimate, name: str, other: str) -> Finding:
    """The claim holds if the interval lies in its range, and fails if it lies outside of it."""
    kind = FindingKind.NOT_DECIDED
    if found.has_interval:
        (low, high), (least, most) = ratio.bounds, found.bounds
        if low < least and most < high:
            kind = FindingKind.CONFIRMED
        elif most < low or least > high:
            kind = FindingKind.CONTRADICTED
    words = _WORDS[ratio.metric][found.ratio < 1].format(percent(abs(found.ratio - 1)))
    spread = found.text() or "too few runs for an interval"
    claimed = " and ".join(
        f"{word} {(bound - 1) * 100:+.3g} %"
        for word, bound in (("more than", ratio.above), ("less than", ratio.below))
        if bound is not None
    )
    said = f"{name} {words} than {other} ({spread}); the claim is {claimed}"
    return Finding(kind=kind, said=said, estimate=found)


def _undecided(why: str) -> Finding:
    return Finding(kind=FindingKind.NOT_DECIDED, said=why)
